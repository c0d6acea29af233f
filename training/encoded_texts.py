"""Texts as ids, end to end in one array."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from attention_zoo.vocabulary import PAD


class EncodedTexts:
    """Sequences of ids of different lengths, end to end in one array.

    Args:
        ids: int32, of all of them.
        lengths: of each.
        starts: place of each in `ids`; one behind the other if None.
    """

    def __init__(
        self, ids: np.ndarray, lengths: np.ndarray, starts: np.ndarray | None = None
    ) -> None:
        self.ids = ids
        self.lengths = lengths
        self.starts = np.cumsum(lengths) - lengths if starts is None else starts

    @classmethod
    def of_rows(cls, rows: Sequence[Sequence[int]]) -> EncodedTexts:
        """From a list of ids a text."""
        lengths = np.array([len(row) for row in rows], np.int64)
        return cls(np.fromiter((i for row in rows for i in row), np.int32), lengths)

    def __len__(self) -> int:
        return len(self.lengths)

    def row(self, number: int) -> np.ndarray:
        """The ids of one text."""
        start = self.starts[number]
        return self.ids[start : start + self.lengths[number]]

    def padded(self, numbers: np.ndarray, width: int) -> np.ndarray:
        """The texts with these numbers, int32 (numbers, width), padded with 0."""
        position = np.arange(width)[None, :]
        inside = position < self.lengths[numbers, None]
        places = np.where(inside, self.starts[numbers, None] + position, 0)
        return np.where(inside, self.ids[places], np.int32(PAD))

    def selected(self, numbers: np.ndarray) -> EncodedTexts:
        """Only the texts with these numbers, in this order."""
        return EncodedTexts(self.ids, self.lengths[numbers], self.starts[numbers])

    def no_longer_than(self, longest: int, otherwise: EncodedTexts) -> EncodedTexts:
        """These texts, where they have at most `longest` ids; those of `otherwise` where not."""
        fits = self.lengths <= longest
        return EncodedTexts(
            np.concatenate([self.ids, otherwise.ids]),
            np.where(fits, self.lengths, otherwise.lengths),
            np.where(fits, self.starts, otherwise.starts + len(self.ids)),
        )


def ranges(starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """The numbers start, ..., start + length - 1 of each pair, end to end."""
    before = np.cumsum(lengths) - lengths
    return np.arange(lengths.sum()) + np.repeat(starts - before, lengths)
