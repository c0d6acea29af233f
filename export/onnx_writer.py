"""Writes `model.onnx` and `model.int8.onnx`: greedy decoding, and beam search where asked for.

The models of the zoo are written from their layers (`onnx_decoding`): the encoder as the operators
GRU or LSTM, keys and values once a sentence, a decode loop of few operators. tf2onnx cannot get
there: it sees the traced graph, in which the layers are loops already. A model with parts of its
user's own goes through tf2onnx all the same (`onnx_traced`), slower and in float only.

Batch and T_enc are open. An axis whose size is fixed in the file (T_dec) keeps its number in the
graph; its name is written beside it as the dimension's denotation. The beam axis is 1, or the
file's width where the input `beam` is true.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import onnx

from attention_zoo.export.decode_functions import BEAM, GREEDY, OUTPUTS, DecodeSettings, axes_of
from attention_zoo.export.errors import ConversionError
from attention_zoo.export.onnx_decoding import PREFIX, SWITCH, decoding_graph
from attention_zoo.export.onnx_graph import OPSET as OPSET
from attention_zoo.export.onnx_half import store_as_float16
from attention_zoo.export.onnx_known import is_known
from attention_zoo.export.onnx_step import DecodeStep
from attention_zoo.export.onnx_weights import Weights
from attention_zoo.export.runnable import INT8

FILE = "model.onnx"
INT8_FILE = "model.int8.onnx"

Signature = dict[str, list[dict[str, Any]]]


def write_onnx(
    model: Any,
    folder: Path,
    settings: DecodeSettings,
    metadata: dict[str, str],
    storage: str = "float32",
    quantize: str | None = None,
) -> dict[str, Signature]:
    """Write the file into `folder`, and return what the manifest says of its signatures.

    Args:
        model: the model.
        folder: where the file goes.
        settings: what is fixed in the file.
        metadata: written into it as `metadata_props`, with the signatures.
        storage: "float16" stores in two bytes each weight that loses nothing by it.
        quantize: "int8" writes `model.int8.onnx`, weights in whole numbers of one byte.

    Raises:
        ConversionError: a model of unknown parts that tf2onnx refuses, or that int8 is asked of; a
            graph that `onnx.checker` refuses.
    """
    described = {name: _described(model.config, name, settings) for name in (GREEDY, BEAM)}
    if is_known(model):
        graph = decoding_graph(DecodeStep(model, Weights(quantize)), settings)
    else:
        refuse_int8(model, quantize)
        from attention_zoo.export.onnx_traced import traced_graph  # tf2onnx is slow to import

        try:
            graph = traced_graph(model, settings)
        except Exception as error:
            raise ConversionError(f"ONNX: tf2onnx refused the model: {error}") from error
    name = INT8_FILE if quantize == INT8 else FILE
    save(graph, folder / name, described, metadata, storage)
    return described


def refuse_int8(model: Any, quantize: str | None) -> None:
    """Raise ConversionError if int8 is asked of a model whose parts the zoo does not know."""
    if quantize is not None:
        raise ConversionError(
            f"ONNX: {model.name} has layers or methods that are not of the zoo; expected a Seq2Seq "
            f"of its own parts for quantize={quantize!r}. Fix: leave quantize out; in float32 such "
            "a model is written through tf2onnx."
        )


def save(
    graph: onnx.ModelProto,
    path: Path,
    described: Mapping[str, Signature],
    metadata: Mapping[str, str],
    storage: str,
) -> None:
    """Name the axes, add the metadata, check the graph and write it.

    Raises:
        ConversionError: `onnx.checker` refuses it.
    """
    if storage == "float16":
        store_as_float16(graph)
    _name_axes(graph, described)
    for key, value in {**metadata, "signatures": json.dumps(described)}.items():
        graph.metadata_props.add(key=key, value=value)
    try:
        onnx.checker.check_model(graph)
    except onnx.checker.ValidationError as error:
        raise ConversionError(f"ONNX: onnx.checker refused {path.name}: {error}") from error
    onnx.save(graph, str(path))


def _described(config: Any, name: str, settings: DecodeSettings) -> Signature:
    """The manifest's words for a search: name, axes, shape and dtype of every tensor."""
    sizes = {"T_dec": settings.max_length, "beam": settings.beam_width}

    def entry(tensor: str, dtype: str) -> dict[str, Any]:
        axes = axes_of(config, name, tensor, [])
        shape = [sizes.get(axis, -1) for axis in axes]
        return {"name": tensor, "axes": axes, "shape": shape, "dtype": dtype}

    dtypes = {"tokens": "int32", "lengths": "int32"}
    inputs = [entry("source", "int32")]
    outputs = [entry(tensor, dtypes.get(tensor, "float32")) for tensor in sorted(OUTPUTS)]
    if name == BEAM:
        # an input that is true, and outputs of other names than those of greedy decoding
        inputs.append({"name": SWITCH, "axes": [], "shape": [], "dtype": "bool"})
        outputs = [{**one, "name": PREFIX + one["name"]} for one in outputs]
    return {"inputs": inputs, "outputs": outputs}


def _name_axes(graph: onnx.ModelProto, described: Mapping[str, Signature]) -> None:
    """Give every axis of the inputs and outputs its name, as the manifest has it."""
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
