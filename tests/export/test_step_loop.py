"""The loop of the host, over a model that is a table in NumPy."""

import numpy as np
import pytest

from attention_zoo.export.step_loop import step_loop
from attention_zoo.vocabulary import BOS, EOS, PAD

VOCAB = 13


class Table:
    """Writes the source, symbol for symbol: state_0 counts the steps; `keys` is the source."""

    def __init__(self, rows_at_once=None):
        self.rows_at_once = rows_at_once
        self.batches, self.read = [], []

    def encode(self, source):
        self.batches.append(source.shape)
        return {"state_0": np.zeros((len(source), 1), np.float32), "keys": source}

    def step(self, tokens, encoded):
        self.read.append(tokens.tolist())
        at = int(encoded["state_0"][0, 0])
        wanted = encoded["keys"][:, at]
        logits = np.zeros((len(tokens), VOCAB), np.float32)
        logits[:, [PAD, BOS]] = 50.0  # likeliest of all, and never written
        logits[np.arange(len(tokens)), wanted] += 3.0
        alignments = np.zeros(encoded["keys"].shape, np.float32)
        alignments[:, at] = 1.0
        return {"logits": logits, "alignments": alignments, "state_0": encoded["state_0"] + 1}


SOURCE = np.array([[7, 5, EOS, 4], [9, 9, 8, EOS], [EOS, 6, 6, 6]], np.int32)
WRITTEN = [[7, 5, EOS, 0], [9, 9, 8, EOS], [EOS, 0, 0, 0]]


@pytest.mark.parametrize("rows", [None, 1, 2])
def test_rows_end_by_themselves(rows):
    model = Table(rows)
    got = step_loop(model, SOURCE, 6)
    assert got["tokens"].tolist() == [[*row, 0, 0] for row in WRITTEN]
    assert got["lengths"].tolist() == [3, 4, 1]
    assert {name: value.dtype for name, value in got.items()} == {
        "tokens": np.int32,
        "lengths": np.int32,
        "scores": np.float32,
        "alignments": np.float32,
    }
    assert model.batches == {None: [(3, 4)], 1: [(1, 4)] * 3, 2: [(2, 4), (1, 4)]}[rows]
    for row, length in enumerate(got["lengths"]):
        np.testing.assert_array_equal(got["alignments"][row, :length, :], np.eye(4)[:length])
        assert not got["alignments"][row, length:].any()


def test_scores_sum_the_log_softmax_over_all_ids():
    got = step_loop(Table(), SOURCE, 6)
    one = 3.0 - np.log(2 * np.exp(50.0) + np.exp(3.0) + VOCAB - 3)
    np.testing.assert_allclose(got["scores"], one * np.array([3, 4, 1]), rtol=1e-6)


def test_it_begins_with_bos_and_feeds_padding_to_rows_that_ended():
    model = Table()
    step_loop(model, SOURCE, 6)
    assert model.read == [[BOS] * 3, [7, 9, EOS], [5, 9, PAD], [EOS, 8, PAD]]


def test_it_stops_at_the_last_step():
    got = step_loop(Table(), SOURCE, 2)
    assert got["tokens"].tolist() == [[7, 5], [9, 9], [EOS, 0]]
    assert got["alignments"].shape == (3, 2, 4)


def test_lists_will_do():
    got = step_loop(Table(), [[7, EOS], [5, 6, EOS]], 4)
    assert got["tokens"].tolist() == [[7, EOS, 0, 0], [5, 6, EOS, 0]]


@pytest.mark.parametrize("given", [0, -3, 2.0, True, None, "4", float("inf")])
def test_the_most_steps_are_a_whole_number(given):
    model = Table()
    with pytest.raises(ValueError, match=r"^step_loop: max_length: expected a whole") as caught:
        step_loop(model, SOURCE, given)
    assert f"of at least 1, got {given!r}. Fix: " in str(caught.value)
    assert model.batches == []
    assert step_loop(model, SOURCE, np.int64(2))["tokens"].shape == (3, 2)


class Predicts:
    def predict(self, source):
        raise AssertionError("not asked for")


class EncodesAlone(Predicts):
    rows_at_once = None
    encode = Table.encode


@pytest.mark.parametrize(
    ("model", "missing"),
    [(Predicts(), "encode, step, rows_at_once"), (EncodesAlone(), "step"), (None, "encode, step")],
)
def test_a_model_that_cannot_step_is_refused(model, missing):
    name = type(model).__name__
    with pytest.raises(ValueError, match=f"is a {name}, without {missing}.*Fix: pass a Split"):
        step_loop(model, SOURCE, 4)
