"""Two graphs in one: which branch runs, and what is stored once."""

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from attention_zoo.export.onnx_merge import merged

WEIGHT = np.arange(1369, dtype=np.float32).reshape(37, 37) / 1369


def decoding(factor, beams, weight=WEIGHT):
    """scores = factor * x W in a loop of one step; names are the same in every such graph."""
    wide = [] if beams is None else [beams]
    body = helper.make_graph(
        [
            helper.make_node("MatMul", ["state", "W"], ["next"]),
            helper.make_node("Identity", ["go"], ["go_on"]),
        ],
        "body",
        [
            helper.make_tensor_value_info("i", TensorProto.INT64, []),
            helper.make_tensor_value_info("go", TensorProto.BOOL, []),
            helper.make_tensor_value_info("state", TensorProto.FLOAT, [1, 37]),
        ],
        [
            helper.make_tensor_value_info("go_on", TensorProto.BOOL, []),
            helper.make_tensor_value_info("next", TensorProto.FLOAT, [1, 37]),
        ],
    )
    nodes = [
        helper.make_node("Loop", ["one", "", "source"], ["product"], body=body),
        helper.make_node("Mul", ["product", "factor"], ["flat" if wide else "scores"]),
    ]
    initializers = {"W": weight, "one": np.array(1, np.int64), "factor": np.float32(factor)}
    if wide:
        nodes.append(helper.make_node("Expand", ["flat", "shape"], ["wide"]))
        nodes.append(helper.make_node("Unsqueeze", ["wide", "first"], ["scores"]))
        initializers["shape"] = np.array([beams, 37], np.int64)
        initializers["first"] = np.array([0], np.int64)
    graph = helper.make_graph(
        nodes,
        "tf2onnx",
        [helper.make_tensor_value_info("source", TensorProto.FLOAT, [1, 37])],
        [helper.make_tensor_value_info("scores", TensorProto.FLOAT, [1, *wide, 37])],
        [numpy_helper.from_array(np.asarray(array), name) for name, array in initializers.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)


def session_of(model):
    onnx.checker.check_model(model)
    return onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )


@pytest.fixture
def x():
    return np.random.default_rng(3).normal(0, 1, (1, 37)).astype(np.float32)


def test_the_switch_chooses_the_graph(x):
    session = session_of(merged(decoding(2, None), decoding(3, 5), ["scores"]))
    assert [one.name for one in session.get_inputs()] == ["source"]
    assert [one.name for one in session.get_overridable_initializers()] == ["beam"]
    names = ["scores", "beam_scores"]
    for switch, factor, beams in (({}, 2, 1), ({"beam": np.array(True)}, 3, 5)):
        best, found = session.run(names, {"source": x, **switch})
        np.testing.assert_allclose(best, factor * (x @ WEIGHT), rtol=1e-5)
        assert found.shape == (1, beams, 37)
        np.testing.assert_array_equal(found[0], np.repeat(best, beams, axis=0))


def test_a_weight_of_both_is_stored_once_and_read_by_both(x):
    one = decoding(2, None)
    model = merged(decoding(2, None), decoding(3, 5), ["scores"])
    assert model.ByteSize() < one.ByteSize() + WEIGHT.nbytes / 2
    large = [one for one in model.graph.initializer if np.prod(one.dims) > 1000]
    assert [tensor.name for tensor in large] == ["greedy/W"]


def test_weights_of_one_name_that_differ_are_both_kept(x):
    session = session_of(merged(decoding(1, None), decoding(1, 5, -WEIGHT), ["scores"]))
    (greedy,) = session.run(["scores"], {"source": x})
    (beam,) = session.run(["scores"], {"source": x, "beam": np.array(True)})
    np.testing.assert_allclose(greedy, x @ WEIGHT, rtol=1e-5)
    np.testing.assert_array_equal(beam, -greedy)
