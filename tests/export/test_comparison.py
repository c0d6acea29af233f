"""What counts as a difference, in which order errors are raised, and what a near-tie is."""

import types

import numpy as np
import pytest

from attention_zoo.export import errors
from attention_zoo.export.cases import Case
from attention_zoo.export.comparison import Comparison
from attention_zoo.export.decode_functions import DecodeSettings
from attention_zoo.export.errors import Difference, parity_error
from attention_zoo.export.keras_reference import KerasReference
from attention_zoo.vocabulary import EOS

CASE = Case("two rows", np.array([[5, 7, 2], [9, 2, 0]], np.int32))


def outputs():
    """Two rows, T_dec 5, T_enc 3."""
    generator = np.random.default_rng(3)
    return {
        "tokens": np.array([[7, 5, 2, 0, 0], [9, 9, 9, 9, 9]], np.int32),
        "lengths": np.array([3, 5], np.int32),
        "scores": generator.normal(size=2).astype(np.float32),
        "alignments": generator.random((2, 5, 3)).astype(np.float32),
    }


def compare(got, expected, reference=None):
    comparison = Comparison("model.onnx", "greedy")
    comparison.add(CASE, reference, got, expected)
    return comparison


def kinds(comparison):
    return {(one.output, one.kind) for one in comparison.differences}


def test_equal_outputs():
    comparison = compare(outputs(), outputs())
    assert comparison.differences == []
    assert comparison.summary() == {
        "rows": 2,
        "tokens_equal": True,
        "near_ties": [],
        "largest_difference": {"alignments": 0.0, "lengths": 0.0, "scores": 0.0, "tokens": 0.0},
    }


def test_floats_may_differ_by_the_tolerance():
    got = outputs()
    got["scores"] = got["scores"] + np.float32(9e-5)
    comparison = compare(got, outputs())
    assert comparison.differences == []
    assert comparison.largest["scores"] == pytest.approx(9e-5, rel=0.01)
    got["scores"] = got["scores"] + np.float32(9e-5)
    assert kinds(compare(got, outputs())) == {("scores", "values")}


@pytest.mark.parametrize(
    ("score", "difference", "differs"),
    [(-50.0, 1.2e-4, True), (-200.0, 1.5e-4, False), (-200.0, 2.5e-4, True)],
)
def test_a_large_score_may_differ_by_its_last_digits(score, difference, differs):
    got, expected = outputs(), outputs()
    expected["scores"] = np.array([score, -1.0], np.float32)
    got["scores"] = (expected["scores"] + np.array([difference, 0.0])).astype(np.float32)
    assert (kinds(compare(got, expected)) == {("scores", "values")}) == differs
    # the other row is held to the tolerance, and named
    got["scores"] = expected["scores"] + np.float32([0.0, 1.2e-4])
    (found,) = compare(got, expected).differences
    assert "at (1,)" in found.detail


def test_lengths_may_not_differ_at_all():
    got = outputs()
    got["lengths"] = got["lengths"] - 1
    comparison = compare(got, outputs())
    assert kinds(comparison) == {("lengths", "values")}
    assert comparison.differences[0].largest == 1.0


@pytest.mark.parametrize("place", ["in the file", "in Keras"])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_not_a_number_differs(bad, place):
    outputs_of = {"in the file": outputs(), "in Keras": outputs()}
    outputs_of[place]["alignments"][1, 2, 0] = bad
    comparison = compare(outputs_of["in the file"], outputs_of["in Keras"])
    assert kinds(comparison) == {("alignments", "values")}
    assert comparison.differences[0].largest == np.inf
    assert "at (1, 2, 0)" in comparison.differences[0].detail


def test_shapes_are_compared_and_not_broadcast():
    got = outputs()
    got["alignments"] = got["alignments"][:, :1]
    got["scores"] = got["scores"][:, None]
    assert kinds(compare(got, outputs())) == {("alignments", "shape"), ("scores", "shape")}


def test_dtypes_are_compared():
    got = outputs()
    got["tokens"] = got["tokens"].astype(np.int64)
    assert kinds(compare(got, outputs())) == {("tokens", "dtype")}


def test_names_are_compared():
    got = outputs()
    got["score"] = got.pop("scores")
    assert kinds(compare(got, outputs())) == {("score", "names"), ("scores", "names")}


def difference(kind, output="scores", case="one", largest=None):
    return Difference("model.onnx", "greedy", output, case, kind, "detail", largest)


def test_the_most_fundamental_error_is_raised_and_all_are_listed():
    order = ["values", "dtype", "shape", "names"]
    classes = [
        errors.OutputValueError,
        errors.OutputDtypeError,
        errors.OutputShapeError,
        errors.OutputNamesError,
    ]
    for count, expected in enumerate(classes, 1):
        found = [difference(kind, f"output_{kind}") for kind in order[:count]]
        error = parity_error(found, 1e-4)
        assert type(error) is expected
        assert error.differences == found
        lines = str(error).splitlines()[1:]
        listed = [line.split(": ")[1].split(" ")[0] for line in lines]
        assert listed == order[:count][::-1]


def test_each_output_is_listed_once_with_its_largest_difference():
    found = [
        difference("values", case="small", largest=0.25),
        difference("values", case="large", largest=3.5),
        difference("values", "tokens", "small", 1.0),
    ]
    text = str(parity_error(found, 1e-4))
    assert text.startswith("2 outputs differ from Keras")
    assert (
        "greedy scores: values (largest difference 3.5) in 2 of the cases, at worst in 'large'"
        in text
    )
    assert "greedy tokens: values (largest difference 1) in 1 of the cases" in text


def test_no_difference_is_no_error():
    with pytest.raises(ValueError, match="at least one"):
        parity_error([], 1e-4)


class TwoLikely:
    """Tokens 7 and 8 are likely in each step, `gap` apart; after three steps eos is."""

    def __init__(self, gap):
        self.gap = gap
        self.config = types.SimpleNamespace(vocab_target=11, vocab_source=11)

    def start(self, source):
        return [np.zeros((len(source), 1), np.float32)], {"mask": source}

    def decode_step(self, tokens, states, prepared, weights=None):
        logits = np.full((len(tokens), 11), -9.0, np.float32)
        logits[:, 7], logits[:, 8] = 2.0 + self.gap, 2.0
        if states[0][0, 0] >= 3:
            logits[:, EOS] = 9.0
        alignments = np.full((len(tokens), 3), 0.25 + 0.125 * states[0][0, 0], np.float32)
        return logits, alignments, [states[0] + 1]


def reference(gap):
    return KerasReference(TwoLikely(gap), DecodeSettings(5, 3, 0.0))


def followed(gap, tokens):
    """The outputs of a file that took `tokens` in both rows."""
    tokens = np.array(tokens, np.int32)
    forced = reference(gap).forced(CASE.source[:1], tokens)
    length = int((tokens != 0).sum())
    score = forced["log_probs"].sum()
    return {
        "tokens": np.stack([tokens] * 2),
        "lengths": np.array([length] * 2, np.int32),
        "scores": np.array([score] * 2, np.float32),
        "alignments": np.stack([forced["alignments"]] * 2),
    }


def test_near_tie_is_accepted_and_reported():
    gap = 2e-5
    comparison = compare(
        followed(gap, [7, 8, 7, 2, 0]), followed(gap, [7, 7, 7, 2, 0]), reference(gap)
    )
    assert comparison.differences == []
    assert comparison.near_ties == ["two rows, row (0,)", "two rows, row (1,)"]
    assert comparison.summary()["tokens_equal"] is False


def test_a_token_that_is_clearly_worse_is_no_near_tie():
    gap = 2e-3
    comparison = compare(
        followed(gap, [7, 8, 7, 2, 0]), followed(gap, [7, 7, 7, 2, 0]), reference(gap)
    )
    assert ("tokens", "values") in kinds(comparison)
    assert comparison.near_ties == []


@pytest.mark.parametrize(
    "tokens",
    [
        [7, 8, 7, 2, 7],  # goes on after eos
        [7, 8, 2, 0, 0],  # ends where eos is unlikely
        [7, 8, 7, 7, 7],  # does not end
        [7, 8, 11, 2, 0],  # not in the vocabulary
        [7, 8, -1, 2, 0],
        [0, 0, 0, 0, 0],
    ],
)
def test_a_sequence_of_the_wrong_form_is_no_near_tie(tokens):
    gap = 2e-5
    got = followed(gap, [7, 8, 7, 2, 0])
    got["tokens"] = np.array([tokens] * 2, np.int32)
    comparison = compare(got, followed(gap, [7, 7, 7, 2, 0]), reference(gap))
    assert ("tokens", "values") in kinds(comparison)
    assert comparison.near_ties == []


def test_scores_and_alignments_of_a_near_tie_still_count():
    gap = 2e-5
    got = followed(gap, [7, 8, 7, 2, 0])
    got["scores"] = got["scores"] + np.float32(1e-3)
    got["alignments"][0, 1, 2] += np.float32(0.5)
    comparison = compare(got, followed(gap, [7, 7, 7, 2, 0]), reference(gap))
    assert kinds(comparison) == {("scores", "values"), ("alignments", "values")}


@pytest.mark.parametrize("gap", [2e-5, 2e-3])
def test_near_ties_of_beams_are_counted_by_rank(gap):
    best, second, third, other = ([*one, 2, 0] for one in ("777", "778", "787", "877"))
    got = beam(gap, [best, other, third])
    comparison = compare(got, beam(gap, [best, second, third]), reference(gap))
    assert comparison.differences == []  # exactly tied, whatever the gap: one 8
    assert comparison.near_ties == ["two rows, row (0, 1)", "two rows, row (1, 1)"]
    comparison = compare(
        beam(gap, [second, third, other]), beam(gap, [best, second, third]), reference(gap)
    )
    if gap < 1e-4:
        assert comparison.differences == []
        assert len(comparison.near_ties) == 6
    else:
        assert ("tokens", "values") in kinds(comparison)
        assert comparison.near_ties == []


def beam(gap, rows):
    """The outputs of a file that searched with three beams and no penalty, in both rows."""
    one = [followed(gap, list(map(int, row))) for row in rows]
    return {name: np.stack([each[name] for each in one], axis=1) for name in one[0]}
