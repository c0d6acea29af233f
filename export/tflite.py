"""Writes one TFLite file with the signatures greedy, beam, encode and step; built-in ops only.

A SavedModel with variables leaves READ_VARIABLE ops that fail at run time, so every function is
frozen to constants first, its loops kept as loops; the frozen functions become the signatures of a
SavedModel, and the converter merges the constants they share. The batch is 1: with an open batch
every recurrent loop needs Flex ops. T_enc stays open. Then the file itself is changed: writes to
lists in one operator (`tflite_update`), graphs that no delegate may take (`tflite_main_graphs`),
and weights in float16 or int8 (`tflite_half`, `tflite_int8`).
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import tensorflow as tf
from ai_edge_litert import schema_py_generated as schema
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

from attention_zoo.export.decode_functions import (
    DecodeFunction,
    DecodeSettings,
    beam_function,
    describe,
    encode_function,
    greedy_function,
    step_function,
)
from attention_zoo.export.errors import ConversionError, UnsupportedOpsError
from attention_zoo.export.open_width import OpenWidth
from attention_zoo.export.runnable import INT8
from attention_zoo.export.tflite_flatbuffer import unpacked
from attention_zoo.export.tflite_half import store_as_float16
from attention_zoo.export.tflite_int8 import store_as_int8
from attention_zoo.export.tflite_main_graphs import pass_over_main_graphs
from attention_zoo.export.tflite_update import update_in_place

FILE = "model.tflite"
INT8_FILE = "model.int8.tflite"


def write_tflite(
    model: Any,
    folder: Path,
    settings: DecodeSettings,
    storage: str = "float32",
    quantize: Iterable[str] = (),
) -> dict[str, Any]:
    """Write `model.tflite` into `folder`, and return what the manifest says of its signatures.

    With the storage "float16", each weight that loses nothing by it takes two bytes. With
    "int8" in `quantize`, `model.int8.tflite` is written too, with the same signatures.

    Raises:
        ConversionError: the converter refused the model.
        UnsupportedOpsError: the file would need custom or Flex ops.
    """
    model = OpenWidth(model)
    encode = encode_function(model, batch=1)
    functions = (
        greedy_function(model, settings, batch=1),
        beam_function(model, settings, batch=1),
        encode,
        step_function(model, encode, batch=1),
    )
    traced = {function.name: function.concrete() for function in functions}
    try:
        content = pass_over_main_graphs(update_in_place(_convert(functions, traced)))
    except Exception as error:
        raise ConversionError(f"TFLite: the converter refused the model: {error}") from error
    foreign = foreign_ops(content)
    if foreign:
        raise UnsupportedOpsError(FILE, foreign)
    if INT8 in quantize:
        (folder / INT8_FILE).write_bytes(store_as_int8(content))
    if storage == "float16":
        content = store_as_float16(content)
    (folder / FILE).write_bytes(content)
    return {name: describe(model, name, concrete) for name, concrete in traced.items()}


def operators(content: bytes) -> list[str]:
    """The names of the operators of a TFLite file, read from its flatbuffer, sorted.

    A built-in operator is named as in the schema ("WHILE"); a custom one "CUSTOM:<its code>".
    """
    names = {value: name for name, value in vars(schema.BuiltinOperator).items() if name[0] != "_"}
    model = unpacked(content)
    found = set()
    for code in model.operatorCodes:
        # files of before schema version 3a keep the code in the narrower field
        number = max(code.builtinCode, code.deprecatedBuiltinCode)
        if number == schema.BuiltinOperator.CUSTOM:
            found.add(f"CUSTOM:{code.customCode.decode()}")
        else:
            found.add(names.get(number, f"UNKNOWN:{number}"))
    return sorted(found)


def foreign_ops(content: bytes) -> list[str]:
    """The operators of a TFLite file that are not built in: custom ones, and Flex among them."""
    return [name for name in operators(content) if name.startswith(("CUSTOM", "UNKNOWN"))]


def _convert(functions: tuple[DecodeFunction, ...], traced: dict[str, Any]) -> bytes:
    module = tf.Module()
    module.frozen = {}
    signatures = {}
    for function in functions:
        frozen = convert_variables_to_constants_v2(traced[function.name], lower_control_flow=False)
        module.frozen[function.name] = frozen
        call = _with_names(frozen, sorted(traced[function.name].structured_outputs))
        signatures[function.name] = tf.function(call, autograph=False).get_concrete_function(
            **function.inputs
        )
    with tempfile.TemporaryDirectory(prefix="attention-zoo-tflite-") as folder:
        tf.saved_model.save(module, folder, signatures=signatures)
        converter = tf.lite.TFLiteConverter.from_saved_model(
            folder, signature_keys=list(signatures)
        )
        converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS]
        return converter.convert()


def _with_names(frozen: Any, outputs: list[str]) -> Callable[..., dict[str, Any]]:
    """Call a frozen function by the names of its inputs; freezing gives its outputs as a list."""

    inputs = [tensor.op.name for tensor in frozen.inputs]

    def call(**tensors: Any) -> dict[str, Any]:
        results = frozen(*(tensors[name] for name in inputs))
        return dict(zip(outputs, tf.nest.flatten(results), strict=True))

    return call
