"""Figures: that a file holds a picture, and the picture the data."""

import numpy as np
import pytest
from matplotlib import image

from attention_zoo.training.plots import Curve, plot_accuracy_by_length, plot_alignment


def dark_share(picture: np.ndarray) -> float:
    """Share of pixels darker than middle grey."""
    return float((picture[..., :3].mean(-1) < 0.5).mean())


def test_alignment_is_drawn_with_padding_cut_off(tmp_path):
    weights = np.zeros((11, 13))
    source, target = list("abcdefg"), list("abcde")
    path = tmp_path / "new" / "alignment.png"
    plot_alignment(weights, source, target, path)
    empty = image.imread(path)
    weights[:5, :7] = 1.0
    plot_alignment(weights, source, target, path)
    full = image.imread(path)
    assert full.shape == empty.shape
    assert dark_share(full) > dark_share(empty) + 0.2
    weights[5:, :] = 1.0
    weights[:, 7:] = 1.0
    plot_alignment(weights, source, target, path)
    np.testing.assert_array_equal(image.imread(path), full)


def test_alignment_is_not_transposed(tmp_path):
    """The first output looks at the last source token: dark in the upper right corner."""
    weights = np.zeros((7, 7))
    weights[0, 6] = 1.0
    paths = [tmp_path / "a.png", tmp_path / "b.png"]
    plot_alignment(weights, list("abcdefg"), list("abcdefg"), paths[0])
    plot_alignment(np.zeros((7, 7)), list("abcdefg"), list("abcdefg"), paths[1])
    one, other = (image.imread(path)[..., :3].mean(-1) for path in paths)
    rows, columns = np.nonzero(one != other)
    assert rows.mean() < one.shape[0] / 2 < one.shape[0]
    assert columns.mean() > one.shape[1] / 2


@pytest.mark.parametrize("shape", [(3, 5), (5, 3), (2, 5, 5), (5,)])
def test_alignment_smaller_than_its_labels(tmp_path, shape):
    with pytest.raises(ValueError, match=r"at least \(5, 4\).*Fix"):
        plot_alignment(np.zeros(shape), list("abcd"), list("abcde"), tmp_path / "a.png")


def test_curves(tmp_path):
    path = tmp_path / "curves.png"
    curve = Curve("one", (5, 10, 20), (1.0, 0.9, 0.7))
    plot_accuracy_by_length([curve], path, chance=0.2, title="title")
    alone = image.imread(path)
    spread = Curve("one", (5, 10, 20), (1.0, 0.9, 0.7), (0.9, 0.5, 0.3), (1.0, 1.0, 1.0))
    plot_accuracy_by_length([spread], path, chance=0.2, title="title")
    with_spread = image.imread(path)
    assert alone.shape == with_spread.shape
    assert (alone != with_spread).any(-1).mean() > 0.05
