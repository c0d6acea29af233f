"""FusedAdam against the formula in NumPy and against Keras' Adam."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from attention_zoo.training.fused_adam import FusedAdam

SHAPES = ((7, 5), (11,), (3, 2, 2))
OPTIONS = {"beta_1": 0.87, "beta_2": 0.96, "epsilon": 1e-3}


def drawn(seed):
    generator = np.random.default_rng(seed)
    return [generator.normal(size=shape).astype(np.float32) for shape in SHAPES]


def run(optimizer, steps=9, learning_rates=None):
    """The variables after steps whose gradients are drawn, the same for every optimizer."""
    variables = [keras.Variable(value) for value in drawn(0)]
    for step in range(steps):
        if learning_rates is not None:
            optimizer.learning_rate = learning_rates[step]
        gradients = [tf.constant(gradient) for gradient in drawn(1 + step)]
        optimizer.apply(gradients, variables)
    return variables


def test_is_the_formula():
    """Algorithm 1 of Kingma and Ba, epsilon outside the correction: w -= a m / (sqrt v + e)."""
    rate, b1, b2, epsilon = 0.03, *OPTIONS.values()
    weights = [value.astype(np.float64) for value in drawn(0)]
    m, v = ([np.zeros(shape) for shape in SHAPES] for _ in range(2))
    for t in range(1, 10):
        for i, g in enumerate(drawn(t)):
            m[i] = b1 * m[i] + (1 - b1) * g
            v[i] = b2 * v[i] + (1 - b2) * g.astype(np.float64) ** 2
            rate_t = rate * np.sqrt(1 - b2**t) / (1 - b1**t)
            weights[i] -= rate_t * m[i] / (np.sqrt(v[i]) + epsilon)
    for variable, expected in zip(run(FusedAdam(rate, **OPTIONS)), weights, strict=True):
        np.testing.assert_allclose(variable, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "options",
    [
        OPTIONS,
        {"global_clipnorm": 0.3},
        {"clipvalue": 0.1},
        {"weight_decay": 0.1},
        {"amsgrad": True},
    ],
)
def test_is_keras_adam(options):
    rates = np.linspace(0.1, 0.01, 9)
    one, other = (
        run(kind(0.1, **options), learning_rates=rates)
        for kind in (FusedAdam, keras.optimizers.Adam)
    )
    for ours, theirs in zip(one, other, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


def test_its_state_is_that_of_keras_adam():
    """So that a checkpoint of one is taken up by the other."""
    ours, theirs = FusedAdam(0.02, **OPTIONS), keras.optimizers.Adam(0.02, **OPTIONS)
    run(ours), run(theirs)
    assert len(ours.variables) == len(theirs.variables)
    for one, other in zip(ours.variables, theirs.variables, strict=True):
        assert one.shape == other.shape
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-7)


def test_a_sparse_gradient_is_that_of_the_formula():
    """Rows that a batch does not use go on by their momentum; those used twice get the sum."""
    batches = ([0, 3, 3], [5, 1, 0], [2, 2, 2])

    def trained(optimizer, is_sparse):
        variable = keras.Variable(drawn(0)[0])
        for rows in batches:
            values = tf.constant(np.random.default_rng(rows[0]).normal(size=(3, 5)), tf.float32)
            gradient = tf.IndexedSlices(values, tf.constant(rows), tf.constant([7, 5]))
            if not is_sparse:
                gradient = tf.convert_to_tensor(gradient)
            optimizer.apply([gradient], [variable])
        return variable.numpy()

    expected = trained(keras.optimizers.Adam(0.1), is_sparse=False)
    np.testing.assert_allclose(trained(FusedAdam(0.1), True), expected, rtol=1e-4, atol=1e-5)


def run_compiled(jit_compile):
    """Variables and count of steps after three steps in a graph."""
    optimizer = FusedAdam(0.05)
    variables = [keras.Variable(value) for value in drawn(0)]
    optimizer.build(variables)

    @tf.function(jit_compile=jit_compile)
    def step(gradients):
        optimizer.apply(gradients, variables)

    for number in range(3):
        step([tf.constant(value) for value in drawn(1 + number)])
    return variables, int(optimizer.iterations)


@pytest.mark.parametrize("jit_compile", [False, True])
def test_works_inside_a_graph_and_under_xla(jit_compile):
    variables, steps = run_compiled(jit_compile)
    assert steps == 3
    for found, expected in zip(variables, run(FusedAdam(0.05), steps=3), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_the_average_forgets_the_start():
    """a_k = m_k a_{k-1} + (1 - m_k) w_k with m_k = min(momentum, (k - 1) / (k + 8))."""
    momentum = 0.15  # reached in the third step
    optimizer = FusedAdam(0.05, use_ema=True, ema_momentum=momentum)
    variables = [keras.Variable(value) for value in drawn(0)]
    optimizer.build(variables)
    averages = [np.full(shape, np.inf) for shape in SHAPES]  # counts for nothing
    used = []
    for k in range(1, 6):
        optimizer.apply([tf.constant(value) for value in drawn(k)], variables)
        m = min(momentum, (k - 1) / (k + 8))
        used.append(m)
        averages = [
            (m * a if m else 0.0) + (1 - m) * w.numpy()
            for a, w in zip(averages, variables, strict=True)
        ]
        for found, expected in zip(
            optimizer._model_variables_moving_average, averages, strict=True
        ):
            np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    assert 0 == used[0] < used[1] < used[2] == used[4] == momentum


def test_config_round_trip():
    optimizer = FusedAdam(0.02, **OPTIONS, use_ema=True, ema_momentum=0.7, global_clipnorm=2.0)
    again = keras.optimizers.deserialize(keras.optimizers.serialize(optimizer))
    assert type(again) is FusedAdam
    assert again.get_config() == optimizer.get_config()
