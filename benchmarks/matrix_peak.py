"""How many multiply-adds a second this machine reaches in one large matrix product."""

from __future__ import annotations

import time

import tensorflow as tf

SIDE = 2048


class MatrixPeak:
    """Products of square matrices of one type, timed.

    Args:
        dtype: "float32" or "bfloat16".
        side: rows and columns.
    """

    def __init__(self, dtype: str, side: int = SIDE) -> None:
        self.side = side
        generator = tf.random.Generator.from_seed(0)
        self._matrices = [tf.cast(generator.normal((side, side)), dtype) for _ in range(2)]
        self._product = tf.function(tf.matmul)
        self._product(*self._matrices)  # traced and warm

    def measure(self, repeats: int = 5) -> float:
        """Multiply-adds a second in the fastest of some products."""
        fastest = float("inf")
        for _ in range(repeats):
            began = time.perf_counter()
            self._product(*self._matrices)[0, 0].numpy()
            fastest = min(fastest, time.perf_counter() - began)
        return self.side**3 / fastest
