"""Greedy decoding driven from outside the file, through the signatures encode and step.

It is what a host does that wants to see or change every step (streaming, its own sampling), and
the check that both signatures work. NumPy only.
"""

from __future__ import annotations

import numpy as np

from attention_zoo.export.runtime import LiteRTModel, Outputs
from attention_zoo.vocabulary import BOS, EOS, PAD


def step_loop(model: LiteRTModel, source: np.ndarray, max_length: int) -> Outputs:
    """The outputs of `model.predict(source)`, made step by step.

    Args:
        model: a file with the signatures encode and step.
        source: (batch, T_enc) int32.
        max_length: steps at most; T_dec of the outputs.
    """
    rows = [_decode_row(model, row[None], max_length) for row in source]
    return {name: np.stack([row[name] for row in rows]) for name in rows[0]}


def _decode_row(model: LiteRTModel, source: np.ndarray, max_length: int) -> Outputs:
    tokens = np.zeros(max_length, np.int32)
    alignments = np.zeros((max_length, source.shape[1]), np.float32)
    encoded = model.encode(source)
    score, length, previous = np.float32(0), 0, BOS
    while length < max_length and previous != EOS:
        answer = model.step([previous], encoded)
        logits = answer["logits"][0]
        choice = logits.copy()
        choice[[PAD, BOS]] = -np.inf  # never written
        previous = int(choice.argmax())
        # log softmax of the chosen token
        highest = logits.max()
        score += logits[previous] - highest - np.log(np.exp(logits - highest).sum())
        tokens[length] = previous
        alignments[length] = answer["alignments"][0]
        encoded.update({name: answer[name] for name in answer if name.startswith("state_")})
        length += 1
    return {
        "tokens": tokens,
        "lengths": np.asarray(length, np.int32),
        "scores": np.asarray(score, np.float32),
        "alignments": alignments,
    }
