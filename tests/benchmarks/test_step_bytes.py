"""Counting what a decode step reads, against what a decode step depends on."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from step_bytes import StepWeight, step_bytes, step_weights

from attention_zoo import create_model, list_models

SIZES = {"vocab_source": 23, "vocab_target": 19, "d_emb": 5, "units": 8, "max_length": 11}


def drawn(name, **changes):
    keras.utils.set_random_seed(3)
    heads = {"n_heads": 4} if name == "luong_multihead_gru" else {}
    model = create_model(name, **{**SIZES, **heads, **changes})
    generator = np.random.default_rng(3)
    for weight in model.trainable_variables:
        weight.assign(generator.normal(0.0, 0.5, weight.shape))
    return model


def read_in_step(model):
    """How many values of each weight a step has a gradient for, once decoding has begun."""
    states, prepared = model.start(tf.constant([[7, 5, 11, 2]]))
    generator = np.random.default_rng(5)
    with tf.GradientTape() as tape:
        logits, alignments, after = model.decode_step(tf.constant([13]), states, prepared)
        outputs = (logits, alignments, *after)
        drawn = [generator.normal(size=output.shape).astype(np.float32) for output in outputs]
        total = tf.add_n([tf.reduce_sum(o * d) for o, d in zip(outputs, drawn, strict=True)])
    weights = model.trainable_variables
    gradients = tape.gradient(total, [weight.value for weight in weights])
    counts = {}
    for weight, gradient in zip(weights, gradients, strict=True):
        if gradient is not None:
            dense = tf.convert_to_tensor(gradient).numpy()
            rows = np.any(dense.reshape(len(dense), -1), axis=1)
            counts[weight.path] = int(rows.sum()) * dense[0].size
    return counts


@pytest.mark.parametrize("name", list_models())
def test_what_is_counted_is_what_a_step_depends_on(name):
    model = drawn(name)
    assert sorted(read_in_step(model).values()) == sorted(w.count for w in step_weights(model))


def test_a_tied_matrix_is_read_whole_and_a_row_of_it_besides():
    model = drawn("bahdanau_gru", tied_embeddings="target")
    expected = sorted([*read_in_step(model).values(), SIZES["d_emb"]])
    assert sorted(weight.count for weight in step_weights(model)) == expected


def test_bytes_by_hand():
    """Bahdanau, GRU: units = d_s = d_attn = 8, d_h = 16 (bidirectional), d_emb = 5, 19 ids."""
    model = drawn("bahdanau_gru", bidirectional=True)
    matrices = (5 + 16) * 24 + 8 * 24 + 8 * 8 + (8 + 16 + 5) * 5 + 5 + 5 * 19
    vectors = 2 * 24 + 8 + 5 + 19
    assert step_bytes(model, "float32") == 4 * (matrices + vectors)
    assert step_bytes(model, "int8") == matrices + 4 * vectors
    assert step_bytes(model, "float16") == 2 * matrices + 4 * vectors


def test_a_long_vector_takes_two_bytes_in_float16():
    model = drawn("seq2seq_gru", vocab_target=1031)
    short, long = drawn("seq2seq_gru"), StepWeight("b", 1031, False)
    assert long in step_weights(model)
    more = (1031 - 19) * 8 * 2 + 2 * 1031 - 4 * 19
    assert step_bytes(model, "float16") - step_bytes(short, "float16") == more
