"""Batches of sentence pairs of like length, in an order that seeds alone decide."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from attention_zoo.training.encoded_texts import EncodedTexts
from attention_zoo.training.sentence_pairs import SentencePair
from attention_zoo.training.subword_dropout import SubwordDropout

if TYPE_CHECKING:
    import tensorflow as tf

    from attention_zoo.tokenizer import TokenizerPair

Batch = dict[str, np.ndarray]
Sides = dict[str, EncodedTexts]
Epoch = tuple[Sides, list[tuple[int, np.ndarray]]]
"""The pairs as an epoch splits them; width and numbers of the pairs of each of its batches."""

SIDES = ("source", "target")

BUCKETS = (8, 12, 16, 20, 26, 34, 48, 64)
"""Widths of the batches in ids, eos included: few, since XLA compiles a step for each."""


class SentenceBatches:
    """Pairs encoded once, and batches of them padded to the width of their bucket.

    A pair belongs to the smallest bucket that holds its longer side; source and target of a batch
    are padded to the same width. Each epoch shuffles all pairs anew; what a bucket lacks for a
    full batch moves to the next wider one, so that all batches are full and an epoch leaves out
    fewer than `batch_size` pairs. Batch i is a function of (pairs, seed, i) alone, so a run that
    stops can take up the same sequence where it was.

    With `subword_dropout` each epoch also splits all sentences anew, by BPE-dropout; one that
    would be too long in its new split keeps the usual one. The next epoch is drawn while this one
    is used.

    Args:
        pairs: sentences; at least `batch_size` of them must be short enough.
        tokenizers: of the source and the target.
        batch_size: pairs a batch.
        buckets: widths, ascending.
        seed: of the order.
        max_length: longest side in ids, eos included; longer pairs are left out and counted in
            `dropped`. The widest bucket if None.
        subword_dropout: chance that a merge is passed over when an epoch splits words, see
            `SubwordDropout`; `ordered` never does.

    Raises:
        ValueError: buckets that do not ascend or are narrower than `max_length`, a share outside
            [0, 1), or too few pairs.
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
        subword_dropout: float = 0.0,
    ) -> None:
        _check(batch_size, buckets, seed, max_length, subword_dropout)
        longest = buckets[-1] if max_length is None else max_length
        self.batch_size = batch_size
        self.seed = seed
        self.buckets = tuple(buckets)
        self.subword_dropout = subword_dropout
        texts = {side: [getattr(pair, side) for pair in pairs] for side in SIDES}
        encoded = {
            side: EncodedTexts.of_rows(getattr(tokenizers, side).encode_batch(texts[side]))
            for side in SIDES
        }
        kept = np.flatnonzero(_longer_side(encoded) <= longest)
        self.dropped = len(pairs) - len(kept)
        if len(kept) < batch_size:
            raise ValueError(
                f"SentenceBatches: expected at least batch_size = {batch_size} pairs of at most "
                f"{longest} ids a side, got {len(kept)} of {len(pairs)}. "
                "Fix: a smaller batch_size or a larger max_length."
            )
        self._longest = longest
        self._encoded = {side: rows.selected(kept) for side, rows in encoded.items()}
        self._splits: dict[str, SubwordDropout] = {}
        if subword_dropout:
            self._splits = {
                side: SubwordDropout(
                    getattr(tokenizers, side), [texts[side][number] for number in kept]
                )
                for side in SIDES
            }
        self._epochs: dict[int, Future[Epoch]] = {}
        self._lock = threading.Lock()
        self._maker = ThreadPoolExecutor(1, "SentenceBatches")

    def __len__(self) -> int:
        """Pairs that are short enough."""
        return len(self._encoded["source"])

    @property
    def batches_per_epoch(self) -> int:
        """Full batches an epoch, the same in every epoch."""
        return len(self) // self.batch_size

    def batch(self, number: int) -> Batch:
        """Batch `number` of the endless sequence: {"source", "target"}, int32 (batch_size, T)."""
        epoch, place = divmod(number, self.batches_per_epoch)
        encoded, plan = self._epoch(epoch)
        width, rows = plan[place]
        return _padded(encoded, rows, width)

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
        bucket = self._bucket(self._encoded)
        order = np.argsort(bucket, kind="stable")
        for first in range(0, len(order), self.batch_size):
            rows = order[first : first + self.batch_size]
            yield _padded(self._encoded, rows, self.buckets[bucket[rows].max()])

    def _bucket(self, encoded: Sides) -> np.ndarray:
        return np.searchsorted(self.buckets, _longer_side(encoded))

    def _epoch(self, number: int) -> Epoch:
        """The epoch, made once; the next one is begun in a thread of its own."""
        with self._lock:
            self._epochs = {
                epoch: self._epochs.get(epoch) or self._maker.submit(self._make_epoch, epoch)
                for epoch in (number, number + 1)
            }
            made = self._epochs[number]
        return made.result()

    def _make_epoch(self, epoch: int) -> Epoch:
        encoded = dict(self._encoded)
        for place, (side, splits) in enumerate(self._splits.items()):
            drawn = splits.sample(
                self.subword_dropout, np.random.default_rng([self.seed, epoch, 1 + place])
            )
            encoded[side] = drawn.no_longer_than(self._longest, encoded[side])
        return encoded, self._plan(epoch, self._bucket(encoded))

    def _plan(self, epoch: int, bucket: np.ndarray) -> list[tuple[int, np.ndarray]]:
        """(width, numbers of the pairs) of each batch of an epoch, in order."""
        generator = np.random.default_rng([self.seed, epoch])
        order = generator.permutation(len(bucket))
        batches = []
        left = np.empty(0, np.int64)
        for place, width in enumerate(self.buckets):
            waiting = np.concatenate([left, order[bucket[order] == place]])
            full = len(waiting) - len(waiting) % self.batch_size
            batches += [(width, rows) for rows in waiting[:full].reshape(-1, self.batch_size)]
            left = waiting[full:]
        return [batches[place] for place in generator.permutation(len(batches))]

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


def _longer_side(encoded: Sides) -> np.ndarray:
    return np.maximum(encoded["source"].lengths, encoded["target"].lengths)


def _padded(encoded: Sides, rows: np.ndarray, width: int) -> Batch:
    return {side: texts.padded(rows, width) for side, texts in encoded.items()}


def _check(
    batch_size: int,
    buckets: Sequence[int],
    seed: int,
    max_length: int | None,
    subword_dropout: float,
) -> None:
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
    if not 0 <= subword_dropout < 1:
        raise ValueError(
            f"SentenceBatches: subword_dropout must be a number in [0, 1), got {subword_dropout}."
        )
