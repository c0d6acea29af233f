"""Gradients taken after the loop (training=True) against those of the same loop step by step."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from attention_zoo import layers

BATCH, T_ENC, T_DEC, D_EMB, D_S, D_H, D_ATTN = 3, 5, 7, 11, 13, 17, 19
LENGTHS = (5, 2, 0)  # a row of padding alone

CELLS = {
    "gru": lambda: keras.layers.GRUCell(D_S),
    "gru without bias": lambda: keras.layers.GRUCell(D_S, use_bias=False),
    "gru, reset before": lambda: keras.layers.GRUCell(D_S, reset_after=False),
    "lstm": lambda: keras.layers.LSTMCell(D_S),
    "simple": lambda: keras.layers.SimpleRNNCell(D_S),
    "stacked": lambda: keras.layers.StackedRNNCells(
        [keras.layers.GRUCell(D_ATTN), keras.layers.LSTMCell(D_S)]
    ),
}


class SharperAttention(layers.BahdanauAttention):
    """A score of its own, which the product with W_a alone does not give."""

    def score(self, query, keys, state):
        return 2.0 * super().score(query, keys, state)


class PlainlyCalledAttention(layers.BahdanauAttention):
    """A look of its own, with the arguments that every mechanism's look has."""

    def attend(self, query, keys, values, mask, state, training):
        return super().attend(query, keys, values, mask, state, training)


ORDERS = {
    "bahdanau": lambda cell: layers.BahdanauCell(cell, layers.BahdanauAttention(D_ATTN)),
    "bahdanau, a score of its own": lambda cell: layers.BahdanauCell(
        cell, SharperAttention(D_ATTN)
    ),
    "bahdanau, a look of its own": lambda cell: layers.BahdanauCell(
        cell, PlainlyCalledAttention(D_ATTN)
    ),
    "bahdanau order, luong score": lambda cell: layers.BahdanauCell(cell, layers.LuongAttention()),
    "conditional": lambda cell: layers.ConditionalCell(
        cell, type(cell).from_config(cell.get_config()), layers.BahdanauAttention(D_ATTN)
    ),
    "luong": lambda cell: layers.LuongCell(cell, layers.LuongAttention()),
    "luong, input feeding": lambda cell: layers.LuongCell(
        cell, layers.LuongAttention(), input_feeding=True
    ),
    "luong order, bahdanau score": lambda cell: layers.LuongCell(
        cell, layers.BahdanauAttention(D_ATTN), input_feeding=True
    ),
}


def draw(*shape):
    return tf.constant(np.random.default_rng(shape).normal(size=shape), tf.float32)


def mask():
    return tf.constant(np.arange(T_ENC) < np.array(LENGTHS)[:, None])


def gradients(layer, inputs, call, training):
    """(loss, gradients of inputs and weights) in a graph."""

    @tf.function
    def run():
        with tf.GradientTape() as tape:
            tape.watch(inputs)
            outputs = keras.tree.flatten(call(training))
            # another factor for each element, so that none stands for another
            loss = sum(tf.reduce_sum(x * draw(*x.shape)) for x in outputs)
        sources = [*inputs, *(weight.value for weight in layer.trainable_weights)]
        return loss, tape.gradient(loss, sources)

    return run()


def assert_same(layer, inputs, call):
    for weight in layer.weights:  # biases start as zeros and would hide an error
        weight.assign(draw(*weight.shape) * 0.5)
    step_by_step, late = (gradients(layer, inputs, call, training) for training in (False, True))
    np.testing.assert_allclose(late[0], step_by_step[0], rtol=1e-5)
    for expected, actual in zip(step_by_step[1], late[1], strict=True):
        scale = np.abs(expected).max()
        assert scale > 0
        np.testing.assert_allclose(actual, expected, atol=1e-5 * scale, rtol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("cell", ["gru", "lstm"])
def test_a_decoder_gets_the_gradients_of_the_loop(order, cell):
    check_decoder(order, cell)


@pytest.mark.parametrize("cell", sorted(set(CELLS) - {"gru", "lstm"}))
def test_other_cells_do_too(cell):
    check_decoder("bahdanau", cell)


@pytest.mark.parametrize("cell", ["gru without bias", "simple"])
def test_other_pairs_of_cells_do_too(cell):
    check_decoder("conditional", cell)


def check_decoder(order, cell):
    decoder = layers.AttentionDecoder(ORDERS[order](CELLS[cell]()))
    inputs = [draw(BATCH, T_DEC, D_EMB), draw(BATCH, T_ENC, D_H)]
    decoder.build(inputs[0].shape, inputs[1].shape)

    def call(training):
        result = decoder(
            inputs[0], inputs[1], memory_mask=mask(), training=training, return_alignments=True
        )
        return [result["outputs"], result["contexts"], result["alignments"], result["states"]]

    assert_same(decoder, inputs, call)


@pytest.mark.parametrize("kind", ["gru", "lstm"])
def test_an_encoder_does_too(kind):
    encoder = layers.RecurrentEncoder(D_S, kind, n_layers=2, bidirectional=True)
    inputs = [draw(BATCH, T_ENC, D_EMB)]
    encoder.build(inputs[0].shape)

    def call(training):
        result = encoder(inputs[0], mask=mask(), training=training)
        return [result["memory"], result["states"]]

    assert_same(encoder, inputs, call)


def test_dropout_of_the_attention_reaches_the_memory():
    """Dropped weights give their step of the memory nothing: with rate 0.999, almost all of it."""
    mechanism = layers.BahdanauAttention(D_ATTN, dropout=0.999, seed=1)
    decoder = layers.AttentionDecoder(layers.BahdanauCell(keras.layers.GRUCell(D_S), mechanism))
    inputs = [draw(BATCH, T_DEC, D_EMB), draw(BATCH, T_ENC, D_H)]
    decoder.build(inputs[0].shape, inputs[1].shape)
    mechanism.v_a.assign(tf.zeros_like(mechanism.v_a))  # the scores give the memory nothing either

    def call(training):
        return decoder(inputs[0], inputs[1], training=training)["contexts"]

    _, (_, d_memory, *_) = gradients(decoder, inputs, call, training=True)
    assert np.mean(np.asarray(d_memory) == 0) > 0.5
