"""A contender of the training benchmark in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from step_size import StepSize

OURS = {
    "ours, float32, graph": ("float32", False),
    "ours, mixed bfloat16, graph": ("mixed_bfloat16", False),
    "ours, float32, XLA": ("float32", True),
}
"""Name -> dtype policy, and whether XLA compiles the step."""

KERAS = "plain Keras loop, float32, graph"

PEAKS = ("float32", "bfloat16")
"""Types of the matrix products that the worker can time in place of a contender."""

_WORKER = Path(__file__).with_name("training_worker.py")


class ContenderProcess:
    """One of `OURS`, `KERAS` or `PEAKS` in a worker that sleeps while others have their turn.

    Several models in one process, each with its threads and its compiled code, slow each other
    down, by up to a fifth; in a process of its own each is measured as a user would run it.

    Raises:
        ValueError: the worker ended before it was asked to.
    """

    def __init__(self, name: str, size: StepSize) -> None:
        self.name = name
        numbers = ",".join(str(number) for number in vars(size).values())
        self._process = subprocess.Popen(
            [sys.executable, str(_WORKER), name, numbers],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.first_step = float(self._answer())
        """Seconds of the first step, with tracing and compiling."""

    def round(self, steps: int) -> float:
        """Seconds a step, the median of some; of `PEAKS`, multiply-adds a second."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{steps}\n")
        self._process.stdin.flush()
        return float(self._answer())

    def close(self) -> None:
        """End the worker."""
        self._process.kill()
        self._process.communicate()

    def _answer(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise ValueError(
                f"{self.name}: expected an answer of its worker, which ended with exit code "
                f"{self._process.wait()}. Fix: what it wrote above this line."
            )
        return json.loads(line)
