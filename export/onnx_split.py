"""Writes `encoder.onnx` and `decoder_step.onnx`, for hosts that drive the decode loop themselves.

    encoder.onnx        source -> state_0, ..., mask, and of models that attend keys and values
    decoder_step.onnx   tokens and all of these -> logits, alignments, next_state_0, ...

An ONNX graph has no two tensors of one name, so the next states have names of their own.

The values are what the steps read of the encoder states, multiplied once with all that multiplies
the context in a step (see `onnx_attention`).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto

from attention_zoo.export.errors import ConversionError
from attention_zoo.export.onnx_graph import Graph, ints
from attention_zoo.export.onnx_known import is_known
from attention_zoo.export.onnx_step import DecodeStep
from attention_zoo.export.onnx_weights import Weights
from attention_zoo.export.onnx_writer import Signature, save
from attention_zoo.export.runnable import INT8
from attention_zoo.export.split_onnx_model import NEXT

ENCODER, STEP = "encoder", "decoder_step"
_DTYPES = {"source": "int32", "tokens": "int32", "mask": "bool"}

Axes = dict[str, int | None]


def write_split_onnx(
    model: Any,
    folder: Path,
    metadata: dict[str, str],
    storage: str = "float32",
    quantize: str | None = None,
) -> dict[str, dict[str, Signature]]:
    """Write both files into `folder`; for each name, what the manifest says of its signature.

    Args:
        model: the model.
        folder: where the files go.
        metadata: written into them as `metadata_props`, with the signatures.
        storage: "float16" stores in two bytes each weight that loses nothing by it.
        quantize: "int8" writes `encoder.int8.onnx` and `decoder_step.int8.onnx`.

    Raises:
        ConversionError: a model with parts that the zoo does not know; a graph that `onnx.checker`
            refuses.
    """
    if not is_known(model):
        raise ConversionError(
            f"ONNX: {model.name} has layers or methods that are not of the zoo; expected a Seq2Seq "
            "of its own parts for split files. Fix: export it as one file (onnx), or as TFLite, "
            "which has the signatures encode and step."
        )
    step = DecodeStep(model, Weights(quantize))
    ending = ".int8.onnx" if quantize == INT8 else ".onnx"
    written = {}
    for name, build in ((ENCODER, _encoder), (STEP, _step)):
        graph, described = build(step)
        save(graph, folder / f"{name}{ending}", described, metadata, storage)
        written[f"{name}{ending}"] = described
    return written


def _encoder(step: DecodeStep) -> tuple[onnx.ModelProto, dict[str, Signature]]:
    axes = _axes(step)
    graph = Graph(ENCODER)
    source = graph.input("source", np.int32, _open(axes["source"]))
    states, encoded, read = step.start(graph, source)
    outputs = {**_state_names(states), "mask": encoded.mask, **read}
    for name, tensor in outputs.items():
        graph.output(tensor, name, _dtype(name), _open(axes[name]))
    return graph.model(), {"encode": _described(axes, ["source"], list(outputs))}


def _step(step: DecodeStep) -> tuple[onnx.ModelProto, dict[str, Signature]]:
    axes = _axes(step)
    graph = Graph(STEP)
    read = [name for name in axes if name not in ("source", "logits", "alignments")]
    given = {name: graph.input(name, _dtype(name), _open(axes[name])) for name in read}
    tokens = graph.op("Cast", given["tokens"], to=TensorProto.INT64)
    states = [tensor for name, tensor in given.items() if name.startswith("state_")]
    prepared = step.prepared(graph, given["mask"], given)
    tokens = graph.op("Unsqueeze", tokens, ints(1))
    output, weights, states = step(graph, tokens, states, prepared)
    logits = step.logits(graph, output)
    real = graph.op("Cast", given["mask"], to=TensorProto.FLOAT)
    if weights is None:
        alignments = graph.op("Mul", real, np.array(0, np.float32))
    else:  # also a row of nothing but padding gets weights 0
        alignments = graph.op("Mul", graph.op("Squeeze", weights, ints(1)), real)
    outputs = {"logits": logits, "alignments": alignments}
    for name, tensor in _state_names(states).items():
        outputs[f"{NEXT}{name}"] = tensor
        axes[f"{NEXT}{name}"] = axes[name]
    for name, tensor in outputs.items():
        graph.output(tensor, name, np.float32, _open(axes[name]))
    return graph.model(), {"step": _described(axes, read, list(outputs))}


def _state_names(states: list[str]) -> dict[str, str]:
    return {f"state_{index}": state for index, state in enumerate(states)}


def _axes(step: DecodeStep) -> dict[str, Axes]:
    """The axes of every tensor of both files."""
    return {
        "source": {"batch": None, "T_enc": None},
        "tokens": {"batch": None},
        "mask": {"batch": None, "T_enc": None},
        "logits": {"batch": None, "vocab_target": step.config.vocab_target},
        "alignments": {"batch": None, "T_enc": None},
        **step.axes(),
    }


def _open(axes: Axes) -> list[int | str]:
    """The sizes of axes, and their names where they are open."""
    return [name if size is None else size for name, size in axes.items()]


def _described(axes: dict[str, Axes], inputs: list[str], outputs: list[str]) -> Signature:
    """The manifest's words for a file: name, axes, shape and dtype of every tensor."""

    def entry(name: str) -> dict[str, Any]:
        shape = [-1 if size is None else size for size in axes[name].values()]
        return {"name": name, "axes": list(axes[name]), "shape": shape, "dtype": _dtype(name)}

    return {
        "inputs": [entry(name) for name in sorted(inputs)],
        "outputs": [entry(name) for name in sorted(outputs)],
    }


def _dtype(name: str) -> str:
    return _DTYPES.get(name, "float32")
