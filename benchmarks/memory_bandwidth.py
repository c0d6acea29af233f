"""How many bytes a second one thread moves between memory and itself."""

from __future__ import annotations

import time

import numpy as np

BYTES = 2**29


class MemoryBandwidth:
    """Copies of one large array into another, timed.

    A copy reads each byte once and writes it once, so it counts twice. One NumPy copy runs on one
    thread.

    Args:
        size: bytes of each of the two arrays; more than the caches hold.
    """

    def __init__(self, size: int = BYTES) -> None:
        self._source = np.ones(size // 8, np.float64)
        self._target = np.zeros_like(self._source)  # its pages exist from here on
        self._target[:] = 1.0

    def measure(self, repeats: int = 3) -> float:
        """Bytes a second, read and written together, in the fastest of some copies."""
        fastest = float("inf")
        for _ in range(repeats):
            began = time.perf_counter()
            np.copyto(self._target, self._source)
            fastest = min(fastest, time.perf_counter() - began)
        return 2 * self._source.nbytes / fastest
