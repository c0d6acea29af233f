"""Alignment accuracy where the right alignment is known: on copies it is the diagonal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from attention_zoo.explain.forced_alignment import forced_alignments
from attention_zoo.vocabulary import EOS, PAD

if TYPE_CHECKING:
    from attention_zoo.seq2seq import Seq2Seq


def diagonal_accuracy(alignments: Sequence[np.ndarray]) -> float:
    """Share of rows t whose largest weight stands in column t: argmax_i a_{t,i} = t.

    The last row, that of eos, is not counted. A guesser that looks anywhere is right once in T_enc.

    Args:
        alignments: (T_dec, T_enc) of each sequence, without padding.

    Raises:
        ValueError: no row to count.
    """
    hits = [np.argmax(rows[:-1], axis=1) == np.arange(len(rows) - 1) for rows in alignments]
    counted = np.concatenate(hits) if hits else np.zeros(0)
    if not counted.size:
        raise ValueError(
            "diagonal_accuracy: expected rows of symbols before that of eos, got none. "
            "Fix: sequences of at least one symbol and eos."
        )
    return float(counted.mean())


def copy_alignment_accuracy(model: Seq2Seq, sequences: np.ndarray) -> float:
    """`diagonal_accuracy` of a model that is made to copy each sequence (target = source).

    The copy is forced, so that an early mistake does not move all that follows off the diagonal.

    Args:
        model: a model with attention.
        sequences: (n, T) ids, each row its symbols, eos, then padding with 0.

    Raises:
        ValueError: a row without eos behind a symbol, and as `forced_alignments`.
    """
    rows = [[int(token) for token in row if token != PAD] for row in sequences]
    for index, row in enumerate(rows):
        if len(row) < 2 or row[-1] != EOS:
            raise ValueError(
                f"copy_alignment_accuracy: sequence {index} is {row}; expected symbols and then "
                f"eos ({EOS}). Fix: sequences as CopyTask draws them."
            )
    return diagonal_accuracy(forced_alignments(model, rows, rows))
