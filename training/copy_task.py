"""The copy task: repeat a random sequence of symbols."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from attention_zoo.vocabulary import EOS, FIRST_SYMBOL, PAD

if TYPE_CHECKING:
    import tensorflow as tf

Batch = dict[str, np.ndarray]


class CopyTask:
    """Random sequences of `n_symbols` symbols, to be repeated symbol for symbol.

    source = target = x_1 ... x_n eos, each x_i uniform over the ids 4 ... 3 + n_symbols. Length
    means n, the number of symbols; a padded row holds at least n + 1 ids. A guesser is right at a
    symbol with probability `chance` = 1 / n_symbols.

    Everything is a function of seeds: batch i of a dataset depends on (task seed, dataset seed, i)
    alone, so a run that stops can take up the same sequence of batches where it was.

    Args:
        n_symbols: size of the alphabet, at least 2.
        seed: seed of the task; tasks with other seeds draw other sequences.

    Raises:
        ValueError: `n_symbols` below 2, a negative seed, or lengths that are not
            1 <= min_length <= max_length.
    """

    def __init__(self, n_symbols: int = 16, seed: int = 0) -> None:
        if n_symbols < 2:
            raise ValueError(
                f"CopyTask: n_symbols must be at least 2, got {n_symbols}. "
                "Fix: 16 makes guessing right once in 16."
            )
        _check_seed(seed)
        self.n_symbols = n_symbols
        self.seed = seed

    @property
    def vocab_size(self) -> int:
        """Ids a model needs: pad, bos, eos, unk and the symbols."""
        return FIRST_SYMBOL + self.n_symbols

    @property
    def chance(self) -> float:
        """Accuracy of a guess at one symbol."""
        return 1.0 / self.n_symbols

    def sample(
        self, n: int, min_length: int, max_length: int, seed: int, width: int | None = None
    ) -> Batch:
        """`n` sequences with lengths uniform in [min_length, max_length].

        Returns:
            {"source", "target"}: int32 (n, width), padded with 0; width is max_length + 1 unless
            a larger one is given.
        """
        _check_seed(seed)
        _check_lengths(min_length, max_length)
        return self._draw(
            np.random.default_rng([self.seed, seed]), n, min_length, max_length, width
        )

    def batches(
        self,
        batch_size: int,
        buckets: Mapping[int, float],
        seed: int,
        steps: int,
        start: int = 0,
        min_length: int = 1,
    ) -> Iterator[Batch]:
        """Batches number `start` to `steps` - 1, each from one bucket of lengths.

        `buckets` maps the largest length of each bucket to the share of batches drawn from it. A
        batch from bucket b has lengths uniform in (previous bucket, b] and is padded to b + 1 ids,
        so that XLA compiles one step a bucket and a batch of short sequences stays cheap. The
        lengths of the first bucket begin at `min_length`.
        """
        _check_seed(seed)
        longest, shares, shortest = _edges(buckets, min_length)
        for step in range(start, steps):
            generator = np.random.default_rng([self.seed, seed, step])
            bucket = generator.choice(len(longest), p=shares)
            yield self._draw(generator, batch_size, shortest[bucket], longest[bucket], None)

    def dataset(
        self,
        batch_size: int,
        min_length: int,
        max_length: int,
        seed: int,
        steps: int,
        *,
        buckets: Mapping[int, float] | None = None,
        start: int = 0,
    ) -> tf.data.Dataset:
        """`batches` as a tf.data.Dataset of {"source", "target"}, int32 (batch_size, T).

        Without `buckets` every batch has lengths uniform in [min_length, max_length] and the
        width max_length + 1.
        """
        import tensorflow as tf

        _check_lengths(min_length, max_length)
        # One known width is told to TensorFlow; with buckets the width is None from the first
        # stage of a curriculum on, so that the training step is traced once for all of them.
        width = max_length + 1 if buckets is None else None
        buckets = {max_length: 1.0} if buckets is None else buckets
        if max(buckets) != max_length:
            raise ValueError(
                f"CopyTask: the largest bucket must be max_length, {max_length}, "
                f"got {max(buckets)}. Fix: buckets={{..., {max_length}: share}}."
            )
        _edges(buckets, min_length)  # a mistake is told here, not from within the tf.data thread
        spec = tf.TensorSpec((batch_size, width), tf.int32)
        return tf.data.Dataset.from_generator(
            lambda: self.batches(batch_size, buckets, seed, steps, start, min_length),
            output_signature={"source": spec, "target": spec},
        ).prefetch(4)

    def describe(self) -> dict[str, Any]:
        """What a manifest says about the task and its data."""
        return {
            "task": "copy",
            "data": f"generated: sequences of {self.n_symbols} random symbols, seed {self.seed}",
            "data_licence": "none needed (generated)",
            "n_symbols": self.n_symbols,
        }

    def _draw(
        self,
        generator: np.random.Generator,
        n: int,
        min_length: int,
        max_length: int,
        width: int | None,
    ) -> Batch:
        width = max_length + 1 if width is None else width
        if width < max_length + 1:
            raise ValueError(
                f"CopyTask: width must be at least max_length + 1 = {max_length + 1} "
                f"(the symbols and eos), got {width}. Fix: leave width out."
            )
        lengths = generator.integers(min_length, max_length + 1, size=(n, 1))
        last = FIRST_SYMBOL + self.n_symbols
        rows = generator.integers(FIRST_SYMBOL, last, size=(n, width), dtype=np.int32)
        position = np.arange(width)[None, :]
        rows = np.where(position < lengths, rows, PAD)
        rows = np.where(position == lengths, EOS, rows).astype(np.int32)
        return {"source": rows, "target": rows.copy()}


def _check_seed(seed: int) -> None:
    if seed < 0:
        raise ValueError(f"CopyTask: a seed must not be negative, got {seed}. Fix: 0 or more.")


def _check_lengths(min_length: int, max_length: int) -> None:
    if not 1 <= min_length <= max_length:
        raise ValueError(
            "CopyTask: lengths must be 1 <= min_length <= max_length, "
            f"got min_length={min_length}, max_length={max_length}. Fix: name the shorter first."
        )


def _edges(
    buckets: Mapping[int, float], min_length: int
) -> tuple[list[int], np.ndarray, list[int]]:
    """Largest lengths in order, the share of each, and the smallest lengths."""
    if not buckets or any(share <= 0 for share in buckets.values()):
        raise ValueError(
            f"CopyTask: buckets must map lengths to shares above 0, got {dict(buckets)}. "
            "Fix: {5: 1, 10: 3} draws three of four batches from lengths 6 to 10."
        )
    longest = sorted(buckets)
    _check_lengths(min_length, longest[0])
    shares = np.array([buckets[length] for length in longest], dtype=np.float64)
    return longest, shares / shares.sum(), [min_length, *(edge + 1 for edge in longest[:-1])]
