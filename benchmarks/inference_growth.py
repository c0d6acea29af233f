"""Latency and peak memory of each contender against the length of the source."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from inference_contenders import Contender
from inference_process import save_sources
from inference_rounds import Bench, Track
from inference_workload import Workload

LENGTHS = (10, 20, 50, 100, 200, 500, 1000, 2000)


@dataclass(frozen=True)
class Growth:
    """What one contender takes for a source of one length.

    Attributes:
        key: of the contender.
        length: T_enc.
        ms: of an answer, one thread; the median of a few.
        tokens: written in it.
        peak: bytes that its process had resident at most, after sources up to this length.
    """

    key: str
    length: int
    ms: float
    tokens: int
    peak: int


def measure_growth(
    bench: Bench,
    contenders: Sequence[Contender],
    workload: Workload,
    lengths: Sequence[int],
    repeats: int,
    track: Track,
) -> list[Growth]:
    """One source of each length, shortest first, in processes that have answered nothing else."""
    found = []
    sources = {
        length: save_sources(
            bench.folder / f"length_{length}.npz", [workload.draw(length)] * repeats
        )
        for length in sorted(lengths)
    }
    with bench.workers(contenders, 1, sources[min(lengths)]) as workers:
        for length in track(sorted(lengths), "source lengths"):
            for contender in contenders:
                turn = workers[contender.key].turn(sources[length])
                ms = statistics.median(turn.seconds) * 1e3
                found.append(Growth(contender.key, length, ms, turn.tokens[0], turn.peak))
    return found
