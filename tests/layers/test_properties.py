"""What holds for attention over any input: properties tried on drawn examples."""

import functools

import keras
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from attention_zoo.layers import masked_softmax

SETTINGS = settings(max_examples=15, deadline=None)
seeds = st.integers(0, 2**16)


@functools.cache
def built(make, d_s, d_h):
    layer = make()
    layer([np.zeros((1, d_s), "float32"), np.zeros((1, 1, d_h), "float32")])
    return layer


@st.composite
def batches(draw):
    """(batch, T_dec, T_enc, mask, rng); masks have holes and rows without any real step."""
    batch, steps, length = (draw(st.integers(1, n)) for n in (3, 3, 7))
    mask = draw(
        st.lists(
            st.lists(st.booleans(), min_size=length, max_size=length),
            min_size=batch,
            max_size=batch,
        )
    )
    return batch, steps, length, np.array(mask), np.random.default_rng(draw(seeds))


def attend(mechanism, query, memory, mask):
    make, sizes = mechanism
    layer = built(make, sizes["d_s"], sizes["d_h"])
    outputs = layer([query, memory], mask=[None, mask], return_attention_scores=True)
    return tuple(np.asarray(x) for x in outputs)


def inputs_of(mechanism, drawn):
    batch, steps, length, mask, rng = drawn
    sizes = mechanism[1]
    query = rng.normal(size=(batch, steps, sizes["d_s"])).astype("float32")
    memory = rng.normal(size=(batch, length, sizes["d_h"])).astype("float32")
    return query, memory, mask


def over_heads(mask, weights):
    """mask (batch, T_enc) in the axes of weights (batch, [n_heads,] T_dec, T_enc)."""
    return np.broadcast_to(
        mask.reshape(len(mask), *[1] * (weights.ndim - 2), mask.shape[1]), weights.shape
    )


@given(drawn=batches())
@SETTINGS
def test_weights_sum_to_one_over_real_steps_and_are_zero_elsewhere(mechanism, drawn):
    query, memory, mask = inputs_of(mechanism, drawn)
    context, weights = attend(mechanism, query, memory, mask)
    real = over_heads(mask, weights)
    assert (weights[~real] == 0).all()
    assert (weights >= 0).all()
    np.testing.assert_allclose(weights.sum(axis=-1), real.any(axis=-1), atol=1e-5)
    assert (context[~mask.any(axis=-1)] == 0).all()


@given(drawn=batches(), extra=st.integers(1, 3), fill=st.sampled_from([0.0, 1e4, -1e4]))
@SETTINGS
def test_more_padding_changes_nothing(mechanism, drawn, extra, fill):
    query, memory, mask = inputs_of(mechanism, drawn)
    context, weights = attend(mechanism, query, memory, mask)
    padded = np.concatenate([memory, np.full_like(memory[:, :1], fill).repeat(extra, 1)], axis=1)
    longer = np.concatenate([mask, np.zeros((len(mask), extra), bool)], axis=1)
    context_2, weights_2 = attend(mechanism, query, padded, longer)
    np.testing.assert_allclose(context_2, context, atol=1e-5)
    np.testing.assert_allclose(weights_2[..., : mask.shape[1]], weights, atol=1e-5)
    assert (weights_2[..., mask.shape[1] :] == 0).all()


@given(drawn=batches())
@SETTINGS
def test_what_stands_in_padding_changes_nothing(mechanism, drawn):
    query, memory, mask = inputs_of(mechanism, drawn)
    other = np.where(mask[..., None], memory, 1e4).astype("float32")
    for x, y in zip(
        attend(mechanism, query, memory, mask), attend(mechanism, query, other, mask), strict=True
    ):
        np.testing.assert_allclose(x, y, atol=1e-5)


@given(drawn=batches())
@SETTINGS
def test_permuting_encoder_steps_permutes_weights_and_leaves_the_context(mechanism, drawn):
    query, memory, mask = inputs_of(mechanism, drawn)
    order = drawn[-1].permutation(mask.shape[1])
    context, weights = attend(mechanism, query, memory, mask)
    context_2, weights_2 = attend(mechanism, query, memory[:, order], mask[:, order])
    np.testing.assert_allclose(weights_2, weights[..., order], atol=1e-5)
    np.testing.assert_allclose(context_2, context, atol=1e-5)


@given(drawn=batches())
@SETTINGS
def test_rows_of_a_batch_do_not_meet(mechanism, drawn):
    query, memory, mask = inputs_of(mechanism, drawn)
    batch = attend(mechanism, query, memory, mask)
    for i in range(len(query)):
        for x, y in zip(
            batch,
            attend(mechanism, query[i : i + 1], memory[i : i + 1], mask[i : i + 1]),
            strict=True,
        ):
            np.testing.assert_allclose(x[i], y[0], atol=1e-5)


@given(
    scores=st.lists(st.floats(-(2.0**99), 2.0**99, width=32), min_size=1, max_size=7),
    holes=st.lists(st.booleans(), min_size=7, max_size=7),
)
@settings(max_examples=60, deadline=None)
def test_masked_softmax_is_softmax_over_what_is_left(scores, holes):
    scores, mask = np.array(scores, "float32"), np.array(holes[: len(scores)])
    weights = np.asarray(masked_softmax(keras.ops.convert_to_tensor(scores[None]), mask[None]))[0]
    assert np.isfinite(weights).all()
    expected = np.zeros(len(scores))
    if mask.any():
        e = np.exp((scores[mask] - scores[mask].max()).astype("float64"))
        expected[mask] = e / e.sum()
    np.testing.assert_allclose(weights, expected, atol=1e-6)


@given(shift=st.floats(-1e3, 1e3, width=32), seed=seeds)
@settings(max_examples=20, deadline=None)
def test_masked_softmax_does_not_feel_a_shift(shift, seed):
    rng = np.random.default_rng(seed)
    scores, mask = rng.normal(size=(2, 3, 5)).astype("float32"), rng.random((2, 1, 5)) < 0.6
    plain, shifted = (
        np.asarray(masked_softmax(keras.ops.convert_to_tensor(x), mask))
        for x in (scores, scores + np.float32(shift))
    )
    np.testing.assert_allclose(plain, shifted, atol=1e-3)


def test_masked_softmax_in_float16_near_its_limits():
    scores = keras.ops.convert_to_tensor(np.array([[-6e4, 6e4, -32.0], [6e4, 6e4, 6e4]], "float16"))
    mask = np.array([[True, True, True], [True, True, False]])
    weights = masked_softmax(scores, mask)
    assert keras.backend.standardize_dtype(weights.dtype) == "float16"
    np.testing.assert_array_equal(weights, [[0, 1, 0], [0.5, 0.5, 0]])
    alone = masked_softmax(keras.ops.convert_to_tensor(np.full((1, 3), -32.0, "float16")))
    np.testing.assert_allclose(np.asarray(alone, "float32"), 1 / 3, atol=1e-3)
