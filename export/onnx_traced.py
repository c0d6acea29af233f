"""An ONNX graph of any model through tf2onnx: for models with parts that the zoo does not know.

Right, but slow: tf2onnx makes a loop of many small operators of every recurrent layer, and of the
search itself. `onnx_decoding` writes the models of the zoo from their layers instead.
"""

from __future__ import annotations

import logging
from typing import Any

import onnx
import tensorflow as tf
import tf2onnx

from attention_zoo.export.decode_functions import (
    OUTPUTS,
    DecodeFunction,
    DecodeSettings,
    beam_function,
    greedy_function,
)
from attention_zoo.export.onnx_graph import OPSET
from attention_zoo.export.onnx_merge import merged


def traced_graph(model: Any, settings: DecodeSettings) -> onnx.ModelProto:
    """Both searches, with the inputs and outputs of `onnx_decoding`."""
    functions = (build(model, settings, batch=None) for build in (greedy_function, beam_function))
    greedy, beam = (_convert(function) for function in functions)
    return merged(greedy, beam, OUTPUTS)


def _convert(function: DecodeFunction) -> onnx.ModelProto:
    def traced(source: tf.Tensor) -> dict[str, tf.Tensor]:
        return function.function(source=source)

    logger = logging.getLogger("tf2onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        graph, _ = tf2onnx.convert.from_function(
            tf.function(traced, autograph=False),
            input_signature=[function.inputs["source"]],
            opset=OPSET,
        )
    finally:
        logger.setLevel(level)
    graph.producer_name = "attention-zoo"
    return graph
