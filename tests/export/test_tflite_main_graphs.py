"""The graphs of signatures are named so that no delegate gets them; nothing else changes."""

import tempfile

import numpy as np
import pytest
from ai_edge_litert.interpreter import Interpreter

from attention_zoo.export.tflite_flatbuffer import unpacked
from attention_zoo.export.tflite_main_graphs import PASSED_OVER, pass_over_main_graphs


@pytest.fixture(scope="module")
def content():
    """A loop that multiplies by a matrix, as signature "times", beside one without a loop."""
    import tensorflow as tf

    matrix = tf.constant(np.random.default_rng(5).normal(0, 0.5, (7, 7)), tf.float32)
    module = tf.Module()

    @tf.function(input_signature=[tf.TensorSpec((1, 7), tf.float32, name="x")])
    def times(x):
        step = lambda t, y: (t + 1, tf.tanh(y @ matrix))  # noqa: E731
        return {"y": tf.while_loop(lambda t, _: t < 3, step, (0, x))[1]}

    @tf.function(input_signature=[tf.TensorSpec((1, 7), tf.float32, name="x")])
    def once(x):
        return {"y": tf.tanh(x @ matrix)}

    with tempfile.TemporaryDirectory() as folder:
        tf.saved_model.save(module, folder, signatures={"times": times, "once": once})
        return tf.lite.TFLiteConverter.from_saved_model(folder).convert()


def names(content):
    """The names of the graphs of signatures, and those of the others."""
    model = unpacked(content)
    main = {signature.subgraphIndex for signature in model.signatureDefs}
    graphs = list(enumerate(model.subgraphs))
    return [g.name for i, g in graphs if i in main], [g.name for i, g in graphs if i not in main]


def test_the_graphs_of_signatures_are_passed_over_and_no_others(content):
    changed = pass_over_main_graphs(content)
    main, others = names(changed)
    assert main == [PASSED_OVER + name for name in names(content)[0]]
    assert others == names(content)[1]
    assert len(main) == len(others) == 2  # of the loop: its condition and its body
    assert names(pass_over_main_graphs(changed)) == (main, others)


def test_the_answers_are_the_same(content):
    x = np.random.default_rng(7).normal(0, 1, (1, 7)).astype(np.float32)
    for signature in ("times", "once"):
        old, new = (
            Interpreter(model_content=file, num_threads=1).get_signature_runner(signature)(x=x)
            for file in (content, pass_over_main_graphs(content))
        )
        np.testing.assert_allclose(new["y"], old["y"], rtol=0, atol=1e-6)
