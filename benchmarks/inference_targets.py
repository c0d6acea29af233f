"""The ratios that the exported files are to reach, each from the rounds of one run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from inference_contenders import ONNX, ONNX_INT8, PLAIN, TFLITE, TFLITE_INT8, Contender, Files
from inference_rounds import Mode, Samples

ONE = Mode(1, 1)


@dataclass(frozen=True)
class Target:
    """A figure and its limit.

    Attributes:
        what: in words.
        limit: at least this, or at most if `is_upper`.
        values: one a round; a single one where nothing is timed.
        unit: after a figure: "x", " s", ...
        digits: after the point.
    """

    what: str
    limit: float
    values: Sequence[float]
    is_upper: bool = False
    unit: str = "x"
    digits: int = 2

    @property
    def median(self) -> float:
        """Of the rounds."""
        return float(np.median(self.values))

    @property
    def is_reached(self) -> bool:
        """Whether the median keeps the limit."""
        return self.median <= self.limit if self.is_upper else self.median >= self.limit

    def cells(self) -> list[str]:
        """What, limit, median, quartiles, and whether it is reached."""
        low, high = np.percentile(self.values, (25, 75))
        return [
            self.what,
            ("at most " if self.is_upper else "at least ") + f"{self.limit:g}{self.unit}",
            self._text(self.median),
            f"{self._text(low)} to {self._text(high)}" if len(self.values) > 1 else "-",
            "yes" if self.is_reached else "no",
        ]

    def _text(self, value: float) -> str:
        return f"{value:.{self.digits}f}{self.unit}"


def targets(samples: Samples, files: Files, batch: Mode) -> list[Target]:
    """Every ratio whose contenders were measured. `batch` is the mode of the batches."""

    def speed(key: str, mode: Mode) -> list[float]:
        return [1 / turn.seconds_a_token for turn in samples.turns.get((key, mode), ())]

    def times(
        fast: Contender, slow: Contender, limit: float, mode: Mode = ONE, than: Mode | None = None
    ) -> Target:
        than = mode if than is None else than
        ratios = [
            one / other
            for one, other in zip(speed(fast.key, mode), speed(slow.key, than), strict=False)
        ]
        return Target(f"{_name(fast, mode)} against {_name(slow, than)}", limit, ratios)

    found = [
        times(ONNX, PLAIN, 2.0),
        times(ONNX_INT8, PLAIN, 3.5),
        times(TFLITE_INT8, TFLITE, 2.5),
        times(ONNX_INT8, ONNX_INT8, 3.0, batch, ONE),
        times(ONNX_INT8, ONNX, 1.6, batch),
        _smaller(ONNX_INT8, ONNX, samples, files),
        _smaller(TFLITE_INT8, TFLITE, samples, files),
        *_cold(samples),
    ]
    return [target for target in found if len(target.values)]


def _name(contender: Contender, mode: Mode) -> str:
    batch = "" if mode == ONE else f", batch {mode.batch}"
    return f"{contender.format} {contender.weights}{batch}"


def _smaller(small: Contender, large: Contender, samples: Samples, files: Files) -> Target:
    measured = {key for key, _ in samples.turns}
    sizes = [files.bytes(one) for one in (small, large) if one.key in measured]
    share = [100 * sizes[0] / sizes[1]] if len(sizes) == 2 else []
    what = f"bytes of {small.format} {small.weights} against {large.weights}"
    return Target(what, 30.0, share, is_upper=True, unit="%", digits=1)


def _cold(samples: Samples) -> list[Target]:
    starts = samples.cold.get(ONNX_INT8.key, [])
    what = "a fresh process that loads ONNX int8 and answers one sentence"
    seconds = [start.seconds for start in starts]
    megabytes = [start.peak / 1e6 for start in starts]
    return [
        Target(f"{what}: time", 0.6, seconds, is_upper=True, unit=" s"),
        Target(f"{what}: memory", 150.0, megabytes, is_upper=True, unit=" MB", digits=0),
    ]
