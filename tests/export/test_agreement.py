"""A quantised file may write other tokens, but nothing that no model could write."""

import numpy as np
import pytest

from attention_zoo.export.agreement import Agreement
from attention_zoo.export.cases import Case

CASE = Case("2 x 3", np.array([[5, 9, 2], [7, 2, 0]], np.int32))
VOCAB = 11


def outputs(tokens):
    tokens = np.array(tokens, np.int32)
    return {
        "tokens": tokens,
        "lengths": (tokens != 0).sum(axis=-1).astype(np.int32),
        "scores": np.full(tokens.shape[:-1], -1.5, np.float32),
        "alignments": np.full((*tokens.shape, 3), 0.25, np.float32),
    }


KERAS = outputs([[5, 9, 2, 0], [7, 7, 7, 7]])


def seen(got, expected=KERAS):
    agreement = Agreement("model.int8.onnx", "greedy", VOCAB)
    agreement.add(CASE, got, expected)
    return agreement


def test_other_tokens_and_scores_are_counted_not_refused():
    got = outputs([[5, 4, 2, 0], [7, 7, 2, 0]])
    got["scores"] += 3.0
    agreement = seen(got)
    assert agreement.differences == []
    # positions 1 of the first row, 2 and 3 of the second
    assert agreement.summary() == {"rows": 2, "tokens": 7, "tokens_equal": round(4 / 7, 6)}


def test_several_cases_are_one_share():
    agreement = seen(KERAS)
    agreement.add(CASE, outputs([[4, 2, 0, 0], [7, 7, 7, 7]]), KERAS)
    assert agreement.summary() == {"rows": 4, "tokens": 14, "tokens_equal": round(11 / 14, 6)}


def test_beams_count_each():
    beams = outputs([[[5, 2], [6, 2]], [[7, 2], [8, 8]]])
    got = outputs([[[5, 2], [6, 2]], [[7, 2], [8, 2]]])
    assert seen(got, beams).summary() == {"rows": 2, "tokens": 8, "tokens_equal": 7 / 8}


@pytest.mark.parametrize(
    ("spoil", "output", "kind", "words"),
    [
        (lambda o: o.pop("scores"), "scores", "names", "missing"),
        (lambda o: o.update(scores=o["scores"][:1]), "scores", "shape", r"expected \(2,\)"),
        (lambda o: o.update(scores=o["scores"].astype("f8")), "scores", "dtype", "float64"),
        (lambda o: o["scores"].__setitem__(1, np.nan), "scores", "values", "1 values"),
        (lambda o: o["alignments"].__setitem__((0, 0), np.inf), "alignments", "values", "3 values"),
        (lambda o: o["tokens"].__setitem__((0, 0), VOCAB), "tokens", "values", "from 0 to 10"),
        (lambda o: o["tokens"].__setitem__((0, 0), -1), "tokens", "values", "got -1"),
        (lambda o: o["lengths"].__setitem__(0, 4), "lengths", "values", "not padding"),
    ],
)
def test_what_cannot_be_right_is_kept(spoil, output, kind, words):
    got = {name: value.copy() for name, value in KERAS.items()}
    spoil(got)
    agreement = seen(got)
    (found,) = agreement.differences
    assert (found.file, found.signature, found.case) == ("model.int8.onnx", "greedy", "2 x 3")
    assert (found.output, found.kind) == (output, kind)
    import re

    assert re.search(words, found.detail)
    assert agreement.summary()["tokens"] == 0
