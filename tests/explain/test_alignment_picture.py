"""Heat maps: that the file holds the weights, whatever the labels are."""

import warnings

import numpy as np
import pytest
from matplotlib import image

from attention_zoo.explain.alignment_picture import is_right_to_left, plot_alignment
from attention_zoo.explain.label_fonts import DEFAULT, fonts_for

NOBODY_HAS = "\U000f1234\U000f1235"  # private use
ARABIC = ["مرحبا", "بالعالم", "هذا", "اختبار", "صغير", "جدا", "هنا"]


@pytest.fixture
def draw(tmp_path):
    """(weights, source, target, **options) -> the picture, (height, width) of grey from 0 to 1."""

    def picture(weights, source, target, **options):
        path = tmp_path / "new" / "alignment.png"
        plot_alignment(weights, source, target, path, **options)
        return image.imread(path)[..., :3].mean(-1)

    return picture


def dark_share(picture):
    """Share of pixels darker than middle grey."""
    return float((picture < 0.5).mean())


def test_padding_is_cut_off(draw):
    weights = np.zeros((11, 13))
    source, target = list("abcdefg"), list("abcde")
    empty = draw(weights, source, target)
    weights[:5, :7] = 1.0
    full = draw(weights, source, target)
    assert full.shape == empty.shape
    assert dark_share(full) > dark_share(empty) + 0.2
    weights[5:, :] = 1.0
    weights[:, 7:] = 1.0
    np.testing.assert_array_equal(draw(weights, source, target), full)


@pytest.mark.parametrize(("source", "is_right"), [(list("abcdefg"), True), (ARABIC, False)])
def test_rows_are_targets_and_columns_follow_the_script(draw, source, is_right):
    """The first output looks at the last source token: up, and where the script ends."""
    weights = np.zeros((5, 7))
    empty = draw(weights, source, list("abcde"))
    weights[0, 6] = 1.0
    one = draw(weights, source, list("abcde"))
    rows, columns = np.nonzero(one != empty)
    assert rows.mean() < one.shape[0] / 2
    middle = one.shape[1] / 2
    assert (columns.mean() > middle) == is_right


def test_the_picture_grows_with_the_tokens_and_then_cells_shrink(draw):
    heights = [draw(np.eye(n), ["word"] * n, ["word"] * n).shape[0] for n in (5, 17, 29)]
    cell = (heights[1] - heights[0]) / 12
    assert cell > 30  # pixels
    assert heights[2] - heights[1] == pytest.approx(12 * cell, abs=2)
    large = draw(np.eye(97), ["a"] * 97, ["a"] * 97).shape[0]
    assert large < 85 * cell + heights[0]


def test_odd_labels_are_drawn_as_they_are(draw):
    labels = ["$5 and $6", "a\nb\0", "x" * 99, "\ud800", "", "{\\alpha"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        picture = draw(np.eye(6), labels, labels, title="$x$", note="$y")
    # the long label is shortened
    assert picture.shape[0] < 900


def test_a_missing_glyph_is_told_once(draw):
    source = [*NOBODY_HAS, "a"]
    with pytest.warns(UserWarning, match="2 of the characters") as told:
        draw(np.eye(3), source, source)
    assert len(told) == 1


def test_the_note_is_drawn(draw):
    weights = np.eye(3)
    with_note = draw(weights, list("abc"), list("abc"))
    without = draw(weights, list("abc"), list("abc"), note="")
    assert with_note.shape[0] > without.shape[0]


@pytest.mark.parametrize("shape", [(3, 5), (5, 3), (2, 5, 5), (5,)])
def test_alignments_smaller_than_their_labels(tmp_path, shape):
    with pytest.raises(ValueError, match=r"at least \(5, 4\).*Fix"):
        plot_alignment(np.zeros(shape), list("abcd"), list("abcde"), tmp_path / "a.png")


def test_no_labels(tmp_path):
    with pytest.raises(ValueError, match="at least one target and one source label, got 0 and 2"):
        plot_alignment(np.zeros((3, 5)), ["a", "b"], [], tmp_path / "a.png")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("abc", False),
        ("مرحبا", True),
        ("שלום a", True),
        ("a </s>", False),
        ("123", False),
        ("", False),
    ],
)
def test_direction(text, expected):
    assert is_right_to_left(text) == expected


def test_fonts():
    assert fonts_for(["Je suis fatigué.", "▁où", "Привет", " \u200d"]) == ([DEFAULT], "")
    names, missing = fonts_for(["a", NOBODY_HAS])
    assert names[0] == DEFAULT
    assert missing == NOBODY_HAS
