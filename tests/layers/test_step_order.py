"""Cells and decoder against the papers' order of steps, re-written in NumPy."""

import keras
import numpy as np
import pytest

from attention_zoo import layers

TOLERANCE = 1e-5
BATCH, T_ENC, T_DEC, D_EMB, D_H, D_S = 3, 5, 7, 11, 17, 13


def draw(*shape, seed=0):
    return np.random.default_rng([seed, *shape]).normal(size=shape).astype("float32")


def draw_mask():
    return np.arange(T_ENC) < np.array([[5], [2], [3]])


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def numpy_gru(cell, x, h):
    """Keras' GRU with reset_after: gates in the order z, r, h; (batch, d_in), (batch, units)."""
    kernel, recurrent, bias = (w.numpy() for w in cell.weights)
    x_z, x_r, x_h = np.split(x @ kernel + bias[0], 3, axis=-1)
    h_z, h_r, h_h = np.split(h @ recurrent + bias[1], 3, axis=-1)
    z, r = sigmoid(x_z + h_z), sigmoid(x_r + h_r)
    return z * h + (1 - z) * np.tanh(x_h + r * h_h)


def numpy_context(numpy_attention, mechanism, query, memory, mask):
    """Contexts (batch, d_h) and weights (batch, T_enc) of one step, padding left out."""
    contexts, rows = [], np.zeros(mask.shape)
    for i in range(len(query)):
        context, weights = numpy_attention(mechanism, query[i], memory[i][mask[i]])
        contexts.append(context)
        rows[i, mask[i]] = weights
    return np.stack(contexts), rows


def spread_bias(layer):
    """Biases start as zeros and would hide an error; draw them."""
    for weight in layer.weights:
        if weight.name == "bias":
            weight.assign(draw(*weight.shape, seed=9))


def decode(decoder, inputs, memory, mask, states):
    result = decoder(
        inputs,
        memory=memory,
        memory_mask=mask,
        initial_state=states,
        return_alignments=True,
    )
    return {
        name: [np.asarray(s) for s in x] if name == "states" else np.asarray(x)
        for name, x in result.items()
    }


def test_bahdanau_looks_with_the_state_from_before_the_step(numpy_attention):
    mechanism = layers.BahdanauAttention(19)
    decoder = layers.AttentionDecoder(layers.BahdanauCell(keras.layers.GRUCell(D_S), mechanism))
    y, memory, mask, s = draw(BATCH, T_DEC, D_EMB), draw(BATCH, T_ENC, D_H), draw_mask(), None
    s = draw(BATCH, D_S)
    decode(decoder, y, memory, mask, [s])
    spread_bias(decoder)
    got = decode(decoder, y, memory, mask, [s])
    gru = decoder.cell.cell
    for t in range(T_DEC):
        c, a = numpy_context(numpy_attention, mechanism, s, memory, mask)
        s = numpy_gru(gru, np.concatenate([y[:, t], c], axis=-1), s)
        np.testing.assert_allclose(got["contexts"][:, t], c, atol=TOLERANCE)
        np.testing.assert_allclose(got["alignments"][:, t], a, atol=TOLERANCE)
        np.testing.assert_allclose(got["outputs"][:, t], s, atol=TOLERANCE)
    np.testing.assert_allclose(got["states"][0], s, atol=TOLERANCE)


def conditional_cell(make=keras.layers.GRUCell, **options):
    return layers.ConditionalCell(make(D_S, **options), make(D_S), layers.BahdanauAttention(19))


def test_conditional_looks_with_the_state_between_its_two_steps(numpy_attention):
    cell = conditional_cell()
    decoder = layers.AttentionDecoder(cell)
    y, memory, mask = draw(BATCH, T_DEC, D_EMB), draw(BATCH, T_ENC, D_H), draw_mask()
    s = draw(BATCH, D_S)
    decode(decoder, y, memory, mask, [s])
    spread_bias(decoder)
    got = decode(decoder, y, memory, mask, [s])
    for t in range(T_DEC):
        between = numpy_gru(cell.cell, y[:, t], s)
        c, a = numpy_context(numpy_attention, cell.mechanism, between, memory, mask)
        s = numpy_gru(cell.second, c, between)
        np.testing.assert_allclose(got["contexts"][:, t], c, atol=TOLERANCE)
        np.testing.assert_allclose(got["alignments"][:, t], a, atol=TOLERANCE)
        np.testing.assert_allclose(got["outputs"][:, t], s, atol=TOLERANCE)
    np.testing.assert_allclose(got["states"][0], s, atol=TOLERANCE)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda gru: layers.ConditionalCell(
                gru(7), keras.layers.LSTMCell(7), layers.BahdanauAttention(3)
            ),
            r"second is LSTMCell .* expected .* GRUCell .*Fix: make both alike",
        ),
        (
            lambda gru: layers.ConditionalCell(gru(7), gru(5), layers.BahdanauAttention(3)),
            r"second is GRUCell with states of 5; expected .* states of 7",
        ),
        (
            lambda gru: conditional_cell(gru, dropout=0.5),
            r"cell is GRUCell .*Fix: leave out dropout",
        ),
        (
            lambda gru: conditional_cell(gru, reset_after=False),
            r"leave out dropout and reset_after",
        ),
    ],
    ids=["another kind", "another width", "dropout", "reset before"],
)
def test_cells_that_make_no_pair_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make(keras.layers.GRUCell)


@pytest.mark.parametrize("score", ["general", "concat"])
@pytest.mark.parametrize("input_feeding", [False, True], ids=["plain", "feeding"])
def test_luong_looks_with_the_state_from_after_the_step(numpy_attention, score, input_feeding):
    mechanism, width = layers.LuongAttention(score), 23
    cell = layers.LuongCell(
        keras.layers.GRUCell(D_S), mechanism, units=width, input_feeding=input_feeding
    )
    decoder = layers.AttentionDecoder(cell)
    y, memory, mask = draw(BATCH, T_DEC, D_EMB), draw(BATCH, T_ENC, D_H), draw_mask()
    s = draw(BATCH, D_S)
    decode(decoder, y, memory, mask, [s])
    spread_bias(decoder)
    got = decode(decoder, y, memory, mask, [s])
    attentional = np.zeros((BATCH, width))
    for t in range(T_DEC):
        x = np.concatenate([y[:, t], attentional], axis=-1) if input_feeding else y[:, t]
        s = numpy_gru(cell.cell, x, s)
        c, a = numpy_context(numpy_attention, mechanism, s, memory, mask)
        attentional = np.tanh(np.concatenate([c, s], axis=-1) @ cell.W_c.numpy())
        np.testing.assert_allclose(got["contexts"][:, t], c, atol=TOLERANCE)
        np.testing.assert_allclose(got["alignments"][:, t], a, atol=TOLERANCE)
        np.testing.assert_allclose(got["outputs"][:, t], attentional, atol=TOLERANCE)
    np.testing.assert_allclose(got["states"][0], s, atol=TOLERANCE)
    assert len(got["states"]) == 1 + input_feeding
    if input_feeding:
        np.testing.assert_allclose(got["states"][1], attentional, atol=TOLERANCE)


CELLS = ["gru", "lstm", "simple", "gru_no_bias", "gru_reset_before", "stack"]


def keras_states(cell):
    return [
        draw(BATCH, width, seed=i) for i, width in enumerate(keras.tree.flatten(state_of(cell)))
    ]


def state_of(cell):
    cells = getattr(cell, "cells", [cell])
    return [c.state_size for c in cells]


@pytest.mark.parametrize("cell_name", CELLS)
@pytest.mark.parametrize("order", ["plain", "bahdanau", "luong", "luong_feeding"])
def test_the_keras_cell_is_called_as_the_order_says(
    numpy_attention, make_decoder_cell, order, cell_name
):
    """The split step of the known cells, and the whole step of the others, against Keras' own."""
    cell = make_decoder_cell(order, cell_name)
    decoder = layers.AttentionDecoder(cell)
    y, memory, mask = draw(BATCH, T_DEC, D_EMB), draw(BATCH, T_ENC, D_H), draw_mask()
    if order == "plain":
        memory = mask = None
    first = keras_states(cell.cell)
    decode(decoder, y, memory, mask, first)
    spread_bias(decoder)
    got = decode(decoder, y, memory, mask, first)

    states = keras.tree.pack_sequence_as(cell.cell.state_size, first)
    states = states if isinstance(states, (list, tuple)) else [states]
    fed = np.zeros((BATCH, cell.output_width), "float32")
    # the state of the top layer that is its output: the first of that layer
    top = sum(len(keras.tree.flatten(s)) for s in state_of(cell.cell)[:-1])
    s = first[top]
    for t in range(T_DEC):
        x = y[:, t]
        if order == "bahdanau":
            c, a = numpy_context(numpy_attention, cell.mechanism, s, memory, mask)
            x = np.concatenate([x, c.astype("float32")], axis=-1)
        elif order == "luong_feeding":
            x = np.concatenate([x, fed], axis=-1)
        s, states = cell.cell(keras.ops.convert_to_tensor(x), states)
        s = output = np.asarray(s)
        if order.startswith("luong"):
            c, a = numpy_context(numpy_attention, cell.mechanism, s, memory, mask)
            output = np.tanh(np.concatenate([c, s], axis=-1) @ cell.W_c.numpy())
            fed = output.astype("float32")
        np.testing.assert_allclose(got["outputs"][:, t], output, atol=TOLERANCE)
        if order != "plain":
            np.testing.assert_allclose(got["contexts"][:, t], c, atol=TOLERANCE)
            np.testing.assert_allclose(got["alignments"][:, t], a, atol=TOLERANCE)
    for got_state, state in zip(got["states"], keras.tree.flatten(states), strict=False):
        np.testing.assert_allclose(got_state, np.asarray(state), atol=TOLERANCE)


ONE_STEP = [
    (order, cell)
    for order in ("plain", "bahdanau", "luong", "luong_feeding", "luong_dot")
    for cell in CELLS
]
ONE_STEP += [("conditional", cell) for cell in ("gru", "lstm", "simple", "gru_no_bias")]


@pytest.mark.parametrize(("order", "cell_name"), ONE_STEP)
def test_one_step_at_a_time_is_the_whole_sequence(make_decoder_cell, order, cell_name):
    cell = make_decoder_cell(order, cell_name)
    decoder = layers.AttentionDecoder(cell)
    d_h = D_S if order == "luong_dot" else D_H
    y, memory, mask = draw(BATCH, T_DEC, D_EMB), draw(BATCH, T_ENC, d_h), draw_mask()
    if order == "plain":
        memory = mask = None
    states = keras_states(cell.cell)
    whole = decode(decoder, y, memory, mask, states)
    prepared = cell.prepare(
        None if memory is None else keras.ops.convert_to_tensor(memory),
        None if mask is None else keras.ops.convert_to_tensor(mask),
    )
    states = cell.initial_states([keras.ops.convert_to_tensor(s) for s in states], prepared)
    for t in range(T_DEC):
        checked = cell(y[:, t], states, memory, mask)
        projected = cell.project_inputs(keras.ops.convert_to_tensor(y[:, t]))
        (output, context, alignments), states = cell.step(
            projected, states, prepared, cell.loop_weights()
        )
        np.testing.assert_allclose(output, whole["outputs"][:, t], atol=1e-6)
        np.testing.assert_allclose(output, checked["output"], atol=1e-6)
        if order == "plain":
            assert context is None
            assert alignments is None
        else:
            np.testing.assert_allclose(context, whole["contexts"][:, t], atol=1e-6)
            np.testing.assert_allclose(alignments, whole["alignments"][:, t], atol=1e-6)
    assert len(states) == len(whole["states"])
    for state, wanted in zip(states, whole["states"], strict=True):
        np.testing.assert_allclose(state, wanted, atol=1e-6)


@pytest.mark.parametrize("order", ["plain", "bahdanau", "conditional", "luong", "luong_feeding"])
def test_a_sequence_in_two_halves_is_the_whole(make_decoder_cell, order):
    """All states that come out go in again, the attentional one among them."""
    decoder = layers.AttentionDecoder(make_decoder_cell(order, "lstm"))
    y, memory, mask = draw(BATCH, T_DEC, D_EMB), draw(BATCH, T_ENC, D_H), draw_mask()
    if order == "plain":
        memory = mask = None
    states = [draw(BATCH, D_S, seed=i) for i in range(2)]
    whole = decode(decoder, y, memory, mask, states)
    half = decode(decoder, y[:, :3], memory, mask, states)
    rest = decode(decoder, y[:, 3:], memory, mask, half["states"])
    outputs = np.concatenate([half["outputs"], rest["outputs"]], axis=1)
    np.testing.assert_allclose(outputs, whole["outputs"], atol=1e-6)


def test_without_an_initial_state_all_states_begin_as_zeros(make_decoder_cell):
    decoder = layers.AttentionDecoder(make_decoder_cell("bahdanau", "lstm"))
    y, memory, mask = draw(BATCH, T_DEC, D_EMB), draw(BATCH, T_ENC, D_H), draw_mask()
    default = decode(decoder, y, memory, mask, None)
    zeros = decode(decoder, y, memory, mask, [np.zeros((BATCH, D_S), "float32")] * 2)
    np.testing.assert_array_equal(default["outputs"], zeros["outputs"])


@pytest.mark.parametrize("order", ["bahdanau", "luong"])
def test_dropout_of_the_keras_cell_works_in_a_graph_and_leaves_nothing_behind(order):
    """Such a cell keeps its dropout mask on itself; a mask of a graph must not leak out of it."""
    mechanism = layers.LuongAttention("general")
    make = layers.BahdanauCell if order == "bahdanau" else layers.LuongCell
    keras_cell = keras.layers.GRUCell(D_S, dropout=0.5, recurrent_dropout=0.5, seed=1)
    decoder = layers.AttentionDecoder(make(keras_cell, mechanism))
    y, memory = keras.Input((None, D_EMB)), keras.Input((None, D_H))
    model = keras.Model([y, memory], decoder(y, memory=memory)["outputs"])
    model.compile("sgd", "mse")
    for batch, steps in ((BATCH, T_DEC), (2, 3)):
        x = [draw(batch, steps, D_EMB), draw(batch, T_ENC, D_H)]
        model.fit(x, draw(batch, steps, D_S), verbose=0)
    x = [draw(BATCH, T_DEC, D_EMB), draw(BATCH, T_ENC, D_H)]
    still = np.asarray(model(x))
    np.testing.assert_array_equal(still, np.asarray(model(x)))
    first, second = (np.asarray(model(x, training=True)) for _ in range(2))
    assert np.abs(first - still).max() > 1e-3
    assert np.abs(first - second).max() > 1e-3, "the same units are dropped in every call"


def test_a_cell_that_is_none_is_refused():
    for make in (
        lambda: layers.PlainCell(keras.layers.Dense(3)),
        lambda: layers.BahdanauCell("gru", layers.BahdanauAttention(3)),
        lambda: layers.AttentionDecoder(keras.layers.GRUCell(3)),
    ):
        with pytest.raises(ValueError, match=r"cell is .*; expected .*Fix: "):
            make()
    with pytest.raises(ValueError, match=r"mechanism is .*; expected .*Fix: "):
        layers.LuongCell(keras.layers.GRUCell(3), keras.layers.Attention())
    with pytest.raises(ValueError, match=r"units is .*; expected .*Fix: "):
        layers.LuongCell(keras.layers.GRUCell(3), layers.LuongAttention(), units=0)


def test_a_cell_that_attends_is_refused_without_memory():
    cell = layers.BahdanauCell(keras.layers.GRUCell(3), layers.BahdanauAttention(3))
    with pytest.raises(ValueError, match=r"memory.*expected .*Fix: "):
        layers.AttentionDecoder(cell)(draw(BATCH, T_DEC, D_EMB))
    with pytest.raises(ValueError, match=r"memory is None; expected .*Fix: "):
        cell.prepare(None)


def test_too_few_states_are_refused():
    decoder = layers.AttentionDecoder(layers.PlainCell(keras.layers.LSTMCell(D_S)))
    with pytest.raises(ValueError, match=r"states has 1 tensors; expected 2"):
        decoder(draw(BATCH, T_DEC, D_EMB), initial_state=[draw(BATCH, D_S)])


def test_a_step_without_its_attentional_state_is_refused():
    cell = layers.LuongCell(
        keras.layers.GRUCell(D_S), layers.LuongAttention(), units=23, input_feeding=True
    )
    memory = draw(BATCH, T_ENC, D_H)
    layers.AttentionDecoder(cell)(draw(BATCH, T_DEC, D_EMB), memory=memory)
    with pytest.raises(ValueError, match=r"states has 1 tensors; expected 2 of widths \[13, 23\]"):
        cell(draw(BATCH, D_EMB), [draw(BATCH, D_S)], memory)


def test_too_many_states_are_refused():
    decoder = layers.AttentionDecoder(layers.PlainCell(keras.layers.GRUCell(D_S)))
    with pytest.raises(ValueError, match=r"states"):
        decoder(draw(BATCH, T_DEC, D_EMB), initial_state=[draw(BATCH, D_S)] * 2)
