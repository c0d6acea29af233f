"""Writes `model.onnx` (greedy) and `model.beam.onnx` (beam) through tf2onnx.

Batch and T_enc are open. An axis whose size is fixed in the file (T_dec, beam) keeps its number in
the graph; its name is written beside it as the dimension's denotation.
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
    GREEDY,
    DecodeFunction,
    DecodeSettings,
    beam_function,
    describe,
    greedy_function,
)
from attention_zoo.export.errors import ConversionError
from attention_zoo.export.onnx_half import store_as_float16

FORMAT = "onnx"
FILES = {GREEDY: "model.onnx", BEAM: "model.beam.onnx"}
OPSET = 18


def write_onnx(
    model: Any,
    folder: Path,
    settings: DecodeSettings,
    metadata: dict[str, str],
    storage: str = "float32",
) -> dict[str, dict[str, Any]]:
    """Write both files into `folder`; return, for each file, what the manifest says of it.

    Args:
        model: the model.
        folder: where the files go.
        settings: what is fixed in the files.
        metadata: written into both files as `metadata_props`, with the signature.
        storage: "float16" stores in two bytes each weight that loses nothing by it.

    Raises:
        ConversionError: tf2onnx refused the model, or wrote a graph that `onnx.checker` refuses.
    """
    described = {}
    for build in (greedy_function, beam_function):
        function = build(model, settings, batch=None)
        signature = describe(model, function.name, function.concrete())
        try:
            graph = _convert(function)
            if storage == "float16":
                store_as_float16(graph)
            _name_axes(graph, signature)
            for key, value in {**metadata, "signature": json.dumps(signature)}.items():
                graph.metadata_props.add(key=key, value=value)
            onnx.checker.check_model(graph)
        except Exception as error:
            raise ConversionError(
                f"ONNX ({function.name}): tf2onnx refused the model: {error}"
            ) from error
        onnx.save(graph, str(folder / FILES[function.name]))
        described[FILES[function.name]] = {function.name: signature}
    return described


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


def _name_axes(graph: onnx.ModelProto, signature: dict[str, Any]) -> None:
    """Give every axis of the inputs and outputs its name; tf2onnx makes them up (unk__17)."""
    described = {entry["name"]: entry for entry in (*signature["inputs"], *signature["outputs"])}
    for value in (*graph.graph.input, *graph.graph.output):
        entry = described[value.name]
        shape = value.type.tensor_type.shape
        del shape.dim[:]
        for axis, size in zip(entry["axes"], entry["shape"], strict=True):
            if size == -1:
                shape.dim.add(dim_param=axis, denotation=axis)
            else:
                shape.dim.add(dim_value=size, denotation=axis)
