"""Matrices of a TFLite file in int8: what is rounded, by how much, and what is left alone."""

import tempfile

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from attention_zoo.export.int8_rounding import rounded_to_int8
from attention_zoo.export.tflite import operators
from attention_zoo.export.tflite_flatbuffer import builtin_code, unpacked
from attention_zoo.export.tflite_int8 import store_as_int8

VOCAB, WIDTH, STEPS = 53, 37, 3
INT8 = schema.TensorType.INT8
IDS = np.array([[52, 0, 7, 7, 31]], np.int32)


@pytest.fixture(scope="module")
def weights():
    """A tied table, a product inside a loop, and a matrix that is added, not multiplied."""
    generator = np.random.default_rng(3)
    table = generator.normal(0, 1, (VOCAB, WIDTH)) * generator.uniform(0.01, 3, (VOCAB, 1))
    table[17] = 0
    return {
        "table": table.astype(np.float32),
        "looped": generator.normal(0, 0.1, (WIDTH, WIDTH)).astype(np.float32),
        "added": generator.normal(0, 1, (WIDTH, WIDTH)).astype(np.float32),
    }


@pytest.fixture(scope="module")
def content(weights):
    """x = E[ids] B three times + b, logits = x E^T; and rows of E looked up inside the loop."""
    import tensorflow as tf

    table, looped, added = (tf.constant(weights[name]) for name in ("table", "looped", "added"))

    @tf.function(input_signature=[tf.TensorSpec((1, None), tf.int32)])
    def graph(ids):
        embedded = tf.reshape(tf.gather(table, ids), (-1, WIDTH))

        def step(t, y):
            row = tf.gather(table, tf.expand_dims(t, 0))
            return t + 1, tf.matmul(y, looped) + 0.125 * row

        _, y = tf.while_loop(lambda t, _: t < STEPS, step, (0, embedded))
        return {
            "embedded": embedded,
            "y": y,
            "logits": tf.matmul(embedded, table, transpose_b=True),
            "added": added + tf.reduce_max(y),
        }

    return converted(graph)


def converted(function):
    """A TFLite file with this function as its only signature."""
    import tensorflow as tf

    with tempfile.TemporaryDirectory() as folder:
        tf.saved_model.save(tf.Module(), folder, signatures=function)
        return tf.lite.TFLiteConverter.from_saved_model(folder).convert()


def run(content, ids=IDS):
    interpreter = Interpreter(model_content=content, num_threads=1)
    runner = interpreter.get_signature_runner()
    return runner(ids=ids)


def product(x, scales, rounded):
    """x W^T as a hybrid kernel has it, and how far its rounding of x to 8 bits may lead."""
    weights = scales[:, None] * rounded  # (rows, width)
    step = (x.max(axis=1) - x.min(axis=1)).clip(np.abs(x).max(axis=1)) / 127
    bound = np.abs(weights).sum(axis=1)[None, :] * step[:, None]
    return x @ weights.T, bound


def quantized_rows(values):
    whole, scales = rounded_to_int8(values, axis=1)
    return scales, whole


@given(
    arrays.arrays(
        np.float32,
        st.tuples(st.integers(1, 7), st.integers(1, 11)),
        elements=st.floats(-1e6, 1e6, width=32).filter(lambda x: x == 0 or abs(x) > 1e-20),
    )
)
def test_a_row_is_off_by_half_a_step_at_most(values):
    scales, rounded = quantized_rows(values)
    assert (scales.dtype, rounded.dtype) == (np.float32, np.int8)
    assert (scales > 0).all()
    assert rounded.min(initial=0) >= -127
    error = np.abs(values - scales[:, None].astype(np.float64) * rounded)
    assert (error <= scales[:, None] * 0.5001).all()
    # the largest value of a row uses all of the range
    largest = np.abs(values).max(axis=1)
    np.testing.assert_array_equal(np.abs(rounded).max(axis=1), np.where(largest > 0, 127, 0))


@pytest.mark.parametrize("value", [1e-45, 2.6e-43, 1e-38])
def test_a_row_of_next_to_nothing_becomes_zeros(value):
    scales, rounded = quantized_rows(np.full((2, 3), value, np.float32))
    assert (scales > 0).all()
    assert not rounded.any()


def test_lookups_give_the_rounded_rows_and_nothing_else_is_rounded(content, weights):
    scales, rounded = quantized_rows(weights["table"])
    got = run(store_as_int8(content))
    expected = (scales[:, None] * rounded)[IDS[0]]
    np.testing.assert_allclose(got["embedded"], expected, rtol=1e-6, atol=0)
    before = run(content)
    np.testing.assert_allclose(before["embedded"], weights["table"][IDS[0]], rtol=0, atol=0)


def test_products_are_those_of_rounded_rows(content, weights):
    got = run(store_as_int8(content))
    table = quantized_rows(weights["table"])
    expected, bound = product(got["embedded"], *table)
    assert (np.abs(got["logits"] - expected) <= bound + 1e-5).all()
    # far nearer than rounding alone could bring it by chance
    assert np.abs(got["logits"] - expected).mean() < 0.2 * bound.mean()


def test_a_loop_reads_int8_too(content, weights):
    looped = quantized_rows(weights["looped"].T)
    scales, rounded = quantized_rows(weights["table"])
    y = (scales[:, None] * rounded)[IDS[0]]
    off = np.zeros((IDS.size, WIDTH))
    for step in range(STEPS):
        y, bound = product(y, *looped)
        off = off @ np.abs(weights["looped"]) * 1.1 + bound
        y = y + 0.125 * scales[step] * rounded[step]
    got = run(store_as_int8(content))["y"]
    assert (np.abs(got - y) <= off + 1e-5).all()
    assert np.abs(got - y).mean() < 0.2 * off.mean()


def test_a_matrix_is_stored_once_with_its_scales(content, weights):
    small = store_as_int8(content)
    for name, values in (("table", weights["table"]), ("looped", weights["looped"].T)):
        scales, rounded = quantized_rows(values)
        assert small.count(rounded.tobytes()) == 1, name
        assert small.count(scales.astype("<f4").tobytes()) == 1, name
        assert values.astype("<f4").tobytes() not in small, name
    assert len(small) < len(content) - 2 * (weights["table"].size + weights["looped"].size)


def test_what_is_not_multiplied_or_looked_up_stays_float(content, weights):
    small = store_as_int8(content)
    assert small.count(weights["added"].astype("<f4").tobytes()) == 1
    np.testing.assert_allclose(
        run(small)["added"] - run(small)["y"].max(), weights["added"], rtol=0, atol=1e-5
    )


def test_only_products_and_lookups_read_int8(content):
    model = unpacked(store_as_int8(content))
    read = set()
    for graph in model.subgraphs:
        kinds = [tensor.type for tensor in graph.tensors]
        for operator in graph.operators:
            code = builtin_code(model, operator)
            read |= {(code, n) for n, i in enumerate(operator.inputs) if kinds[i] == INT8}
            assert INT8 not in {kinds[i] for i in operator.outputs}
    builtin = schema.BuiltinOperator
    assert read == {(builtin.FULLY_CONNECTED, 1), (builtin.EMBEDDING_LOOKUP, 1)}
    assert "GATHER" in operators(content)
    assert "EMBEDDING_LOOKUP" not in operators(content)


def test_other_lengths_are_answered(content):
    small = store_as_int8(content)
    interpreter = Interpreter(model_content=small, num_threads=1)
    runner = interpreter.get_signature_runner()
    for length in (1, 2, 7, 3):
        ids = np.arange(length, dtype=np.int32)[None]
        got, fresh = runner(ids=ids), run(small, ids)
        assert got["logits"].shape == (length, VOCAB)
        for name in got:
            np.testing.assert_array_equal(got[name], fresh[name])


def test_a_file_without_matrices_answers_as_before():
    import tensorflow as tf

    @tf.function(input_signature=[tf.TensorSpec((2, 3), tf.float32)])
    def add(x):
        return {"y": x + 1.5}

    content = converted(add)
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    for file in (content, store_as_int8(content)):
        runner = Interpreter(model_content=file).get_signature_runner()
        np.testing.assert_array_equal(runner(x=x)["y"], x + 1.5)
