"""The bandwidth of the memory, from copies of known length."""

import memory_bandwidth
import numpy as np
from memory_bandwidth import MemoryBandwidth


def test_a_copy_counts_twice_and_the_fastest_one_is_taken(monkeypatch):
    bandwidth = MemoryBandwidth(size=8 * 1031)
    ticks = iter([0.0, 0.5, 1.0, 1.25, 2.0, 2.5])
    monkeypatch.setattr(memory_bandwidth.time, "perf_counter", lambda: next(ticks))
    assert bandwidth.measure(repeats=3) == 2 * 8 * 1031 / 0.25


def test_the_bytes_are_copied():
    bandwidth = MemoryBandwidth(size=8 * 17)
    bandwidth._source[:] = np.arange(17)
    bandwidth.measure(repeats=1)
    assert np.array_equal(bandwidth._target, np.arange(17))
