"""Weights of an ONNX graph in two bytes, cast once a call and never once a step."""

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from attention_zoo.export.onnx_half import store_as_float16

STEPS = 5


def looped_graph(weight):
    """y = x W W W W W, with W an initializer of the loop's body."""
    body = helper.make_graph(
        [
            helper.make_node("MatMul", ["state", "W"], ["next"]),
            helper.make_node("Identity", ["go"], ["go_on"]),
        ],
        "body",
        [
            helper.make_tensor_value_info("i", TensorProto.INT64, []),
            helper.make_tensor_value_info("go", TensorProto.BOOL, []),
            helper.make_tensor_value_info("state", TensorProto.FLOAT, [1, len(weight)]),
        ],
        [
            helper.make_tensor_value_info("go_on", TensorProto.BOOL, []),
            helper.make_tensor_value_info("next", TensorProto.FLOAT, [1, len(weight)]),
        ],
        [numpy_helper.from_array(weight, "W")],
    )
    graph = helper.make_graph(
        [helper.make_node("Loop", ["steps", "", "x"], ["y"], body=body)],
        "outer",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, len(weight)])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, len(weight)])],
        [numpy_helper.from_array(np.array(STEPS, np.int64), "steps")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)


@pytest.fixture
def weight():
    values = np.random.default_rng(3).normal(0, 0.1, (37, 37))
    return values.astype(np.float16).astype(np.float32)


def run(model, x):
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    return session.run(None, {"x": x})[0]


def test_a_weight_of_a_loop_body_is_cast_outside_of_it(weight):
    model = looped_graph(weight)
    x = np.random.default_rng(5).normal(0, 1, (1, 37)).astype(np.float32)
    before, size = run(model, x), model.ByteSize()
    np.testing.assert_allclose(before, x @ np.linalg.matrix_power(weight, STEPS), rtol=0, atol=1e-5)
    assert store_as_float16(model) == ["W/body_0"]
    onnx.checker.check_model(model, full_check=True)
    np.testing.assert_array_equal(run(model, x), before)
    assert [node.op_type for node in model.graph.node] == ["Cast", "Loop"]
    body = model.graph.node[1].attribute[0].g
    assert list(body.initializer) == []
    assert model.ByteSize() < 0.6 * size


def test_the_runtime_folds_the_casts_when_it_loads(weight, tmp_path):
    model = looped_graph(weight)
    store_as_float16(model)
    options = onnxruntime.SessionOptions()
    options.optimized_model_filepath = str(tmp_path / "optimized.onnx")
    onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    optimized = onnx.load(tmp_path / "optimized.onnx")
    assert "Cast" not in {node.op_type for node in optimized.graph.node}


def test_what_would_change_is_left(weight):
    for values in (weight * 1.001, np.full((37, 37), -1e9, np.float32)):
        model = looped_graph(values.astype(np.float32))
        before = model.SerializeToString()
        assert store_as_float16(model) == []
        assert model.SerializeToString() == before
