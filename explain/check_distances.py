"""How far apart two distributions are."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

LARGEST_DIVERGENCE = float(np.log(2.0))
"""The Jensen-Shannon divergence, in nats, of distributions that share nothing."""


def total_variation(p: ArrayLike, q: ArrayLike) -> Array:
    """``TV(p, q) = 1/2 sum_k |p_k - q_k|`` over the last axis, in [0, 1].

    The largest change in the probability of any set of outcomes: 0.1 means that no question about
    the next token is answered with a probability more than 0.1 off. Jain and Wallace (2019,
    section 4) measure outputs so.

    Args:
        p, q: distributions (..., n); the axes before the last broadcast.
    """
    p, q = np.asarray(p, np.float64), np.asarray(q, np.float64)
    # float32 distributions sum to 1 within rounding alone
    return np.minimum(0.5 * np.abs(p - q).sum(axis=-1), 1.0)


def jensen_shannon(p: ArrayLike, q: ArrayLike) -> Array:
    """``JSD(p, q) = 1/2 KL(p, m) + 1/2 KL(q, m)``, ``m = (p + q) / 2``, in [0, ln 2] nats.

    Jain and Wallace (2019, section 4) measure attention weights so. Scale: moving the share x of
    the mass from one token to another that had none gives 0.07 (x = 0.2), 0.22 (0.5), 0.42 (0.8)
    and ln 2 = 0.69 (1).

    Args:
        p, q: distributions (..., n); the axes before the last broadcast.
    """
    p, q = np.asarray(p, np.float64), np.asarray(q, np.float64)
    middle = (p + q) / 2
    both = (_surprise(p, middle) + _surprise(q, middle)) / 2
    return np.clip(both, 0.0, LARGEST_DIVERGENCE)


def _surprise(p: Array, middle: Array) -> Array:
    """KL(p, middle); what p never does costs nothing."""
    safe = np.where(p > 0, p, 1.0)
    return (p * np.log(safe / np.where(p > 0, middle, 1.0))).sum(axis=-1)
