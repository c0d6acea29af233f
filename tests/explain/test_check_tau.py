"""Kendall's tau-b against its definition, pair by pair."""

from itertools import combinations
from math import sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attention_zoo.explain.check_tau import kendall_tau, rounded

VALUES = st.integers(-2, 3).map(float)


def tau_by_pairs(x, y):
    """(C - D) / sqrt((n_0 - n_x)(n_0 - n_y)), counted one pair after the other."""
    same = opposite = untied_x = untied_y = 0
    for i, j in combinations(range(len(x)), 2):
        product = (x[i] - x[j]) * (y[i] - y[j])
        same += product > 0
        opposite += product < 0
        untied_x += x[i] != x[j]
        untied_y += y[i] != y[j]
    return (same - opposite) / sqrt(untied_x * untied_y) if untied_x and untied_y else None


@given(st.lists(st.tuples(VALUES, VALUES), min_size=3, max_size=11))
def test_is_the_count_of_pairs(pairs):
    x, y = zip(*pairs, strict=True)
    expected = tau_by_pairs(x, y)
    if expected is None:
        assert kendall_tau(x, y) is None
    else:
        assert kendall_tau(x, y) == pytest.approx(expected)
        assert -1.0 - 1e-12 <= kendall_tau(x, y) <= 1.0 + 1e-12


@given(st.lists(st.floats(-3, 3), min_size=3, max_size=7, unique=True))
def test_an_order_agrees_with_itself_and_is_opposed_to_its_reverse(x):
    assert kendall_tau(x, np.exp(x) * 2) == pytest.approx(1.0) or len(set(np.exp(x))) < len(x)
    assert kendall_tau(x, x) == pytest.approx(1.0)
    assert kendall_tau(x, np.negative(x)) == pytest.approx(-1.0)


@pytest.mark.parametrize(
    ("x", "y"),
    [([], []), ([1], [2]), ([1, 2], [1, 2]), ([1, 1, 1], [1, 2, 3]), ([1, 2, 3], [4, 4, 4])],
    ids=["empty", "one", "two", "x tied", "y tied"],
)
def test_there_is_none_for_too_few_or_for_ties_alone(x, y):
    assert kendall_tau(x, y) is None


@pytest.mark.parametrize(("x", "y"), [([1, 2, 3], [1, 2]), ([[1, 2, 3]], [[1, 2, 3]])])
def test_other_shapes_are_refused(x, y):
    with pytest.raises(ValueError, match=r"kendall_tau: x has shape .* Fix: "):
        kendall_tau(x, y)


def test_noise_below_the_resolution_ties():
    weights = [0.97, 1e-6, 2e-6, 3e-6]
    changes = [0.9, 4e-5, 3e-5, 2e-5]
    assert kendall_tau(weights, changes) == pytest.approx(0.0)
    assert kendall_tau(rounded(weights), rounded(changes)) == pytest.approx(1.0)
