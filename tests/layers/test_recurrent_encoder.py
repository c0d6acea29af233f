"""The encoder against Keras' own recurrent layers."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from attention_zoo import layers

BATCH, T_ENC, D_EMB, UNITS = 3, 5, 11, 7


def draw(*shape, seed=0):
    return np.random.default_rng([seed, *shape]).normal(size=shape).astype("float32")


def draw_mask():
    return np.arange(T_ENC) < np.array([[5], [2], [3]])


def keras_layer(kind, cell, reverse, mask_free_input):
    """Keras' GRU or LSTM with the weights of a cell of the encoder."""
    make = {"gru": keras.layers.GRU, "lstm": keras.layers.LSTM}[kind]
    layer = make(UNITS, return_sequences=True, return_state=True, go_backwards=reverse)
    layer(mask_free_input)
    layer.set_weights(cell.get_weights())
    return layer


@pytest.mark.parametrize("kind", ["gru", "lstm"])
@pytest.mark.parametrize("bidirectional", [False, True], ids=["one", "both"])
def test_equals_keras(kind, bidirectional):
    encoder = layers.RecurrentEncoder(UNITS, kind, bidirectional=bidirectional)
    x, mask = draw(BATCH, T_ENC, D_EMB), draw_mask()
    encoder(x)
    for weight in encoder.weights:  # biases start as zeros and would hide an error
        weight.assign(draw(*weight.shape, seed=3) * 0.5)
    result = encoder(x, mask=mask)
    expected, states = [], []
    for i, cell in enumerate(encoder.cells[0]):
        own = keras_layer(kind, cell, i == 1, x)
        outputs, *final = own(x, mask=mask)
        outputs = np.asarray(outputs)
        expected.append(outputs[:, ::-1] if i == 1 else outputs)
        states.append([np.asarray(s) for s in final])
    expected = np.concatenate(expected, axis=-1)
    # Keras repeats the last output over padding; the encoder gives 0 there
    memory = np.asarray(result["memory"])
    np.testing.assert_allclose(memory[mask], expected[mask], atol=1e-5)
    assert not memory[~mask].any()
    for got, *wanted in zip(result["states"][0], *states, strict=True):
        np.testing.assert_allclose(got, np.concatenate(wanted, axis=-1), atol=1e-5)


@pytest.mark.parametrize("bidirectional", [False, True], ids=["one", "both"])
def test_padding_changes_nothing(bidirectional):
    encoder = layers.RecurrentEncoder(UNITS, "lstm", n_layers=2, bidirectional=bidirectional)
    x, mask = draw(BATCH, T_ENC, D_EMB), draw_mask()
    batch = encoder(x, mask=mask)
    for row in range(BATCH):
        n = int(mask[row].sum())
        alone = encoder(x[row : row + 1, :n])
        np.testing.assert_allclose(batch["memory"][row, :n], alone["memory"][0], atol=1e-6)
        for states, own in zip(batch["states"], alone["states"], strict=True):
            for state, wanted in zip(states, own, strict=True):
                np.testing.assert_allclose(state[row], wanted[0], atol=1e-6)


@pytest.mark.parametrize("kind", ["gru", "lstm"])
def test_a_row_of_padding_alone_gives_zeros_and_finite_gradients(kind):
    encoder = layers.RecurrentEncoder(UNITS, kind, n_layers=2, bidirectional=True)
    x, mask = tf.constant(draw(BATCH, T_ENC, D_EMB)), draw_mask()
    mask[1] = False
    with tf.GradientTape() as tape:
        tape.watch(x)
        result = encoder(x, mask=mask)
        loss = tf.reduce_sum(result["memory"] ** 2)
        loss += sum(tf.reduce_sum(s**2) for states in result["states"] for s in states)
    assert not np.asarray(result["memory"])[1].any()
    assert not any(np.asarray(s)[1].any() for states in result["states"] for s in states)
    gradients = tape.gradient(loss, [x, *encoder.trainable_variables])
    assert all(np.isfinite(np.asarray(g)).all() for g in gradients)
    assert not np.asarray(gradients[0])[1].any()


def test_states_and_layers_are_counted_as_the_docstring_says():
    encoder = layers.RecurrentEncoder(UNITS, "lstm", n_layers=3, bidirectional=True)
    result = encoder(draw(BATCH, T_ENC, D_EMB))
    assert result["memory"].shape == (BATCH, T_ENC, 2 * UNITS)
    assert [[s.shape for s in states] for states in result["states"]] == [
        [(BATCH, 2 * UNITS)] * 2
    ] * 3
    assert encoder.d_h == 2 * UNITS


def test_dropout_stands_between_layers_in_training_alone():
    x = draw(BATCH, T_ENC, D_EMB)
    one = layers.RecurrentEncoder(UNITS, n_layers=1, dropout=0.5)
    np.testing.assert_array_equal(one(x, training=True)["memory"], one(x)["memory"])
    two = layers.RecurrentEncoder(UNITS, n_layers=2, dropout=0.5, seed=1)
    assert np.abs(np.asarray(two(x, training=True)["memory"] - two(x)["memory"])).max() > 1e-3
    np.testing.assert_array_equal(two(x)["memory"], two(x)["memory"])


@pytest.mark.parametrize("policy", ["float16", "mixed_float16", "mixed_bfloat16"])
def test_a_dtype_of_its_own_reaches_every_layer(policy):
    encoder = layers.RecurrentEncoder(
        UNITS, n_layers=2, bidirectional=True, dropout=0.5, dtype=policy
    )
    result = encoder(draw(BATCH, T_ENC, D_EMB), training=True)
    compute = policy.removeprefix("mixed_")
    assert keras.backend.standardize_dtype(result["memory"].dtype) == compute
    policies = {part.dtype_policy.name for part in encoder._flatten_layers()}
    assert policies == {policy}


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"units": 0}, "units"),
        ({"units": 7.0}, "units"),
        ({"units": 7, "cell": "rnn"}, "cell"),
        ({"units": 7, "n_layers": 0}, "n_layers"),
        ({"units": 7, "dropout": 1.0}, "dropout"),
        ({"units": 7, "dropout": -1}, "dropout"),
    ],
)
def test_refuses_an_argument_by_name(arguments, name):
    with pytest.raises(ValueError, match=f"RecurrentEncoder: {name} is .*; expected .*Fix: "):
        layers.RecurrentEncoder(**arguments)
