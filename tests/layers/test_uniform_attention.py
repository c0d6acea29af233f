"""Weights that cannot choose."""

import numpy as np
import pytest

from attention_zoo.layers import ShapeError, UniformAttention


def draw(*shape):
    return np.random.default_rng(shape).normal(size=shape).astype("float32")


@pytest.mark.parametrize("steps", [(), (7,)], ids=["one query", "queries"])
def test_real_steps_share_the_weight_and_padding_has_none(steps):
    mask = np.arange(5) < np.array([5, 3, 0])[:, None]
    layer = UniformAttention()
    context, weights = layer(
        [draw(3, *steps, 13), draw(3, 5, 17)], mask=[None, mask], return_attention_scores=True
    )
    expected = mask / np.maximum(mask.sum(axis=1, keepdims=True), 1)
    if steps:
        expected = np.repeat(expected[:, None], 7, axis=1)
    np.testing.assert_allclose(weights, expected, atol=1e-7)
    assert not np.asarray(context)[2].any()
    assert layer.weights == []


def test_other_widths_than_it_was_built_for_are_refused():
    layer = UniformAttention()
    layer([draw(3, 13), draw(3, 5, 17)])
    with pytest.raises(ShapeError, match=r"memory.*expected.*d_h.* = \(3, 5, 17\).*Fix: "):
        layer([draw(3, 13), draw(3, 5, 19)])


def test_no_query_changes_anything():
    layer, memory = UniformAttention(), draw(3, 5, 17)
    first, second = (np.asarray(layer([q, memory])) for q in (draw(3, 13), 1e30 * draw(3, 13)))
    np.testing.assert_array_equal(first, second)
    np.testing.assert_allclose(first, memory.mean(axis=1), atol=1e-6)
