"""Distances of distributions against their definitions and laws."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from attention_zoo.explain.check_distances import (
    LARGEST_DIVERGENCE,
    jensen_shannon,
    total_variation,
)


@st.composite
def distributions(draw, count=2):
    """Distributions over the same 1 to 7 outcomes, zeros among them."""
    size = draw(st.integers(1, 7))
    values = draw(arrays("float64", (count, size), elements=st.floats(0, 1)))
    values[:, draw(st.integers(0, size - 1))] += 0.125  # no row of zeros
    return values / values.sum(axis=1, keepdims=True)


@given(distributions())
def test_total_variation_is_a_distance_within_0_and_1(pair):
    p, q = pair
    assert 0.0 <= total_variation(p, q) <= 1.0
    assert total_variation(p, q) == total_variation(q, p)
    assert total_variation(p, p) == 0.0


@given(distributions())
def test_total_variation_is_the_largest_change_of_any_event(pair):
    p, q = pair
    assert total_variation(p, q) == pytest.approx((p - q)[p > q].sum(), abs=1e-12)


@given(distributions())
def test_divergence_is_within_0_and_ln_2(pair):
    p, q = pair
    assert 0.0 <= jensen_shannon(p, q) <= LARGEST_DIVERGENCE == pytest.approx(np.log(2))
    assert jensen_shannon(p, q) == pytest.approx(jensen_shannon(q, p), abs=1e-12)
    assert jensen_shannon(p, p) == pytest.approx(0.0, abs=1e-12)
    # Pinsker's inequality for the two halves: none is small where the other is large
    assert jensen_shannon(p, q) >= total_variation(p, q) ** 2 / 2 - 1e-12


@given(distributions(), st.floats(0, 1), st.floats(0, 1))
def test_divergence_grows_along_a_straight_line(pair, one, other):
    p, q = pair
    near, far = sorted((one, other))
    on_line = [p + share * (q - p) for share in (near, far)]
    assert jensen_shannon(on_line[0], p) <= jensen_shannon(on_line[1], p) + 1e-9


@pytest.mark.parametrize(
    ("share", "divergence"), [(0.2, 0.07), (0.5, 0.22), (0.8, 0.42), (1, 0.69)]
)
def test_the_scale_that_the_docstring_gives(share, divergence):
    assert jensen_shannon([1, 0], [1 - share, share]) == pytest.approx(divergence, abs=0.005)


def test_rows_are_compared_one_by_one():
    p = np.array([[0.5, 0.5], [1.0, 0.0], [0.25, 0.75]])
    q = np.array([[0.5, 0.5], [0.0, 1.0], [0.75, 0.25]])
    np.testing.assert_allclose(total_variation(p, q), [0.0, 1.0, 0.5])
    assert jensen_shannon(p, q).shape == (3,)
