"""Kendall's tau-b: whether two measures put the tokens in the same order."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

LEAST_TOKENS = 3
"""Two tokens are one pair: its tau is 1 or -1, whatever they are."""

RESOLUTION = 0.01
"""Values that round to the same hundredth tie: attention gives most tokens next to nothing, and an
order among 0.0001 and 0.0002 is noise that would drown the order of what counts."""


def kendall_tau(x: ArrayLike, y: ArrayLike) -> float | None:
    """``tau_b = (C - D) / sqrt((n_0 - n_x) (n_0 - n_y))`` in [-1, 1] (Kendall 1945).

    C and D are the pairs that x and y order alike and oppositely, n_0 = n (n - 1) / 2 all pairs,
    n_x and n_y those that tie in x and in y.

    Args:
        x, y: vectors (n,).

    Returns:
        tau; None where there is none: fewer than 3 tokens, or all of x or all of y tied.

    Raises:
        ValueError: if x and y are not vectors of one length.

    >>> kendall_tau([1, 2, 3, 4], [1, 2, 4, 3])
    0.6666666666666666
    >>> kendall_tau([1, 1, 1], [1, 2, 3]) is None
    True
    """
    x, y = np.asarray(x, np.float64), np.asarray(y, np.float64)
    if x.ndim != 1 or x.shape != y.shape:
        raise ValueError(
            f"kendall_tau: x has shape {x.shape} and y {y.shape}; expected two vectors of one "
            "length (n,). Fix: compare one row of weights with one row of changes."
        )
    if len(x) < LEAST_TOKENS:
        return None
    first, second = np.triu_indices(len(x), 1)  # every pair once
    in_x, in_y = np.sign(x[first] - x[second]), np.sign(y[first] - y[second])
    untied = np.count_nonzero(in_x) * np.count_nonzero(in_y)
    return float((in_x * in_y).sum() / np.sqrt(untied)) if untied else None


def rounded(values: ArrayLike) -> np.ndarray:
    """Values at `RESOLUTION`, so that what nobody can tell apart ties."""
    return np.round(np.asarray(values, np.float64) / RESOLUTION)
