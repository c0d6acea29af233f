"""Weights against another measure, step by step."""

import numpy as np
import pytest

from attention_zoo.explain.check_agreement import agreement


def test_steps_without_a_tau_are_counted_and_in_no_mean():
    weights = np.array([[0.5, 0.3, 0.2], [1 / 3, 1 / 3, 1 / 3], [0.2, 0.3, 0.5]])
    importance = np.array([[0.9, 0.5, 0.1], [0.9, 0.5, 0.1], [0.9, 0.5, 0.1]])
    found = agreement(weights, importance)
    assert found.taus == pytest.approx((1.0, None, -1.0))
    assert found.without_tau == 1
    assert found.mean_tau == pytest.approx(0.0)
    # uniform weights have no top token either
    assert found.same_top == (True, None, False)
    assert found.share_of_same_top == 0.5


@pytest.mark.parametrize("n_tokens", [1, 2])
def test_rows_too_short_for_a_tau_have_none(n_tokens):
    found = agreement(np.eye(2, n_tokens), np.eye(2, n_tokens))
    assert found.taus == (None, None)
    assert found.without_tau == 2
    assert found.mean_tau is None
    assert found.share_of_same_top == (None if n_tokens == 1 else 1.0)


def test_the_fine_tau_is_that_of_the_values_as_they_are():
    weights = np.array([[0.97, 0.001, 0.002, 0.003]])
    importance = np.array([[0.9, 0.003, 0.002, 0.001]])
    found = agreement(weights, importance)
    assert found.taus == pytest.approx((1.0,))
    assert found.fine_taus == pytest.approx((0.0,))
    assert found.mean_fine_tau == pytest.approx(0.0)
