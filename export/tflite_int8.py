"""Stores the weights of a TFLite file as int8, one scale a row; activations stay float32.

    W (rows, width) float32   becomes   W8 int8, s (rows,):   W[i, j] ~ s[i] W8[i, j]

A FULLY_CONNECTED that reads W becomes hybrid: its kernel rounds each input vector to int8 when it
comes, multiplies in int8, and gives float32 (what TFLite calls dynamic range). A GATHER of rows of
W becomes an EMBEDDING_LOOKUP, which rounds nothing more. Biases and small tensors stay float32.

The converter's own quantisation (`Optimize.DEFAULT`) keeps a matrix that is embedding and output
layer twice, once with a single scale for all rows, and turns the whole of that into float32 in
each call before it gathers a row: the file of such a model took 41% of the float32 bytes, here 28%.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from ai_edge_litert import schema_py_generated as schema

from attention_zoo.export.half_weights import LEAST_VALUES
from attention_zoo.export.int8_rounding import rounded_to_int8
from attention_zoo.export.tflite_flatbuffer import (
    add_builtin,
    builtin_code,
    new_buffer,
    packed,
    row_scales,
    unpacked,
)

_OPERATORS = schema.BuiltinOperator
# the first versions that take int8 weights with a scale a row
_PRODUCT_VERSION, _LOOKUP_VERSION = 12, 4


@dataclasses.dataclass(frozen=True)
class _Reader:
    """An operator of a graph that reads a buffer, and as which of its inputs."""

    graph: Any
    operator: Any
    place: int
    builtin: int

    @property
    def is_product(self) -> bool:
        """x W^T."""
        return (self.builtin, self.place) == (_OPERATORS.FULLY_CONNECTED, 1)

    @property
    def is_lookup(self) -> bool:
        """Rows of W for ids (n,) or (1, n)."""
        if (self.builtin, self.place) != (_OPERATORS.GATHER, 0):
            return False
        options, ids = self.operator.builtinOptions, self.graph.tensors[self.operator.inputs[1]]
        by_row = not options.axis and not options.batchDims
        return by_row and ids.type == schema.TensorType.INT32 and _is_row(list(ids.shape))


def store_as_int8(content: bytes) -> bytes:
    """The same file with its matrices in int8, where every operator can read them so."""
    model = unpacked(content)
    changed: list[_Reader] = []
    for index, readers in _readers(model).items():
        values = _matrix(model, index)
        if values is None or not all(one.is_product or one.is_lookup for one in readers):
            continue
        rounded, scales = rounded_to_int8(values, axis=1)
        model.buffers[index].data = rounded.view(np.uint8).ravel()
        quantization = row_scales(scales)
        for tensor in _tensors(model, index):
            tensor.type = schema.TensorType.INT8
            tensor.quantization = quantization
        changed += readers
    _Change(model).apply(changed)
    return packed(model)


def _is_row(shape: list[int]) -> bool:
    return len(shape) == 1 or (len(shape) == 2 and shape[0] == 1)


def _readers(model: Any) -> dict[int, list[_Reader]]:
    """buffer -> what reads it."""
    found: dict[int, list[_Reader]] = {}
    for graph in model.subgraphs:
        for operator in graph.operators:
            builtin = builtin_code(model, operator)
            for place, tensor in enumerate(operator.inputs):
                if tensor >= 0:  # -1 is an input that was left out
                    reader = _Reader(graph, operator, place, builtin)
                    found.setdefault(graph.tensors[tensor].buffer, []).append(reader)
    return found


def _tensors(model: Any, index: int) -> list[Any]:
    return [one for graph in model.subgraphs for one in graph.tensors if one.buffer == index]


def _matrix(model: Any, index: int) -> np.ndarray | None:
    """What a buffer holds, if it is a float32 matrix large enough, the same to all its tensors."""
    data = model.buffers[index].data
    tensors = _tensors(model, index)
    kinds = {(one.type, tuple(map(int, one.shape))) for one in tensors}
    if data is None or len(data) < LEAST_VALUES * 4 or len(kinds) != 1:
        return None
    ((kind, shape),) = kinds
    outputs = {id(graph.tensors[one]) for graph in model.subgraphs for one in graph.outputs}
    if kind != schema.TensorType.FLOAT32 or len(shape) != 2 or outputs & set(map(id, tensors)):
        return None
    return np.ascontiguousarray(data, dtype=np.uint8).view("<f4").reshape(shape)


class _Change:
    """Lets the operators that read what is int8 now read it so."""

    def __init__(self, model: Any):
        self._model = model
        self._codes: dict[int, int] = {}

    def apply(self, readers: list[_Reader]) -> None:
        for reader in readers:
            if reader.is_product:
                reader.operator.opcodeIndex = self._code(
                    _OPERATORS.FULLY_CONNECTED, _PRODUCT_VERSION
                )
                # as the converter has it; without, the kernels of XNNPACK do not take the product
                reader.operator.builtinOptions.asymmetricQuantizeInputs = True
        for reader in readers:
            if reader.is_lookup:
                self._look_up(reader.graph, reader.operator)

    def _code(self, builtin: int, version: int) -> int:
        if builtin not in self._codes:
            self._codes[builtin] = add_builtin(self._model, builtin, version)
        return self._codes[builtin]

    def _look_up(self, graph: Any, gather: Any) -> None:
        """GATHER(W, ids)  ->  EMBEDDING_LOOKUP(ids, W), which takes ids (n,) only."""
        table, ids = (int(one) for one in gather.inputs)
        result = int(gather.outputs[0])
        lookup = _operator(self._code(_OPERATORS.EMBEDDING_LOOKUP, _LOOKUP_VERSION))
        steps = [lookup]
        if len(graph.tensors[ids].shape) == 2:
            width = int(graph.tensors[table].shape[1])
            flat, rows = self._flat_tensors(graph, ids, result, width)
            steps = [
                self._reshape(graph, ids, flat, [-1]),
                lookup,
                self._reshape(graph, rows, result, [1, -1, width]),
            ]
            ids, result = flat, rows
        lookup.inputs = np.array([ids, table], np.int32)
        lookup.outputs = np.array([result], np.int32)
        place = next(n for n, one in enumerate(graph.operators) if one is gather)
        graph.operators[place : place + 1] = steps

    def _flat_tensors(self, graph: Any, ids: int, result: int, width: int) -> tuple[int, int]:
        flat = _add_tensor(graph, graph.tensors[ids], b"/flat", [1], [-1])
        rows = _add_tensor(graph, graph.tensors[result], b"/rows", [1, width], [-1, width])
        return flat, rows

    def _reshape(self, graph: Any, source: int, target: int, shape: list[int]) -> Any:
        values = np.array(shape, np.int32)
        like = graph.tensors[target]
        size = _add_tensor(graph, like, b"/shape", [len(shape)], None)
        graph.tensors[size].type = schema.TensorType.INT32
        graph.tensors[size].buffer = len(self._model.buffers)
        self._model.buffers.append(new_buffer(values.view(np.uint8)))
        reshape = _operator(self._code(_OPERATORS.RESHAPE, 1))
        reshape.inputs = np.array([source, size], np.int32)
        reshape.outputs = np.array([target], np.int32)
        return reshape


def _operator(code: int) -> Any:
    operator = schema.OperatorT()
    operator.opcodeIndex = code
    return operator


def _add_tensor(
    graph: Any, like: Any, suffix: bytes, shape: list[int], signature: list[int] | None
) -> int:
    """A new tensor of the type of another; returns its index."""
    tensor = schema.TensorT()
    tensor.name = like.name + suffix
    tensor.type = like.type
    tensor.shape = np.array(shape, np.int32)
    tensor.shapeSignature = None if signature is None else np.array(signature, np.int32)
    tensor.hasRank = True
    tensor.buffer = 0  # the empty buffer: what is computed
    graph.tensors.append(tensor)
    return len(graph.tensors) - 1
