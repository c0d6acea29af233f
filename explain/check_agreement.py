"""How far the weights put the source tokens in the order of another measure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from attention_zoo.explain.check_tau import kendall_tau, rounded


@dataclass(frozen=True, eq=False)
class Agreement:
    """Weights against the importance that another measure gives each source token.

    A step that has no answer holds None, and is in no mean.

    Attributes:
        importance: (T_dec, T_enc), the other measure.
        taus: Kendall's tau-b of each step, both measures rounded to 0.01; None where there is none.
        fine_taus: the same of the values as they are, as Jain and Wallace (2019) take it.
        same_top: whether the token of the largest weight is also the most important one; None where
            several share the first place in either.
    """

    importance: np.ndarray
    taus: tuple[float | None, ...]
    fine_taus: tuple[float | None, ...]
    same_top: tuple[bool | None, ...]

    @property
    def mean_tau(self) -> float | None:
        """Mean over the steps that have a tau; None if none has."""
        return _mean(self.taus)

    @property
    def mean_fine_tau(self) -> float | None:
        """Likewise, of `fine_taus`."""
        return _mean(self.fine_taus)

    @property
    def without_tau(self) -> int:
        """How many steps have no tau: too few tokens, or nothing but ties."""
        return sum(tau is None for tau in self.taus)

    @property
    def share_of_same_top(self) -> float | None:
        """Share of the steps whose top token is the same, among those that have one."""
        return _mean(self.same_top)


def agreement(weights: np.ndarray, importance: np.ndarray) -> Agreement:
    """Compare weights (T_dec, T_enc) with an importance (T_dec, T_enc), step by step."""
    pairs = list(zip(weights, importance, strict=True))
    return Agreement(
        importance,
        tuple(kendall_tau(rounded(row), rounded(other)) for row, other in pairs),
        tuple(kendall_tau(row, other) for row, other in pairs),
        tuple(_same_top(row, other) for row, other in pairs),
    )


def _same_top(row: np.ndarray, other: np.ndarray) -> bool | None:
    tops = [np.flatnonzero(values == values.max()) for values in (row, other)]
    if len(row) < 2 or any(len(top) > 1 for top in tops):
        return None
    return bool(tops[0][0] == tops[1][0])


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None
