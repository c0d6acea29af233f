"""The PyTorch peer of the training benchmark: a script that is run each round."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from step_size import StepSize

PEER = "PyTorch peer, float32, eager"


class PeerContender:
    """A script in another process that prints one line `... ms/step ... tokens/s` a round.

    Raises:
        ValueError: the script fails, or prints something else.
    """

    name = PEER

    def __init__(self, script: Path, size: StepSize) -> None:
        self._script = script
        self._size = size
        self.first_step = float("nan")
        self.round(1)

    def round(self, steps: int) -> float:
        """Seconds a step, as the script says."""
        size = self._size
        options = {"batch": size.batch, "length": size.length, "vocab": size.vocab}
        options |= {"width": size.width, "steps": steps}
        words = [word for name, value in options.items() for word in (f"--{name}", str(value))]
        ran = subprocess.run(
            [sys.executable, str(self._script), *words], capture_output=True, text=True, check=False
        )
        told = re.search(r"([\d.]+) ms/step", ran.stdout)
        if ran.returncode or told is None:
            raise ValueError(
                f"{self._script}: expected a line with `... ms/step`, got exit code "
                f"{ran.returncode} and {(ran.stdout + ran.stderr).strip()[-300:]!r}. Fix: the "
                "script of the peer, which takes --batch --length --vocab --width --steps."
            )
        return float(told[1]) / 1000
