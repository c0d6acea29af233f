"""Stores the weights of a TFLite file as float16; a DEQUANTIZE in each graph makes them float32.

    weight (float32 constant)   becomes   float16 constant --DEQUANTIZE--> weight

The converter's own float16 support also turns -1e9, which stands for log 0, into infinity, and
hands the large tensors into every step of a loop (beam search took half as long again). Here only
what float16 holds exactly is changed, and the loop bodies get a DEQUANTIZE of their own, which runs
once: the kernel keeps the result of a constant.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from ai_edge_litert import schema_py_generated as schema

from attention_zoo.export.half_weights import LEAST_VALUES, exact_float16
from attention_zoo.export.tflite_flatbuffer import new_buffer, packed, unpacked

_VERSION = 3  # of DEQUANTIZE, the first that reads float16


def store_as_float16(content: bytes) -> bytes:
    """The same file with its weights in two bytes each, where that loses nothing."""
    model = unpacked(content)
    halves: dict[int, int] = {}  # float32 buffer -> float16 buffer
    for index in range(len(model.buffers)):
        half = _half_of(model, index)
        if half is not None:
            halves[index] = len(model.buffers)
            model.buffers.append(new_buffer(half.view(np.uint8)))
    if not halves:
        return content
    model.operatorCodes.append(_dequantize_code())
    for graph in model.subgraphs:
        _dequantize_weights(graph, halves, len(model.operatorCodes) - 1)
    in_use = {tensor.buffer for graph in model.subgraphs for tensor in graph.tensors}
    for index in halves:
        if index not in in_use:
            model.buffers[index].data = None
    return packed(model)


def _half_of(model: Any, index: int) -> np.ndarray | None:
    """A buffer as float16 if every tensor that reads it is float32 and nothing would be lost."""
    data = model.buffers[index].data
    if data is None or len(data) < LEAST_VALUES * 4:
        return None
    readers = [
        tensor.type
        for graph in model.subgraphs
        for tensor in graph.tensors
        if tensor.buffer == index
    ]
    if not readers or set(readers) != {schema.TensorType.FLOAT32}:
        return None
    return exact_float16(np.ascontiguousarray(data, dtype=np.uint8).view("<f4"))


def _dequantize_weights(graph: Any, halves: dict[int, int], code: int) -> None:
    operators = []
    for index in range(len(graph.tensors)):
        tensor = graph.tensors[index]
        if tensor.buffer not in halves:
            continue
        half = schema.TensorT()
        half.name = tensor.name + b"/float16"
        half.shape, half.shapeSignature = tensor.shape, tensor.shapeSignature
        half.hasRank = tensor.hasRank
        half.type = schema.TensorType.FLOAT16
        half.buffer = halves[tensor.buffer]
        tensor.buffer = 0  # the empty buffer: what is computed
        operator = schema.OperatorT()
        operator.opcodeIndex = code
        operator.inputs = np.array([len(graph.tensors)], np.int32)
        operator.outputs = np.array([index], np.int32)
        graph.tensors.append(half)
        operators.append(operator)
    graph.operators = [*operators, *(graph.operators or ())]


def _dequantize_code() -> Any:
    code = schema.OperatorCodeT()
    code.builtinCode = code.deprecatedBuiltinCode = schema.BuiltinOperator.DEQUANTIZE
    code.version = _VERSION
    return code
