"""Free-running accuracy by length: the model reads its own tokens, not the true ones."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from attention_zoo.training.copy_task import CopyTask
from attention_zoo.vocabulary import EOS, PAD


@dataclass(frozen=True)
class LengthAccuracy:
    """Accuracies on sequences of one length.

    Attributes:
        token: share of symbol positions at which the output holds the right symbol. Position i of
            the output is compared with position i of the target, i = 1 ... n; the eos is not
            counted (chance is then 1 / n_symbols at every length), and a position after an eos
            that came too early is wrong.
        sequence: share of sequences with every symbol right and the eos right after the last.
    """

    token: float
    sequence: float


def compare_tokens(tokens: np.ndarray, target: np.ndarray) -> LengthAccuracy:
    """Compare greedy output with targets.

    Args:
        tokens: int (batch, T_dec), padded with 0 after eos, as `model.greedy` gives them.
        target: int (batch, T), symbols, eos, then padding.

    Raises:
        ValueError: T_dec too short to hold the targets.
    """
    if tokens.shape[1] < target.shape[1]:
        raise ValueError(
            f"compare_tokens: tokens must have at least {target.shape[1]} positions, as target, "
            f"got {tokens.shape[1]}. Fix: decode with a larger max_length."
        )
    hits = tokens[:, : target.shape[1]] == target  # (batch, T)
    is_symbol = (target != PAD) & (target != EOS)
    whole = np.all(hits | (target == PAD), axis=1)
    return LengthAccuracy(float(hits[is_symbol].mean()), float(whole.mean()))


def evaluate_by_length(
    model: Any,
    task: CopyTask,
    lengths: Iterable[int],
    n: int = 200,
    seed: int = 1_000_003,
    batch_size: int = 100,
) -> dict[int, LengthAccuracy]:
    """Greedy accuracies on `n` sequences of each length, the same for every model and seed.

    The sequences come from `seed`; give one that training does not use. All lengths are padded to
    the width of the longest, so that the decoder is compiled once.

    Raises:
        ValueError: `n` below 1, or a length that the model cannot write (its max_length holds the
            symbols and the eos).
    """
    lengths = sorted(lengths)
    if n < 1:
        raise ValueError(f"evaluate_by_length: n must be at least 1, got {n}.")
    width = max(lengths) + 1
    if width > model.config.max_length:
        raise ValueError(
            f"evaluate_by_length: the model must be able to write {width} tokens (the longest "
            f"length and eos), its max_length is {model.config.max_length}. "
            f"Fix: shorter lengths, or create_model(..., max_length={width})."
        )
    accuracies = {}
    for length in lengths:
        data = task.sample(n, length, length, seed + length, width=width)
        tokens = [
            np.asarray(model.greedy(data["source"][first : first + batch_size], width)["tokens"])
            for first in range(0, n, batch_size)
        ]
        accuracies[length] = compare_tokens(np.concatenate(tokens), data["target"])
    return accuracies


def accuracy_by_length(
    model: Any,
    task: CopyTask,
    lengths: Iterable[int],
    n: int = 200,
    seed: int = 1_000_003,
) -> dict[int, float]:
    """`evaluate_by_length`, only the token accuracy of each length."""
    return {
        length: accuracy.token
        for length, accuracy in evaluate_by_length(model, task, lengths, n, seed).items()
    }
