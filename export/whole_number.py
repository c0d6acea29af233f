"""Sizes that a caller hands to the runtime, checked before anything is opened."""

from __future__ import annotations

import numbers
from typing import Any

# a runtime starts as many as it is told to, and with some thousands does not come back
_MOST_THREADS = 1024


def at_least_one(name: str, value: Any, fix: str) -> int:
    """`value` as an int: a whole number of at least 1, NumPy's included.

    Raises:
        ValueError: anything else; names `name`, what came, and `fix`.
    """
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < 1:
        raise ValueError(
            f"{name}: expected a whole number of at least 1, got {value!r}. Fix: {fix}"
        )
    return int(value)


def checked_threads(threads: int | None) -> int | None:
    """`threads` of a runtime: None, or a whole number from 1 to 1024. Raises ValueError."""
    if threads is None:
        return None
    fix = "None lets the runtime choose; 1 is one core."
    threads = at_least_one("threads", threads, fix)
    if threads > _MOST_THREADS:
        raise ValueError(f"threads: expected at most {_MOST_THREADS}, got {threads}. Fix: {fix}")
    return threads
