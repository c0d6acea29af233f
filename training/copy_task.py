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
        generator = np.random.default_rng([self.seed, seed])
        lower, upper, shares = _edges({max_length: 1.0}, min_length)
        return self._draw(generator, n, lower, upper, shares, width)

    def batches(
        self,
        batch_size: int,
        bands: Mapping[int, float],
        seed: int,
        steps: int,
        start: int = 0,
        min_length: int = 1,
    ) -> Iterator[Batch]:
        """Batches number `start` to `steps` - 1, all of them as wide as the longest band.

        `bands` maps the largest length of each band to the share of *sequences* drawn from it; a
        sequence of band b has a length uniform in (previous band, b], the first band begins at
        `min_length`. Long and short stand in one batch: with batches of one band each, whose
        gradients differ in size by orders, training by the same steps does not settle.
        """
        _check_seed(seed)
        lower, upper, shares = _edges(bands, min_length)
        for step in range(start, steps):
            generator = np.random.default_rng([self.seed, seed, step])
            yield self._draw(generator, batch_size, lower, upper, shares, None)

    def dataset(
        self,
        batch_size: int,
        min_length: int,
        max_length: int,
        seed: int,
        steps: int,
        *,
        bands: Mapping[int, float] | None = None,
        start: int = 0,
    ) -> tf.data.Dataset:
        """`batches` as a tf.data.Dataset of {"source", "target"}, int32 (batch_size, T).

        T is max_length + 1 in every batch. Without `bands` lengths are uniform in
        [min_length, max_length].
        """
        import tensorflow as tf

        bands = {max_length: 1.0} if bands is None else bands
        _edges(bands, min_length)  # a mistake is told here, not from within the tf.data thread
        if max(bands) != max_length:
            raise ValueError(
                f"CopyTask: the largest band must be max_length, {max_length}, "
                f"got {max(bands)}. Fix: bands={{..., {max_length}: share}}."
            )
        # T is left open, so that the training step is traced once for all stages of a curriculum.
        spec = tf.TensorSpec((batch_size, None), tf.int32)
        return tf.data.Dataset.from_generator(
            lambda: self.batches(batch_size, bands, seed, steps, start, min_length),
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
        lower: np.ndarray,
        upper: np.ndarray,
        shares: np.ndarray,
        width: int | None,
    ) -> Batch:
        least = int(upper[-1]) + 1  # the symbols and eos
        width = least if width is None else width
        if width < least:
            raise ValueError(
                f"CopyTask: width must be at least max_length + 1 = {least} "
                f"(the symbols and eos), got {width}. Fix: leave width out."
            )
        band = generator.choice(len(shares), size=n, p=shares)
        lengths = generator.integers(lower[band], upper[band] + 1)[:, None]  # (n, 1)
        last = FIRST_SYMBOL + self.n_symbols
        rows = generator.integers(FIRST_SYMBOL, last, size=(n, width), dtype=np.int32)
        position = np.arange(width)[None, :]
        rows = np.where(position < lengths, rows, PAD)
        rows = np.where(position == lengths, EOS, rows).astype(np.int32)
        return {"source": rows, "target": rows.copy()}


def _check_seed(seed: int) -> None:
    if seed < 0:
        raise ValueError(f"CopyTask: a seed must not be negative, got {seed}. Fix: 0 or more.")


def _edges(
    bands: Mapping[int, float], min_length: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Smallest length, largest length and share of each band, shortest band first."""
    if not bands or any(share <= 0 for share in bands.values()):
        raise ValueError(
            f"CopyTask: bands must map lengths to shares above 0, got {dict(bands)}. "
            "Fix: {5: 1, 10: 3} draws three of four sequences from lengths 6 to 10."
        )
    upper = np.array(sorted(bands))
    if not 1 <= min_length <= upper[0]:
        raise ValueError(
            "CopyTask: lengths must be 1 <= min_length <= max_length, "
            f"got min_length={min_length}, max_length={upper[0]}. Fix: name the shorter first."
        )
    shares = np.array([bands[length] for length in upper.tolist()], dtype=np.float64)
    lower = np.concatenate([[min_length], upper[:-1] + 1])
    return lower, upper, shares / shares.sum()
