"""The rule by which the checks become a sentence: are these weights evidence?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from attention_zoo.explain.check_adversarial import SAME_OUTPUT, Adversarial
from attention_zoo.explain.check_agreement import Agreement
from attention_zoo.explain.check_permutation import Permutation
from attention_zoo.explain.check_tau import LEAST_TOKENS
from attention_zoo.explain.check_uniform import Uniform

CLEAR_CHANGE = 2 * SAME_OUTPUT
"""An output has clearly changed from this total variation on: twice what counts as the same."""

MOST_STEPS = 0.5
"""More than this share of the steps is most of them."""

AGREES = 0.3
"""Mean tau from which two orders agree: 65 pairs of tokens in 100 ordered alike. Orders that have
nothing to do with each other stay below it: over ten steps of ten tokens their mean tau has a
standard deviation of 0.08."""

OTHER_WEIGHTS = 0.4
"""Divergence from which weights point elsewhere: four fifths of the mass on other tokens (0.42)."""

RARE = 0.25
"""Other weights with the same output are rare up to this share of the steps: one in four."""

LEAST_STEPS = 3
"""With fewer steps each single one decides, and nothing is said."""

SUPPORTED, NOT_SUPPORTED, UNDECIDED = "supported", "not supported", "undecided"


@dataclass(frozen=True)
class Criterion:
    """One thing that the rule asks.

    Attributes:
        name: of the check that it comes from.
        asks: what must hold, in words, with the threshold.
        found: what was found, in words.
        value: the number that the threshold is held against; None where there is none.
        met: whether it holds; None where the sentence does not say.
    """

    name: str
    asks: str
    found: str
    value: float | None
    met: bool | None


@dataclass(frozen=True)
class Verdict:
    """Whether the weights are evidence, for one model and one sentence.

    Attributes:
        outcome: "supported", "not supported" or "undecided".
        words: the same as a sentence, with the reasons.
        criteria: what the rule asked, in order.
        steps: for each target step, whether it meets the thresholds by itself.
    """

    outcome: str
    words: str
    criteria: tuple[Criterion, ...]
    steps: tuple[bool, ...]


def judge(
    name: str,
    n_tokens: int,
    permutation: Permutation,
    leave_one_out: Agreement,
    adversarial: Adversarial,
    uniform: Uniform,
) -> Verdict:
    """Supported if all four criteria are met, not supported if one is not.

    1. Permuted weights change the output clearly at most steps.
    2. Leave one out orders the tokens as the weights do: mean tau at least 0.3.
    3. Quite other weights that give the same output exist at a quarter of the steps at most.
    4. Uniform weights change the output clearly at most steps.

    Undecided if the sentence has fewer than 3 source tokens or 3 steps, or if no criterion fails
    but half of the steps or more have no tau. The gradient is reported and not asked: where the
    output is nearly certain it is small in all tokens, and its order says little.
    """
    criteria = (
        _of_change("permutation", "permuted weights", permutation.median),
        _of_tau(leave_one_out),
        _of_adversarial(adversarial),
        _of_change("uniform", "uniform weights", uniform.change),
    )
    steps = tuple(_each_step(permutation, leave_one_out, adversarial, uniform))
    outcome, reason = _outcome(criteria, n_tokens, len(steps))
    said = {
        SUPPORTED: "the weights are supported as evidence",
        NOT_SUPPORTED: "the weights are not supported as evidence",
        UNDECIDED: "it is undecided whether the weights are evidence",
    }[outcome]
    return Verdict(outcome, f"For {name} and this sentence {said}: {reason}.", criteria, steps)


def _of_change(check: str, what: str, change: tuple[float, ...]) -> Criterion:
    clear = int(np.sum(np.asarray(change) >= CLEAR_CHANGE))
    share = clear / len(change)
    return Criterion(
        check,
        f"{what} change the output by {CLEAR_CHANGE:g} or more at most steps",
        f"{what} change the output by {CLEAR_CHANGE:g} or more at {clear} of {len(change)} steps",
        share,
        share > MOST_STEPS,
    )


def _of_tau(found: Agreement) -> Criterion:
    tau, steps = found.mean_tau, len(found.taus)
    known = steps - found.without_tau
    told = (
        "no step has a tau" if tau is None else f"mean tau {tau:.2f} over {known} of {steps} steps"
    )
    met = None if tau is None else tau >= AGREES
    if met and known <= MOST_STEPS * steps:
        met = None  # agreement at a few steps says nothing of the others
    return Criterion(
        "leave one out",
        f"leaving tokens out orders them as the weights do: mean tau {AGREES:g} or more, over most "
        "steps",
        f"leave one out against the weights: {told}",
        tau,
        met,
    )


def _of_adversarial(found: Adversarial) -> Criterion:
    share, steps = found.share_above(OTHER_WEIGHTS), len(found.divergence)
    return Criterion(
        "adversarial",
        f"other weights (divergence above {OTHER_WEIGHTS:g}) with the same output exist at "
        f"{RARE:.0%} of the steps at most",
        f"other weights with the same output exist at {round(share * steps)} of {steps} steps",
        share,
        share <= RARE,
    )


def _each_step(
    permutation: Permutation, leave_one_out: Agreement, adversarial: Adversarial, uniform: Uniform
) -> Iterator[bool]:
    found = (permutation.median, leave_one_out.taus, adversarial.divergence, uniform.change)
    for permuted, tau, divergence, frozen in zip(*found, strict=True):
        changed = min(permuted, frozen) >= CLEAR_CHANGE
        yield changed and tau is not None and tau >= AGREES and divergence <= OTHER_WEIGHTS


def _outcome(criteria: tuple[Criterion, ...], n_tokens: int, n_steps: int) -> tuple[str, str]:
    if n_tokens < LEAST_TOKENS or n_steps < LEAST_STEPS:
        return UNDECIDED, (
            f"{n_tokens} source tokens and {n_steps} steps are too few to say; "
            f"{LEAST_TOKENS} and {LEAST_STEPS} are the least"
        )
    failed = [criterion.found for criterion in criteria if criterion.met is False]
    if failed:
        return NOT_SUPPORTED, "; ".join(failed)
    unknown = [criterion.found for criterion in criteria if criterion.met is None]
    if unknown:
        return UNDECIDED, "; ".join(unknown)
    return SUPPORTED, "; ".join(criterion.found for criterion in criteria)
