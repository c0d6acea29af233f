"""The benchmarks are scripts, not a package: they are imported from their folder."""

import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))

STEPS = 5
"""Of the loop in `counting_file`."""


@pytest.fixture(scope="session")
def counting_file(tmp_path_factory):
    """An ONNX file that answers at once: tokens = source, lengths = how many are not 0.

    It has a loop, of STEPS steps with one Add each, as a file that decodes has.
    """
    path = tmp_path_factory.mktemp("counting") / "model.onnx"
    body = helper.make_graph(
        [
            helper.make_node("Identity", ["going_on"], ["still"]),
            helper.make_node("Add", ["sum", "one"], ["next"]),
        ],
        "body",
        [
            helper.make_tensor_value_info("step", TensorProto.INT64, []),
            helper.make_tensor_value_info("going_on", TensorProto.BOOL, []),
            helper.make_tensor_value_info("sum", TensorProto.FLOAT, []),
        ],
        [
            helper.make_tensor_value_info("still", TensorProto.BOOL, []),
            helper.make_tensor_value_info("next", TensorProto.FLOAT, []),
        ],
    )
    nodes = [
        helper.make_node("Loop", ["steps", "yes", "zero"], ["scores"], body=body),
        helper.make_node("Identity", ["source"], ["tokens"]),
        helper.make_node("Cast", ["source"], ["flags"], to=TensorProto.BOOL),
        helper.make_node("Cast", ["flags"], ["ones"], to=TensorProto.INT32),
        helper.make_node("ReduceSum", ["ones", "last"], ["lengths"], keepdims=0),
    ]
    weights = {
        "steps": np.array(STEPS, np.int64),
        "yes": np.array(True),
        "zero": np.array(0.0, np.float32),
        "one": np.array(1.0, np.float32),
        "last": np.array([1], np.int64),
    }
    graph = helper.make_graph(
        nodes,
        "counting",
        [helper.make_tensor_value_info("source", TensorProto.INT32, ["batch", "T_enc"])],
        [
            helper.make_tensor_value_info("tokens", TensorProto.INT32, ["batch", "T_enc"]),
            helper.make_tensor_value_info("lengths", TensorProto.INT32, ["batch"]),
            helper.make_tensor_value_info("scores", TensorProto.FLOAT, []),
        ],
        [numpy_helper.from_array(value, name) for name, value in weights.items()],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)]), str(path))
    return path
