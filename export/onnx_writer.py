"""Writes `model.onnx` through tf2onnx: greedy decoding, and beam search where it is asked for.

Batch and T_enc are open. An axis whose size is fixed in the file (T_dec) keeps its number in the
graph; its name is written beside it as the dimension's denotation. The beam axis is 1, or the
file's width where the input `beam` is true.
"""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import onnx
import tensorflow as tf
import tf2onnx

from attention_zoo.export.decode_functions import (
    BEAM,
    OUTPUTS,
    DecodeFunction,
    DecodeSettings,
    beam_function,
    describe,
    greedy_function,
)
from attention_zoo.export.errors import ConversionError
from attention_zoo.export.onnx_half import store_as_float16
from attention_zoo.export.onnx_merge import BEAM as SWITCH
from attention_zoo.export.onnx_merge import PREFIX, merged

FORMAT = "onnx"
FILE = "model.onnx"
OPSET = 18


def write_onnx(
    model: Any,
    folder: Path,
    settings: DecodeSettings,
    metadata: dict[str, str],
    storage: str = "float32",
) -> dict[str, Any]:
    """Write `model.onnx` into `folder`, and return what the manifest says of its signatures.

    Args:
        model: the model.
        folder: where the file goes.
        settings: what is fixed in the file.
        metadata: written into it as `metadata_props`, with the signatures.
        storage: "float16" stores in two bytes each weight that loses nothing by it.

    Raises:
        ConversionError: tf2onnx refused the model, or wrote a graph that `onnx.checker` refuses.
    """
    functions = [build(model, settings, batch=None) for build in (greedy_function, beam_function)]
    try:
        described = {one.name: describe(model, one.name, one.concrete()) for one in functions}
        _describe_switch(described[BEAM])
        greedy, beam = (_convert(one) for one in functions)
        graph = merged(greedy, beam, OUTPUTS)
        if storage == "float16":
            store_as_float16(graph)
        _name_axes(graph, described)
        for key, value in {**metadata, "signatures": json.dumps(described)}.items():
            graph.metadata_props.add(key=key, value=value)
        onnx.checker.check_model(graph)
    except Exception as error:
        raise ConversionError(f"ONNX: tf2onnx refused the model: {error}") from error
    onnx.save(graph, str(folder / FILE))
    return described


def _describe_switch(signature: dict[str, Any]) -> None:
    """What beam search has besides in the file: an input that is true, and names of its own."""
    signature["inputs"].append({"name": SWITCH, "axes": [], "shape": [], "dtype": "bool"})
    for entry in signature["outputs"]:
        entry["name"] = PREFIX + entry["name"]


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


def _name_axes(graph: onnx.ModelProto, described: dict[str, Any]) -> None:
    """Give every axis of the inputs and outputs its name; tf2onnx makes them up (unk__17)."""
    entries = {
        entry["name"]: entry
        for signature in described.values()
        for entry in (*signature["inputs"], *signature["outputs"])
    }
    for value in (*graph.graph.input, *graph.graph.output):
        entry = entries[value.name]
        shape = value.type.tensor_type.shape
        shape.SetInParent()  # a scalar has a shape, without dimensions
        del shape.dim[:]
        for axis, size in zip(entry["axes"], entry["shape"], strict=True):
            if size == -1 or axis == "beam":  # 1 where the answer is greedy
                shape.dim.add(dim_param=axis, denotation=axis)
            else:
                shape.dim.add(dim_value=size, denotation=axis)
