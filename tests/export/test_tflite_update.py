"""A write of a row of a list, in one operator, with the same values."""

import tempfile

import numpy as np
import pytest
from ai_edge_litert.interpreter import Interpreter

from attention_zoo.export.tflite import operators
from attention_zoo.export.tflite_flatbuffer import unpacked
from attention_zoo.export.tflite_update import update_in_place

WIDTH = 5


def converted(function):
    import tensorflow as tf

    with tempfile.TemporaryDirectory() as folder:
        tf.saved_model.save(tf.Module(), folder, signatures=function)
        return tf.lite.TFLiteConverter.from_saved_model(folder).convert()


@pytest.fixture(scope="module")
def content():
    """y_t = x_t + y_{t-1}, written step by step."""
    import tensorflow as tf

    @tf.function(input_signature=[tf.TensorSpec((None, WIDTH), tf.float32)])
    def sums(x):
        steps = tf.shape(x)[0]
        written = tf.TensorArray(tf.float32, steps, element_shape=(WIDTH,))

        def step(t, y, written):
            y = y + x[t]
            return t + 1, y, written.write(t, y)

        start = (0, tf.zeros(WIDTH), written)
        *_, written = tf.while_loop(lambda t, *_: t < steps, step, start)
        return {"y": written.stack()}

    return converted(sums)


def test_the_list_is_written_in_one_operator(content):
    changed = update_in_place(content)
    assert "DYNAMIC_UPDATE_SLICE" not in operators(content)
    assert "DYNAMIC_UPDATE_SLICE" in operators(changed)
    counts = [
        sum(len(graph.operators) for graph in unpacked(file).subgraphs)
        for file in (content, changed)
    ]
    assert counts[1] == counts[0] - 3  # two slices, and the place of the second


@pytest.mark.parametrize("repeat", range(7))
def test_answers_are_the_same_at_growing_sizes(content, repeat):
    changed = update_in_place(content)
    runner = Interpreter(model_content=changed, num_threads=1).get_signature_runner()
    generator = np.random.default_rng(repeat)
    for length in (1, 2, 3, 7, 13, 5, 61):
        x = generator.normal(0, 1, (length, WIDTH)).astype(np.float32)
        np.testing.assert_allclose(runner(x=x)["y"], x.cumsum(axis=0), rtol=0, atol=1e-5)


def test_what_joins_other_parts_is_left():
    import tensorflow as tf

    @tf.function(input_signature=[tf.TensorSpec((None, WIDTH), tf.float32)])
    def rotated(x):
        return {"y": tf.concat([x[2:], x[:1] * 3.0, x[:1]], axis=0)}

    other = converted(rotated)
    assert update_in_place(other) is other
