"""What kinds of operators take, in the words that all profiles share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


class ProfileError(RuntimeError):
    """This file cannot be profiled here."""


@dataclass(frozen=True)
class Cost:
    """What one kind of operator takes, of all runs together.

    Attributes:
        what: the operator type, or what else takes time.
        calls: a token; 0 for what is no operator.
        us: microseconds a token.
        share: of the whole time of the profile.
    """

    what: str
    calls: float
    us: float
    share: float


def costs_of(totals: dict[str, list[float]], tokens: int, spent: float) -> list[Cost]:
    """The dearest first.

    Args:
        totals: what -> calls and microseconds of all runs.
        tokens: written in them.
        spent: microseconds that all shares are of.
    """
    table = [
        Cost(what, calls / tokens, us / tokens, us / spent) for what, (calls, us) in totals.items()
    ]
    return sorted(table, key=lambda cost: -cost.us)


def with_rest(costs: Sequence[Cost], shown: int) -> list[Cost]:
    """The first ones, and all others in one."""
    if len(costs) <= shown + 1:
        return list(costs)
    rest = costs[shown:]
    sums = [sum(getattr(one, name) for one in rest) for name in ("calls", "us", "share")]
    return [*costs[:shown], Cost(f"{len(rest)} others", *sums)]
