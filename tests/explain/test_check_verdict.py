"""The rule of the verdict, case by case."""

import numpy as np
import pytest

from attention_zoo.explain.check_adversarial import Adversarial
from attention_zoo.explain.check_agreement import Agreement
from attention_zoo.explain.check_permutation import Permutation
from attention_zoo.explain.check_uniform import Uniform
from attention_zoo.explain.check_verdict import judge

GOOD = {
    "n_tokens": 5,
    "permuted": (0.9, 0.9, 0.9, 0.9),
    "taus": (0.6, 0.6, 0.6, 0.6),
    "divergence": (0.1, 0.1, 0.1, 0.1),
    "uniform": (0.8, 0.8, 0.8, 0.8),
}


def verdict(**changes):
    case = GOOD | changes
    steps = len(case["permuted"])
    nothing = (False,) * steps
    return judge(
        "some_model",
        case["n_tokens"],
        Permutation(100, case["permuted"], case["permuted"], case["permuted"]),
        Agreement(np.zeros((steps, 5)), case["taus"], case["taus"], nothing),
        Adversarial(np.zeros((steps, 5)), case["divergence"], (0.0,) * steps, (0.69,) * steps),
        Uniform(case["uniform"], nothing),
    )


def test_all_criteria_met_is_supported():
    found = verdict()
    assert found.outcome == "supported"
    assert found.words.startswith("For some_model and this sentence the weights are supported")
    assert [criterion.met for criterion in found.criteria] == [True] * 4
    assert found.steps == (True,) * 4


@pytest.mark.parametrize(
    ("changes", "failed", "words"),
    [
        ({"permuted": (0.9, 0.9, 0.09, 0.0)}, "permutation", "permuted .* at 2 of 4 steps"),
        ({"taus": (0.6, 0.2, 0.2, 0.1)}, "leave one out", r"mean tau 0\.28 over 4 of 4 steps"),
        ({"taus": (None, None, None, -0.5)}, "leave one out", "over 1 of 4 steps"),
        ({"divergence": (0.1, 0.1, 0.5, 0.6)}, "adversarial", "exist at 2 of 4 steps"),
        ({"uniform": (0.8, 0.8, 0.05, 0.05)}, "uniform", "uniform weights .* at 2 of 4 steps"),
    ],
)
def test_one_that_fails_is_named(changes, failed, words):
    found = verdict(**changes)
    assert found.outcome == "not supported"
    assert [criterion.name for criterion in found.criteria if criterion.met is False] == [failed]
    import re

    assert re.search(f"not supported as evidence: .*{words}", found.words)


def test_all_that_fail_are_named():
    found = verdict(permuted=(0.0,) * 4, uniform=(0.0,) * 4, taus=(0.0,) * 4, divergence=(0.6,) * 4)
    assert found.words.count(";") == 3
    assert found.steps == (False,) * 4


@pytest.mark.parametrize(
    "changes",
    [
        {"permuted": (0.1, 0.1, 0.1, 0.0)},
        {"taus": (0.3, 0.3, 0.3, 0.3)},
        {"taus": (0.6, 0.6, 0.6, None)},
        {"divergence": (0.41, 0.4, 0.4, 0.4)},
        {"uniform": (0.1, 0.1, 0.1, 0.0)},
    ],
)
def test_the_thresholds_themselves_are_enough(changes):
    assert verdict(**changes).outcome == "supported"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"n_tokens": 2}, "2 source tokens and 4 steps are too few"),
        ({key: GOOD[key][:2] for key in ("permuted", "taus", "divergence", "uniform")}, "2 steps"),
        ({"taus": (None,) * 4}, "no step has a tau"),
        ({"taus": (0.6, 0.6, None, None)}, "over 2 of 4 steps"),
    ],
)
def test_too_little_is_undecided(changes, words):
    found = verdict(**changes)
    assert found.outcome == "undecided"
    assert words in found.words


def test_a_failure_counts_even_where_there_is_no_tau():
    assert verdict(taus=(None,) * 4, permuted=(0.0,) * 4).outcome == "not supported"


def test_each_step_is_judged_by_itself():
    found = verdict(
        permuted=(0.9, 0.0, 0.9, 0.9),
        taus=(0.6, 0.6, None, 0.6),
        divergence=(0.1, 0.1, 0.1, 0.5),
    )
    assert found.steps == (True, False, False, False)
