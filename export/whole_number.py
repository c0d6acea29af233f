"""Sizes that a caller hands to the runtime, checked before anything is opened."""

from __future__ import annotations

import numbers
from typing import Any


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
    """`threads` of a runtime: None, or a whole number of at least 1. Raises ValueError."""
    if threads is None:
        return None
    return at_least_one("threads", threads, "None lets the runtime choose; 1 is one core.")
