"""The plain conversion that the ONNX writer is measured against."""

import numpy as np
import onnx
import onnxruntime
import pytest
from plain_tf2onnx import write_plain_onnx

pytest.importorskip("tf2onnx")
MAX_LENGTH = 9
SOURCE = np.array([[7, 5, 11, 2, 0], [13, 2, 0, 0, 0], [0, 0, 0, 0, 0]], np.int32)


@pytest.fixture(scope="module")
def plain(translation_model, tmp_path_factory):
    path = tmp_path_factory.mktemp("plain") / "model.onnx"
    write_plain_onnx(translation_model, path, MAX_LENGTH)
    return path


def operators(graph):
    """The types of all nodes, those in bodies too."""
    for node in graph.node:
        yield node.op_type
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                yield from operators(attribute.g)


def test_it_answers_as_keras_does(plain, translation_model):
    session = onnxruntime.InferenceSession(str(plain), providers=["CPUExecutionProvider"])
    expected = translation_model.greedy(SOURCE, MAX_LENGTH)
    names = [output.name for output in session.get_outputs()]
    assert sorted(names) == sorted(expected)
    answer = dict(zip(names, session.run(names, {"source": SOURCE}), strict=True))
    assert np.array_equal(answer["tokens"], expected["tokens"])
    assert np.array_equal(answer["lengths"], expected["lengths"])
    for name in ("scores", "alignments"):
        np.testing.assert_allclose(answer[name], expected[name], atol=1e-4)


def test_it_is_plain(plain):
    """Loops of small operators, float32, one graph: nothing of this project's writer is in it."""
    model = onnx.load(plain)
    types = set(operators(model.graph))
    assert "Loop" in types
    assert not types & {"GRU", "LSTM", "If", "DynamicQuantizeMatMul", "MatMulInteger"}
    assert [one.name for one in model.graph.input] == ["source"]
    assert {one.data_type for one in model.graph.initializer} >= {onnx.TensorProto.FLOAT}
    assert onnx.TensorProto.INT8 not in {one.data_type for one in model.graph.initializer}
