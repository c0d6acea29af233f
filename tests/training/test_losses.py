"""MaskedCrossEntropy against its formula in NumPy."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from attention_zoo.layers.shapes import ShapeError
from attention_zoo.training import MaskedCrossEntropy
from attention_zoo.vocabulary import PAD

BATCH, T_DEC, VOCAB = 3, 5, 7


def random_batch(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    target = generator.integers(1, VOCAB, (BATCH, T_DEC)).astype(np.int32)
    target[0, 2:] = PAD
    target[2, 4:] = PAD
    return target, generator.normal(size=(BATCH, T_DEC, VOCAB)).astype(np.float32)


def token_nll(target: np.ndarray, logits: np.ndarray, smoothing: float = 0.0) -> np.ndarray:
    logits = logits.astype(np.float64)
    log_p = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    wanted = np.full(logits.shape, smoothing / VOCAB)
    for b in range(target.shape[0]):
        for t in range(target.shape[1]):
            wanted[b, t, target[b, t]] += 1.0 - smoothing
    return -(wanted * log_p).sum(-1)


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.37])
def test_is_the_mean_over_real_tokens(smoothing):
    target, logits = random_batch()
    nll = token_nll(target, logits, smoothing)
    expected = nll[target != PAD].mean()
    loss = MaskedCrossEntropy(label_smoothing=smoothing)(target, logits)
    np.testing.assert_allclose(loss, expected, rtol=1e-5)


def test_long_and_short_sequences_weigh_by_their_tokens():
    """Not the mean of the sequences' means."""
    target, logits = random_batch()
    nll = token_nll(target, logits)
    means = [nll[b][target[b] != PAD].mean() for b in range(BATCH)]
    assert abs(float(MaskedCrossEntropy()(target, logits)) - np.mean(means)) > 1e-3


def test_what_stands_at_padding_does_not_matter():
    target, logits = random_batch()
    changed = np.where((target == PAD)[..., None], 1e4, logits)
    assert float(MaskedCrossEntropy()(target, logits)) == float(
        MaskedCrossEntropy()(target, changed)
    )


def test_more_padding_does_not_matter():
    target, logits = random_batch()
    wider = np.pad(target, ((0, 0), (0, 6)))
    padded = np.pad(logits, ((0, 0), (0, 6), (0, 0)))
    np.testing.assert_allclose(
        MaskedCrossEntropy()(target, logits), MaskedCrossEntropy()(wider, padded), rtol=1e-6
    )


def test_padding_alone_costs_nothing_and_has_no_gradient():
    logits = tf.Variable(random_batch()[1])
    with tf.GradientTape() as tape:
        loss = MaskedCrossEntropy(0.1)(np.zeros((BATCH, T_DEC), np.int32), logits)
    assert float(loss) == 0.0
    np.testing.assert_array_equal(tape.gradient(loss, logits), np.zeros(logits.shape))


def test_gradient_is_zero_at_padding_only():
    target, logits = random_batch()
    logits = tf.Variable(logits)
    with tf.GradientTape() as tape:
        loss = MaskedCrossEntropy()(target, logits)
    moved = np.abs(tape.gradient(loss, logits)).max(-1) > 0
    np.testing.assert_array_equal(moved, target != PAD)


@pytest.mark.parametrize("jit_compile", [False, True])
@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.37])
def test_gradient_is_the_formula(smoothing, jit_compile):
    """w_t (softmax(z_t)[v] - (1 - e) [v = y_t] - e/V) / sum w, for weights of tokens."""
    target, logits = random_batch()
    weight = np.random.default_rng(3).uniform(size=target.shape)
    full = weight * (target != PAD)
    exact = logits.astype(np.float64)
    softmax = np.exp(exact) / np.exp(exact).sum(-1, keepdims=True)
    slope = softmax - smoothing / VOCAB - (1 - smoothing) * np.eye(VOCAB)[target]
    expected = slope * (full / full.sum())[..., None]

    @tf.function(jit_compile=jit_compile)
    def gradient(logits):
        with tf.GradientTape() as tape:
            tape.watch(logits)
            loss = MaskedCrossEntropy(smoothing)(target, logits, sample_weight=weight)
        return tape.gradient(loss, logits)

    np.testing.assert_allclose(gradient(tf.constant(logits)), expected, rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_gradient_of_half_precision_logits_has_their_type(dtype):
    target, logits = random_batch()
    exact = tf.Variable(tf.cast(tf.cast(logits, dtype), "float32"))
    half = tf.Variable(tf.cast(logits, dtype))
    with tf.GradientTape() as tape:
        loss = MaskedCrossEntropy(0.1)(target, exact)
    expected = tape.gradient(loss, exact)
    with tf.GradientTape() as tape:
        loss = MaskedCrossEntropy(0.1)(target, half)
    found = tape.gradient(loss, half)
    assert found.dtype == dtype
    np.testing.assert_allclose(tf.cast(found, "float32"), expected, rtol=1e-2, atol=1e-5)


def test_weight_of_a_sequence():
    target, logits = random_batch()
    weight = np.array([2.0, 0.0, 0.5])
    full = weight[:, None] * (target != PAD)
    expected = (token_nll(target, logits) * full).sum() / full.sum()
    loss = MaskedCrossEntropy()(target, logits, sample_weight=weight)
    np.testing.assert_allclose(loss, expected, rtol=1e-5)


def test_weight_of_a_token():
    target, logits = random_batch()
    weight = np.random.default_rng(3).uniform(size=target.shape)
    full = weight * (target != PAD)
    expected = (token_nll(target, logits) * full).sum() / full.sum()
    loss = MaskedCrossEntropy()(target, logits, sample_weight=weight)
    np.testing.assert_allclose(loss, expected, rtol=1e-5)


def test_reduction_sum():
    target, logits = random_batch()
    loss = MaskedCrossEntropy(reduction="sum")(target, logits)
    np.testing.assert_allclose(loss, token_nll(target, logits)[target != PAD].sum(), rtol=1e-5)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_logits_are_handled_in_float32(dtype):
    target, logits = random_batch()
    half = tf.cast(logits * 30.0, dtype)  # exp(30) is beyond float16
    exact = tf.cast(half, "float32").numpy()
    loss = MaskedCrossEntropy()(target, half)
    assert loss.dtype == tf.float32
    np.testing.assert_allclose(loss, token_nll(target, exact)[target != PAD].mean(), rtol=1e-5)


def test_is_float32_under_a_half_precision_policy():
    target, logits = random_batch()
    before = keras.config.floatx()
    keras.config.set_floatx("float16")
    try:
        loss = MaskedCrossEntropy()(target, logits)
    finally:
        keras.config.set_floatx(before)
    assert loss.dtype == tf.float32


@pytest.mark.parametrize("jit_compile", [False, True])
def test_graph_and_xla_give_what_eager_gives(jit_compile):
    target, logits = random_batch()
    loss = MaskedCrossEntropy(0.1)
    compiled = tf.function(lambda y, z: loss(y, z), jit_compile=jit_compile)
    np.testing.assert_allclose(compiled(target, logits), loss(target, logits), rtol=1e-6)


def test_config_round_trip():
    loss = MaskedCrossEntropy(label_smoothing=0.2, reduction="sum", name="mine")
    again = keras.losses.deserialize(keras.losses.serialize(loss))
    assert type(again) is MaskedCrossEntropy
    assert again.get_config() == loss.get_config()
    assert again.label_smoothing == 0.2


@pytest.mark.parametrize("smoothing", [-0.1, 1.0])
def test_label_smoothing_out_of_range(smoothing):
    with pytest.raises(ValueError, match=r"label_smoothing must be in \[0, 1\).*Fix"):
        MaskedCrossEntropy(smoothing)


@pytest.mark.parametrize(
    ("target_shape", "logits_shape", "named"),
    [
        ((3, 5), (3, 4, 7), "logits"),
        ((1, 5), (3, 5, 7), "target|logits"),
        ((3, 5, 7), (3, 5, 7), "target"),
        ((3, 5), (3, 7), "logits"),
    ],
)
def test_shapes_that_do_not_belong_together(target_shape, logits_shape, named):
    with pytest.raises(ShapeError, match=named):
        MaskedCrossEntropy()(np.ones(target_shape, np.int32), np.ones(logits_shape, np.float32))


@pytest.mark.parametrize("shape", [(5,), (3, 1), (3, 4), (3, 5, 1)])
def test_weights_are_not_broadcast(shape):
    target, logits = random_batch()
    with pytest.raises(ShapeError, match="sample_weight"):
        MaskedCrossEntropy()(target, logits, sample_weight=np.ones(shape))
