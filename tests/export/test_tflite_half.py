"""Weights of a TFLite file in two bytes, in its own graphs and in those of its loops."""

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter

from attention_zoo.export.tflite_half import store_as_float16

WIDTH = 37


@pytest.fixture(scope="module")
def weights():
    values = np.random.default_rng(3).normal(0, 0.1, (2, WIDTH, WIDTH))
    return values.astype(np.float16).astype(np.float32)


@pytest.fixture(scope="module")
def content(weights):
    """y = x A, then three times x -> x B + c in a loop; c is not exact in float16."""
    import tensorflow as tf

    shift = np.full((1, 2053), -1e9, np.float32)

    @tf.function(input_signature=[tf.TensorSpec((None, WIDTH), tf.float32)])
    def looped(x):
        start = (0, tf.matmul(x, weights[0]))
        _, y = tf.while_loop(
            lambda t, _: t < 3, lambda t, y: (t + 1, tf.matmul(y, weights[1]) + 0.125), start
        )
        return y, tf.reduce_max(y) + tf.constant(shift)

    converter = tf.lite.TFLiteConverter.from_concrete_functions([looped.get_concrete_function()])
    return converter.convert()


def run(content, x):
    interpreter = Interpreter(model_content=content, num_threads=1)
    place = interpreter.get_input_details()[0]["index"]
    answers = []
    for one in x:
        interpreter.resize_tensor_input(place, one.shape)
        interpreter.allocate_tensors()
        interpreter.set_tensor(place, one)
        interpreter.invoke()
        outputs = interpreter.get_output_details()
        answers.append([interpreter.get_tensor(output["index"]) for output in outputs])
    return answers


def test_answers_are_the_same_bit_for_bit_at_growing_sizes(content, weights):
    generator = np.random.default_rng(5)
    x = [generator.normal(0, 1, (rows, WIDTH)).astype(np.float32) for rows in (1, 2, 5, 11, 3)]
    halved = store_as_float16(content)
    before, after = run(content, x), run(halved, x)
    for one, other in zip(before, after, strict=True):
        for wanted, got in zip(one, other, strict=True):
            np.testing.assert_array_equal(got, wanted)
    expected = x[1] @ weights[0]
    for _ in range(3):
        expected = expected @ weights[1] + 0.125
    found = [output for output in after[1] if output.shape == expected.shape]
    np.testing.assert_allclose(found[0], expected, rtol=0, atol=1e-5)


def test_weights_are_stored_once_and_as_float16(content, weights):
    halved = store_as_float16(content)
    assert len(halved) < len(content) - weights.size
    for values in weights.astype(np.float16):
        stored = {values.tobytes(), values.T.tobytes()}
        assert sum(halved.count(part) for part in stored) == 1


def test_buffers_are_aligned(content, weights):
    halved = store_as_float16(content)
    for values in weights.astype(np.float16):
        place = max(halved.find(values.tobytes()), halved.find(values.T.tobytes()))
        assert place > 0
        assert place % 16 == 0


def test_every_graph_dequantizes_what_it_reads(content):
    model = schema.ModelT.InitFromPackedBuf(store_as_float16(content), 0)
    for graph in model.subgraphs:
        computed = {int(index) for op in graph.operators for index in op.outputs}
        halves = [i for i, t in enumerate(graph.tensors) if t.type == schema.TensorType.FLOAT16]
        read = {int(index) for op in graph.operators for index in op.inputs}
        assert set(halves) <= read
        assert not set(halves) & computed


def test_what_would_change_is_left(content):
    model = schema.ModelT.InitFromPackedBuf(store_as_float16(content), 0)
    kept = [buffer.data for buffer in model.buffers if buffer.data is not None]
    shift = np.full(2053, -1e9, "<f4").tobytes()
    assert sum(bytes(data) == shift for data in kept) == 1


def test_a_file_with_nothing_to_halve_is_returned_as_it_is():
    import tensorflow as tf

    @tf.function(input_signature=[tf.TensorSpec((2, 3), tf.float32)])
    def add(x):
        return x + 1.5

    converter = tf.lite.TFLiteConverter.from_concrete_functions([add.get_concrete_function()])
    small = converter.convert()
    assert store_as_float16(small) is small
