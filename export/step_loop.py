"""Greedy decoding driven from outside the file, by `encode` and `step`. NumPy only.

It is what a host does that wants to see or change every step (streaming, a search of its own), and
the check that the files made for that work. A host in another language does the same:

    encoded = encode(source)                  # once a batch: states, and what attention reads
    token = bos for every row
    at most max_length times, until every row has ended:
        answer = step(token, encoded)         # logits (batch, vocab_target), alignments, states
        token = the likeliest id except pad and bos; pad for a row that has ended
        encoded[state_i] = answer[state_i]    # all else of it stays as it is
        a row whose token is eos has ended
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from attention_zoo.export.split_onnx_model import Outputs
from attention_zoo.export.whole_number import at_least_one
from attention_zoo.source_batch import source_batch
from attention_zoo.vocabulary import BOS, EOS, PAD


class Stepper(Protocol):
    """`LiteRTModel`, `SplitOnnxModel`, or whatever else has `encode` and `step`.

    `rows_at_once` is the batch that it takes; None for any.
    """

    rows_at_once: int | None

    def encode(self, source: np.ndarray) -> Outputs: ...

    def step(self, tokens: np.ndarray, encoded: Outputs) -> Outputs: ...


def step_loop(model: Stepper, source: Any, max_length: int) -> Outputs:
    """The outputs of `predict(source)`, made step by step.

    Args:
        model: what encodes and steps.
        source: (batch, T_enc) int32, or a list of lists of ids, as for `predict`.
        max_length: steps at most; T_dec of the outputs.

    Raises:
        ValueError: `model` does not encode and step, `max_length` is not a whole number of at least
            1, or `source` is not what the model can read.
    """
    missing = [name for name in ("encode", "step", "rows_at_once") if not hasattr(model, name)]
    if missing:
        raise ValueError(
            f"step_loop: model is a {type(model).__name__}, without {', '.join(missing)}; expected "
            "a model that encodes and steps. Fix: pass a SplitOnnxModel or a LiteRTModel; a file "
            "that holds the loop answers to predict."
        )
    max_length = at_least_one(
        "step_loop: max_length", max_length, "pass the most steps, such as the model's max_length."
    )
    source = source_batch(source, None, "step_loop")
    rows = model.rows_at_once or len(source)
    parts = [
        _decode(model, source[first : first + rows], max_length)
        for first in range(0, len(source), rows)
    ]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _decode(model: Stepper, source: np.ndarray, max_length: int) -> Outputs:
    batch, width = source.shape
    tokens = np.full((batch, max_length), PAD, np.int32)
    alignments = np.zeros((batch, max_length, width), np.float32)
    scores = np.zeros(batch, np.float32)
    token, going_on = np.full(batch, BOS, np.int32), np.full(batch, True)
    encoded = dict(model.encode(source))
    for step in range(max_length):
        if not going_on.any():
            break
        answer = model.step(token, encoded)
        encoded |= {name: answer[name] for name in answer if name.startswith("state_")}
        log_p = _log_softmax(answer["logits"])  # (batch, vocab_target)
        log_p[:, [PAD, BOS]] = -np.inf  # never written
        token = np.where(going_on, log_p.argmax(axis=-1), PAD).astype(np.int32)
        scores += np.where(going_on, log_p.max(axis=-1), 0)
        tokens[:, step] = token
        alignments[:, step] = answer["alignments"] * going_on[:, None]
        going_on &= token != EOS
    lengths = (tokens != PAD).sum(axis=-1).astype(np.int32)
    return {"tokens": tokens, "lengths": lengths, "scores": scores, "alignments": alignments}


def _log_softmax(logits: np.ndarray) -> np.ndarray:
    shifted = logits - logits.max(axis=-1, keepdims=True)
    total: np.ndarray = np.exp(shifted).sum(axis=-1, keepdims=True)
    return np.asarray(shifted - np.log(total), np.float32)
