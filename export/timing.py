"""How long an exported file takes for one sequence."""

from __future__ import annotations

import statistics
import time
from typing import Any


def time_predict(model: Any, source: Any, repeats: int = 20, warm_up: int = 3) -> float:
    """Milliseconds a sequence of `model.predict(source)`: the median of `repeats` calls.

    Args:
        model: an `OnnxModel`, `LiteRTModel` or `SavedModel`.
        source: as for `predict`; the time of a call is divided by its rows.
        repeats: calls that are timed.
        warm_up: calls before, which pay for memory and plans.

    Raises:
        ValueError: `repeats` is below 1.
    """
    if repeats < 1:
        raise ValueError(f"repeats: expected at least 1, got {repeats}. Time at least one call.")
    for _ in range(warm_up):
        model.predict(source)
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        model.predict(source)
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds) * 1e3 / len(source)
