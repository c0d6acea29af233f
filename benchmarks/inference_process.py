"""A contender that lives in a process of its own and is asked in turns."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

_PROGRAM = Path(__file__).with_name("inference_worker.py")
# the threads of the contender before spin for a while after their last answer
_PAUSE = 0.02


@dataclass(frozen=True)
class ColdStart:
    """What a fresh process costs until it has answered one sentence.

    Attributes:
        seconds: from before the process exists to its first answer, the interpreter included.
        phases: seconds of `import`, `load` and `first` (the first answer).
        peak: bytes resident at most.
    """

    seconds: float
    phases: dict[str, float]
    peak: int


@dataclass(frozen=True)
class Turn:
    """One turn: seconds of each call, and tokens written in it."""

    seconds: tuple[float, ...]
    tokens: tuple[int, ...]
    peak: int

    @property
    def seconds_a_token(self) -> float:
        """Over all calls; one that writes less gains nothing by it."""
        return sum(self.seconds) / max(1, sum(self.tokens))


class WorkerError(RuntimeError):
    """A contender's process ended, or wrote something else than an answer."""


class Worker:
    """A process that holds one file open.

    Use it as a context manager: the process is ended, whatever happens.

    Args:
        kind: "keras", "savedmodel", "onnx" or "tflite".
        path: the file, or the folder of a model in Keras.
        threads: threads that one operator may use.
        max_length: T_dec, for Keras; the files hold theirs.
        first: an .npz file of sources, the first of which is answered at the start.
        log: where what the process says on stderr goes.

    Raises:
        WorkerError: it cannot load the file, or dies of it.
    """

    def __init__(
        self, kind: str, path: Path, threads: int, max_length: int, first: Path, log: Path
    ) -> None:
        self._log = log
        self._what = f"{kind}, {path.name}, {threads} thread{'s' * (threads > 1)}"
        words = [kind, path, threads, max_length, first]
        began = time.perf_counter()
        with log.open("wb") as errors:
            self._process: Any = subprocess.Popen(
                [sys.executable, str(_PROGRAM), *map(str, words)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "KERAS_BACKEND": "tensorflow"},
                start_new_session=True,  # Ctrl-C is for the benchmark, which ends its workers
            )
        try:
            told = self._answer()
        except BaseException:
            self.close()
            raise
        peak = told.pop("peak")
        self.cold = ColdStart(time.perf_counter() - began, told, peak)

    def turn(self, sources: Path) -> Turn:
        """Answer every source of an .npz file, timed each by itself."""
        time.sleep(_PAUSE)
        told = self._ask(do="time", sources=str(sources))
        return Turn(tuple(told["seconds"]), tuple(told["tokens"]), told["peak"])

    def tokens(self, sources: Path) -> list[np.ndarray]:
        """The tokens (batch, T_dec) of every source of an .npz file."""
        answers = sources.with_name(f"{sources.stem}.answers.npz")
        self._ask(do="answer", sources=str(sources), to=str(answers))
        with np.load(answers) as file:
            return [file[f"arr_{index}"] for index in range(len(file.files))]

    def close(self) -> None:
        """End the process: it holds nothing that would have to be kept."""
        self._process.kill()
        self._process.communicate()

    def __enter__(self) -> Worker:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _ask(self, **request: str) -> dict[str, Any]:
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # it is gone: reading its answer tells how
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        line = self._process.stdout.readline()
        try:
            told: dict[str, Any] = json.loads(line)
        except ValueError:
            code = self._process.wait() if not line else self._process.poll()
            lines = self._log.read_text(errors="replace").strip().splitlines()
            raise WorkerError(
                f"{self._what}: expected an answer, got {line!r} and exit code {code}. "
                f"It said: {' '.join(lines[-2:]) or 'nothing'}"
            ) from None
        return told


def save_sources(path: Path, sources: Sequence[np.ndarray]) -> Path:
    """Write sources (batch, T_enc) as the .npz file that a worker reads."""
    np.savez(path, *sources)
    return path
