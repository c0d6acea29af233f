"""Batches of sequences of like length, for work whose order does not matter."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from attention_zoo.vocabulary import PAD

_WIDTH_STEP = 4


def sorted_batches(
    lengths: Sequence[int], batch_size: int, max_positions: int | None = None
) -> Iterator[list[int]]:
    """Indices in batches, the longest sequences first.

    Args:
        lengths: tokens of each sequence.
        batch_size: sequences a batch, at most.
        max_positions: largest product of sequences and tokens of the longest, so that very long
            sequences come in smaller batches; a batch holds one sequence at least.
    """
    order = sorted(range(len(lengths)), key=lambda index: -lengths[index])
    first = 0
    while first < len(order):
        size = batch_size
        if max_positions is not None:
            size = min(size, max(1, max_positions // max(1, lengths[order[first]])))
        yield order[first : first + size]
        first += size


def padded(sequences: Sequence[Sequence[int]]) -> np.ndarray:
    """int32 (batch, T), padded with 0; T is a multiple of 4, so that few widths occur."""
    longest = max(len(sequence) for sequence in sequences)
    width = -(-max(longest, 1) // _WIDTH_STEP) * _WIDTH_STEP
    batch = np.full((len(sequences), width), PAD, np.int32)
    for row, sequence in enumerate(sequences):
        batch[row, : len(sequence)] = sequence
    return batch
