"""Measures the contenders in turns, so that a busy moment of the machine hits all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from inference_contenders import Contender, Files
from inference_process import ColdStart, Turn, Worker, save_sources
from inference_workload import Workload
from memory_bandwidth import MemoryBandwidth


@dataclass(frozen=True, order=True)
class Mode:
    """Sentences at a time, and threads that an operator may use."""

    batch: int
    threads: int


Track = Callable[[Sequence[int], str], Iterable[int]]
"""Goes through rounds and shows how far it is: (rounds, what is done in them)."""


@dataclass
class Samples:
    """Everything that was measured, a value a round.

    Attributes:
        turns: (key of the contender, mode) -> turns.
        cold: key -> fresh processes.
        bandwidth: bytes a second.
    """

    turns: dict[tuple[str, Mode], list[Turn]] = field(default_factory=dict)
    cold: dict[str, list[ColdStart]] = field(default_factory=dict)
    bandwidth: list[float] = field(default_factory=list)


@dataclass(frozen=True)
class Bench:
    """Starts the contenders of one model.

    Attributes:
        files: of the contenders.
        max_length: T_dec.
        folder: for the sources, and for what the processes say on stderr.
    """

    files: Files
    max_length: int
    folder: Path

    def worker(self, contender: Contender, threads: int, first: Path) -> Worker:
        """A fresh process that holds the contender's file open."""
        log = self.folder / f"{contender.key}.{threads}.log"
        path = self.files.path(contender)
        return Worker(contender.kind, path, threads, self.max_length, first, log)

    @contextmanager
    def workers(
        self, contenders: Sequence[Contender], threads: int, first: Path
    ) -> Iterator[dict[str, Worker]]:
        """One of each, all of which end with the block."""
        with ExitStack() as stack:
            yield {
                one.key: stack.enter_context(self.worker(one, threads, first)) for one in contenders
            }


def measure_cold(
    bench: Bench, contenders: Sequence[Contender], first: Path, rounds: int, track: Track
) -> dict[str, list[ColdStart]]:
    """Fresh processes of one thread, after one of each that fills the disk's cache."""
    cold: dict[str, list[ColdStart]] = {one.key: [] for one in contenders}
    for number in track(range(rounds + 1), "cold starts"):
        for contender in _turned(contenders, number):
            with bench.worker(contender, 1, first) as worker:
                if number:
                    cold[contender.key].append(worker.cold)
    return cold


def measure_turns(
    bench: Bench,
    contenders: Sequence[Contender],
    workload: Workload,
    rounds: int,
    track: Track,
    bandwidth: MemoryBandwidth,
) -> Samples:
    """Rounds in which each contender answers the sentences one by one, and in batches.

    One by one with one thread and with two, in batches with one. The order changes from round to
    round. The memory's bandwidth is measured in the same rounds.

    Each round has processes of its own: what fits a cache hangs on where the system put the memory
    of a process, and one with luck may be a tenth quicker than the next, as long as it lives.
    """
    singles = save_sources(bench.folder / "singles.npz", workload.singles)
    batches = save_sources(bench.folder / "batches.npz", workload.batches)
    batch_size = len(workload.batches[0])
    sources = {Mode(1, 1): singles, Mode(1, 2): singles, Mode(batch_size, 1): batches}
    samples = Samples()
    for number in track(range(rounds), "rounds"):
        samples.bandwidth.append(bandwidth.measure())
        with ExitStack() as stack:
            workers = {
                threads: stack.enter_context(bench.workers(contenders, threads, singles))
                for threads in (1, 2)
            }
            # what is divided by one another stands side by side: the clock of the machine drifts
            for contender in _turned(contenders, number):
                for mode, path in sources.items():
                    turn = workers[mode.threads][contender.key].turn(path)
                    samples.turns.setdefault((contender.key, mode), []).append(turn)
    return samples


def _turned(contenders: Sequence[Contender], number: int) -> list[Contender]:
    """The contenders, beginning with another one in each round."""
    place = number % len(contenders)
    return [*contenders[place:], *contenders[:place]]
