"""Each mechanism against the NumPy formulas, row by row and query by query."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from attention_zoo import layers

TOLERANCE = 1e-5
BATCH, T_ENC, T_DEC = 3, 5, 7


def draw(*shape, seed=0):
    return np.random.default_rng([seed, *shape]).normal(size=shape).astype("float32")


def draw_mask(batch, steps):
    """Real steps first, then padding; a different number in each row."""
    return np.arange(steps) < (np.arange(batch)[:, None] + 2)


def attend(layer, query, memory, mask=None, keys=None, **kwargs):
    inputs = [query, memory] if keys is None else [query, memory, keys]
    context, weights = layer(
        inputs, mask=None if mask is None else [None, mask], return_attention_scores=True, **kwargs
    )
    return np.asarray(context), np.asarray(weights)


def expected(numpy_attention, layer, query, memory, mask, keys=None):
    """(context, weights) of one batch of single queries, padding left out."""
    contexts, all_weights = [], []
    for row in range(len(query)):
        real = mask[row]
        context, weights = numpy_attention(
            layer, query[row], memory[row][real], None if keys is None else keys[row][real]
        )
        placed = np.zeros((*weights.shape[:-1], len(real)))
        placed[..., real] = weights
        contexts.append(context)
        all_weights.append(placed)
    return np.stack(contexts), np.stack(all_weights)


def test_one_query_equals_numpy(mechanism, numpy_attention):
    make, sizes = mechanism
    layer = make()
    query, memory = draw(BATCH, sizes["d_s"]), draw(BATCH, T_ENC, sizes["d_h"])
    mask = draw_mask(BATCH, T_ENC)
    context, weights = attend(layer, query, memory, mask)
    c, a = expected(numpy_attention, layer, query, memory, mask)
    np.testing.assert_allclose(weights, a, atol=TOLERANCE)
    np.testing.assert_allclose(context, c, atol=TOLERANCE)
    assert (weights[..., ~mask[0]][0] == 0).all()


def test_a_sequence_of_queries_equals_numpy(mechanism, numpy_attention):
    make, sizes = mechanism
    layer = make()
    query, memory = draw(BATCH, T_DEC, sizes["d_s"]), draw(BATCH, T_ENC, sizes["d_h"])
    mask = draw_mask(BATCH, T_ENC)
    context, weights = attend(layer, query, memory, mask)
    for t in range(T_DEC):
        c, a = expected(numpy_attention, layer, query[:, t], memory, mask)
        np.testing.assert_allclose(weights[..., t, :], a, atol=TOLERANCE)
        np.testing.assert_allclose(context[:, t], c, atol=TOLERANCE)


def test_without_a_mask_all_steps_count(mechanism, numpy_attention):
    make, sizes = mechanism
    layer = make()
    query, memory = draw(BATCH, sizes["d_s"]), draw(BATCH, T_ENC, sizes["d_h"])
    context, weights = attend(layer, query, memory)
    all_real = np.ones((BATCH, T_ENC), bool)
    c, a = expected(numpy_attention, layer, query, memory, all_real)
    np.testing.assert_allclose(weights, a, atol=TOLERANCE)
    np.testing.assert_allclose(context, c, atol=TOLERANCE)


def test_keys_give_the_weights_and_values_the_context(mechanism, numpy_attention):
    make, sizes = mechanism
    layer = make()
    query = draw(BATCH, sizes["d_s"])
    keys, values = (draw(BATCH, T_ENC, sizes["d_h"], seed=seed) for seed in (1, 2))
    mask = draw_mask(BATCH, T_ENC)
    context, weights = attend(layer, query, values, mask, keys=keys)
    c, a = expected(numpy_attention, layer, query, values, mask, keys)
    np.testing.assert_allclose(weights, a, atol=TOLERANCE)
    np.testing.assert_allclose(context, c, atol=TOLERANCE)


def test_inner_step_equals_the_call(mechanism):
    make, sizes = mechanism
    layer = make()
    query, memory = draw(BATCH, sizes["d_s"]), draw(BATCH, T_ENC, sizes["d_h"])
    mask = draw_mask(BATCH, T_ENC)
    context, weights = attend(layer, query, memory, mask)
    memory = keras.ops.convert_to_tensor(memory)
    c, a, state = layer.attend(
        keras.ops.convert_to_tensor(query),
        layer.project(memory),
        layer.split_values(memory),
        keras.ops.convert_to_tensor(mask),
        layer.initial_state(memory, mask),
    )
    assert len(state) == 0
    np.testing.assert_allclose(c, context, atol=1e-6)
    np.testing.assert_allclose(a, weights, atol=1e-6)


@pytest.mark.parametrize("score", ["general", "dot"])
@pytest.mark.parametrize("steps", [(), (T_DEC,)], ids=["one", "sequence"])
def test_one_head_equals_the_plain_score_exactly(score, steps, sizes):
    d_s = sizes["d_h"] if score == "dot" else sizes["d_s"]
    query, memory = draw(BATCH, *steps, d_s), draw(BATCH, T_ENC, sizes["d_h"])
    mask = draw_mask(BATCH, T_ENC)
    plain, one = layers.LuongAttention(score), layers.LuongAttention(score, n_heads=1)
    expected = attend(plain, query, memory, mask)
    attend(one, query, memory, mask)
    one.set_weights(plain.get_weights())
    for got, wanted in zip(attend(one, query, memory, mask), expected, strict=True):
        np.testing.assert_array_equal(got, wanted)


def test_concat_is_the_additive_score_with_its_matrix_cut_in_two(sizes):
    d_s, d_h, d_attn = sizes["d_s"], sizes["d_h"], sizes["d_attn"]
    query, memory = draw(BATCH, d_s), draw(BATCH, T_ENC, d_h)
    additive = layers.BahdanauAttention(d_attn)
    wanted = attend(additive, query, memory)
    W_a, U_a, v_a = additive.get_weights()
    concat = layers.LuongAttention("concat", units=d_attn)
    attend(concat, query, memory)
    concat.set_weights([np.concatenate([W_a, U_a]), v_a])
    for got, want in zip(attend(concat, query, memory), wanted, strict=True):
        np.testing.assert_allclose(got, want, atol=TOLERANCE)


def test_weights_carry_the_names_and_shapes_of_the_papers(mechanism, mechanism_name):
    make, sizes = mechanism
    layer = make()
    attend(layer, draw(BATCH, sizes["d_s"]), draw(BATCH, T_ENC, sizes["d_h"]))
    d_s, d_h, d_attn = sizes["d_s"], sizes["d_h"], sizes["d_attn"]
    wanted = {
        "bahdanau": {"W_a": (d_s, d_attn), "U_a": (d_h, d_attn), "v_a": (d_attn,)},
        "general": {"W_a": (d_s, d_h)},
        "multihead": {"W_a": (d_s, d_h)},
        "concat": {"W_a": (d_s + d_h, d_attn), "v_a": (d_attn,)},
    }
    got = {weight.name: tuple(weight.shape) for weight in layer.weights}
    assert got == wanted.get(mechanism_name, {})


def test_query_mask_sets_the_context_to_zero(mechanism):
    make, sizes = mechanism
    layer = make()
    query, memory = draw(BATCH, T_DEC, sizes["d_s"]), draw(BATCH, T_ENC, sizes["d_h"])
    query_mask = draw_mask(BATCH, T_DEC)
    context = np.asarray(layer([query, memory], mask=[query_mask, None]))
    assert not context[~query_mask].any()
    np.testing.assert_array_equal(
        context[query_mask], np.asarray(layer([query, memory]))[query_mask]
    )


@pytest.mark.parametrize("jit_compile", [False, True], ids=["graph", "xla"])
@pytest.mark.parametrize("shape", [(1, T_DEC), (BATCH, 1)], ids=["batch", "T_dec"])
def test_query_mask_is_not_broadcast_in_a_graph(mechanism, shape, jit_compile):
    make, sizes = mechanism
    layer = make()
    query, memory = draw(BATCH, T_DEC, sizes["d_s"]), draw(BATCH, T_ENC, sizes["d_h"])
    layer([query, memory])
    specs = [
        tf.TensorSpec((None, None, sizes["d_s"])),
        tf.TensorSpec((None, None, sizes["d_h"])),
        tf.TensorSpec((None, None), tf.bool),
    ]
    compiled = tf.function(
        lambda q, m, mask: layer([q, m], mask=[mask, None]),
        input_signature=specs,
        jit_compile=jit_compile,
    )
    assert compiled(query, memory, np.ones((BATCH, T_DEC), bool)).shape[:2] == (BATCH, T_DEC)
    # XLA drops the assertion that names the tensor, and fails all the same
    words = None if jit_compile else "query_mask has another size than query"
    with pytest.raises(tf.errors.InvalidArgumentError, match=words):
        compiled(query, memory, np.ones(shape, bool))


def test_what_stands_in_padding_does_not_matter(mechanism):
    make, sizes = mechanism
    layer = make()
    query, memory = draw(BATCH, sizes["d_s"]), draw(BATCH, T_ENC, sizes["d_h"])
    mask = draw_mask(BATCH, T_ENC)
    clean = attend(layer, query, memory, mask)
    memory[~mask] = np.nan
    for got, wanted in zip(attend(layer, query, memory, mask), clean, strict=True):
        np.testing.assert_array_equal(got, wanted)


def test_no_encoder_step_at_all_is_refused(mechanism):
    make, sizes = mechanism
    query, memory = draw(BATCH, sizes["d_s"]), draw(BATCH, 0, sizes["d_h"])
    with pytest.raises(ValueError, match=r"memory.*T_enc of at least 1"):
        make()([query, memory], mask=[None, np.zeros((BATCH, 0), bool)])


def test_masks_come_along_from_an_embedding(mechanism):
    """The mask that Keras carries is the mask that is passed."""
    make, sizes = mechanism
    layer = make()
    tokens = np.array([[4, 5, 6, 7, 8], [4, 5, 0, 0, 0], [4, 5, 6, 0, 0]])
    embedding = keras.layers.Embedding(11, sizes["d_h"], mask_zero=True)
    memory, query = embedding(tokens), draw(BATCH, T_DEC, sizes["d_s"])
    carried = layer([query, memory], return_attention_scores=True)
    passed = attend(layer, query, np.asarray(memory), tokens != 0)
    for got, wanted in zip(carried, passed, strict=True):
        np.testing.assert_allclose(got, wanted, atol=1e-6)


def test_dropout_works_in_training_alone(mechanism):
    make, sizes = mechanism
    layer = make(dropout=0.5)
    query, memory = draw(BATCH, T_DEC, sizes["d_s"]), draw(BATCH, T_ENC, sizes["d_h"])
    plain, weights = attend(layer, query, memory)
    again, _ = attend(layer, query, memory)
    np.testing.assert_array_equal(plain, again)
    trained, in_training = attend(layer, query, memory, training=True)
    assert np.abs(trained - plain).max() > 1e-3
    # what is reported is the distribution, not what dropout left of it
    np.testing.assert_allclose(in_training, weights, atol=1e-6)


def test_dropout_is_repeated_by_seed(mechanism):
    make, sizes = mechanism
    query, memory = draw(BATCH, T_DEC, sizes["d_s"]), draw(BATCH, T_ENC, sizes["d_h"])
    first, second = (attend(make(dropout=0.5), query, memory, training=True)[0] for _ in range(2))
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"score": "cosine"}, "score"),
        ({"score": "dot", "units": 3}, "units"),
        ({"score": "concat", "units": 0}, "units"),
        ({"score": "concat", "n_heads": 2}, "n_heads"),
        ({"n_heads": 0}, "n_heads"),
        ({"n_heads": 1.5}, "n_heads"),
        ({"dropout": 1.0}, "dropout"),
        ({"dropout": -0.1}, "dropout"),
    ],
)
def test_luong_refuses_an_argument_by_name(arguments, name):
    with pytest.raises(ValueError, match=f"{name} is .*; expected .*Fix: "):
        layers.LuongAttention(**arguments)


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"units": 0}, "units"),
        ({"units": 2.0}, "units"),
        ({"units": True}, "units"),
        ({"units": 3, "dropout": 2}, "dropout"),
    ],
)
def test_bahdanau_refuses_an_argument_by_name(arguments, name):
    with pytest.raises(ValueError, match=f"{name}.* is .*; expected .*Fix: "):
        layers.BahdanauAttention(**arguments)


def test_dot_with_unequal_widths_is_an_error_at_build():
    with pytest.raises(ValueError, match=r'"dot".*d_s = 7.*d_h = 14.*bidirectional.*Fix: '):
        layers.LuongAttention("dot")([draw(BATCH, 7), draw(BATCH, T_ENC, 14)])


def test_heads_that_do_not_divide_the_width_are_an_error_at_build():
    with pytest.raises(ValueError, match=r"width 17.*n_heads = 2.*Fix: "):
        layers.LuongAttention("general", n_heads=2)([draw(BATCH, 13), draw(BATCH, T_ENC, 17)])


@pytest.mark.parametrize(
    "inputs", [draw(2, 3), [draw(2, 3)], [draw(2, 3)] * 4], ids=["tensor", "one", "four"]
)
def test_inputs_that_are_no_pair_are_an_error(inputs, mechanism):
    make, _ = mechanism
    with pytest.raises(ValueError, match=r"\[query, value\]"):
        make()(inputs)
