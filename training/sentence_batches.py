"""Batches of sentence pairs of like length, in an order that seeds alone decide."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from attention_zoo.training.sentence_pairs import SentencePair
from attention_zoo.vocabulary import PAD

if TYPE_CHECKING:
    import tensorflow as tf

    from attention_zoo.tokenizer import Tokenizer, TokenizerPair

Batch = dict[str, np.ndarray]

BUCKETS = (8, 12, 16, 20, 26, 34, 48, 64)
"""Widths of the batches in ids, eos included: few, since XLA compiles a step for each."""


class SentenceBatches:
    """Pairs encoded once, and batches of them padded to the width of their bucket.

    A pair belongs to the smallest bucket that holds its longer side; source and target of a batch
    are padded to the same width. Each epoch shuffles all pairs anew; what a bucket lacks for a
    full batch moves to the next wider one, so that all batches are full and an epoch leaves out
    fewer than `batch_size` pairs. Batch i is a function of (pairs, seed, i) alone, so a run that
    stops can take up the same sequence where it was.

    Args:
        pairs: sentences; at least `batch_size` of them must be short enough.
        tokenizers: of the source and the target.
        batch_size: pairs a batch.
        buckets: widths, ascending.
        seed: of the order.
        max_length: longest side in ids, eos included; longer pairs are left out and counted in
            `dropped`. The widest bucket if None.

    Raises:
        ValueError: buckets that do not ascend or are narrower than `max_length`, or too few pairs.
    """

    def __init__(
        self,
        pairs: Sequence[SentencePair],
        tokenizers: TokenizerPair,
        batch_size: int,
        *,
        buckets: Sequence[int] = BUCKETS,
        seed: int = 0,
        max_length: int | None = None,
    ) -> None:
        _check(batch_size, buckets, seed, max_length)
        longest = buckets[-1] if max_length is None else max_length
        self.batch_size = batch_size
        self.seed = seed
        self.buckets = tuple(buckets)
        source = _Rows([pair.source for pair in pairs], tokenizers.source)
        target = _Rows([pair.target for pair in pairs], tokenizers.target)
        lengths = np.maximum(source.lengths, target.lengths)
        kept = np.flatnonzero(lengths <= longest)
        self.dropped = len(pairs) - len(kept)
        if len(kept) < batch_size:
            raise ValueError(
                f"SentenceBatches: expected at least batch_size = {batch_size} pairs of at most "
                f"{longest} ids a side, got {len(kept)} of {len(pairs)}. "
                "Fix: a smaller batch_size or a larger max_length."
            )
        self._sides = {"source": source, "target": target}
        self._kept = kept
        self._bucket = np.searchsorted(self.buckets, lengths[kept])
        self._plan: tuple[int, list[tuple[int, np.ndarray]]] | None = None

    def __len__(self) -> int:
        """Pairs that are short enough."""
        return len(self._kept)

    @property
    def batches_per_epoch(self) -> int:
        """Full batches an epoch, the same in every epoch."""
        return len(self._kept) // self.batch_size

    def batch(self, number: int) -> Batch:
        """Batch `number` of the endless sequence: {"source", "target"}, int32 (batch_size, T)."""
        epoch, place = divmod(number, self.batches_per_epoch)
        plan = self._plan
        if plan is None or plan[0] != epoch:
            self._plan = plan = (epoch, self._plan_epoch(epoch))
        width, rows = plan[1][place]
        return self._padded(rows, width)

    def dataset(self, start: int, stop: int) -> tf.data.Dataset:
        """Batches `start` to `stop` - 1 as a tf.data.Dataset, made ahead of their use."""
        return self._as_dataset(
            lambda: (self.batch(number) for number in range(start, stop)),
            self.batch_size,
            stop - start,
        )

    def ordered(self) -> tf.data.Dataset:
        """Every pair once, shortest first, for validation; the last batch may be smaller."""
        return self._as_dataset(self._ordered_batches, None, -(-len(self) // self.batch_size))

    def _ordered_batches(self) -> Iterator[Batch]:
        order = np.argsort(self._bucket, kind="stable")
        for first in range(0, len(order), self.batch_size):
            places = order[first : first + self.batch_size]
            width = self.buckets[self._bucket[places].max()]
            yield self._padded(self._kept[places], width)

    def _plan_epoch(self, epoch: int) -> list[tuple[int, np.ndarray]]:
        """(width, numbers of the pairs) of each batch of an epoch, in order."""
        generator = np.random.default_rng([self.seed, epoch])
        order = generator.permutation(len(self._kept))
        batches = []
        left = np.empty(0, np.int64)
        for bucket, width in enumerate(self.buckets):
            waiting = np.concatenate([left, order[self._bucket[order] == bucket]])
            full = len(waiting) - len(waiting) % self.batch_size
            batches += [
                (width, self._kept[places])
                for places in waiting[:full].reshape(-1, self.batch_size)
            ]
            left = waiting[full:]
        return [batches[place] for place in generator.permutation(len(batches))]

    def _padded(self, rows: np.ndarray, width: int) -> Batch:
        return {name: side.padded(rows, width) for name, side in self._sides.items()}

    def _as_dataset(
        self, batches: Callable[[], Iterator[Batch]], batch_size: int | None, count: int
    ) -> tf.data.Dataset:
        import tensorflow as tf

        # T is left open, so that one traced step takes the batches of every bucket
        spec = tf.TensorSpec((batch_size, None), tf.int32)
        dataset = tf.data.Dataset.from_generator(
            batches, output_signature={"source": spec, "target": spec}
        )
        # without a known number of them, Keras warns at the end of each epoch
        return dataset.apply(tf.data.experimental.assert_cardinality(count)).prefetch(8)


class _Rows:
    """Encoded sentences of different lengths, end to end in one array."""

    def __init__(self, texts: list[str], tokenizer: Tokenizer) -> None:
        encoded = tokenizer.encode_batch(texts)
        self.lengths = np.array([len(row) for row in encoded], np.int64)
        self._starts = np.cumsum(self.lengths) - self.lengths
        self._ids = np.fromiter((i for row in encoded for i in row), np.int32)

    def padded(self, rows: np.ndarray, width: int) -> np.ndarray:
        """The sentences with these numbers, int32 (rows, width), padded with 0."""
        position = np.arange(width)[None, :]
        inside = position < self.lengths[rows, None]
        places = np.where(inside, self._starts[rows, None] + position, 0)
        return np.where(inside, self._ids[places], np.int32(PAD))


def _check(batch_size: int, buckets: Sequence[int], seed: int, max_length: int | None) -> None:
    if batch_size < 1 or seed < 0:
        raise ValueError(
            "SentenceBatches: batch_size must be 1 or more and seed not negative, "
            f"got {batch_size} and {seed}."
        )
    if not buckets or buckets[0] < 1 or any(a >= b for a, b in pairwise(buckets)):
        raise ValueError(
            f"SentenceBatches: buckets must ascend from 1 or more, got {tuple(buckets)}. "
            f"Fix: {BUCKETS}."
        )
    if max_length is not None and not 1 <= max_length <= buckets[-1]:
        raise ValueError(
            f"SentenceBatches: max_length must be 1 to the widest bucket, {buckets[-1]}, got "
            f"{max_length}. Fix: a wider last bucket."
        )
