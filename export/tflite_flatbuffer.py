"""Takes a TFLite file apart into objects, and packs them into a file again."""

from __future__ import annotations

from typing import Any

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema

_ALIGNMENT = 16
_PLACEHOLDER = schema.BuiltinOperator.PLACEHOLDER_FOR_GREATER_OP_CODES


def unpacked(content: bytes) -> Any:
    """The `ModelT` of a file: its graphs, tensors and buffers, to be changed in place."""
    return schema.ModelT.InitFromPackedBuf(content, 0)


def packed(model: Any) -> bytes:
    """The file of a `ModelT`."""
    model.buffers = [new_buffer(buffer.data) for buffer in model.buffers]
    builder = flatbuffers.Builder(1 << 20)
    builder.Finish(model.Pack(builder), file_identifier=b"TFL3")
    return bytes(builder.Output())


def builtin_code(model: Any, operator: Any) -> int:
    """Which of `schema.BuiltinOperator` an operator of a graph is."""
    code = model.operatorCodes[operator.opcodeIndex]
    # files of before schema version 3a keep the code in the narrower field
    return int(max(code.builtinCode, code.deprecatedBuiltinCode))


def add_builtin(model: Any, builtin: int, version: int) -> int:
    """Enter a built-in operator in the list of codes; returns its place there."""
    code = schema.OperatorCodeT()
    code.builtinCode = builtin
    code.deprecatedBuiltinCode = min(builtin, _PLACEHOLDER)
    code.version = version
    model.operatorCodes.append(code)
    return len(model.operatorCodes) - 1


def new_buffer(data: np.ndarray | None) -> Any:
    """A buffer of these bytes."""
    buffer = _AlignedBuffer()
    buffer.data = data
    return buffer


def row_scales(scales: np.ndarray) -> Any:
    """Quantisation of a matrix by rows: value = scale of its row x int8; zero points are 0.

    Many tensors may hold the same object; the file then has it once.
    """
    quantization = _SharedQuantization()
    quantization.scale = scales.astype("<f4")
    quantization.zeroPoint = np.zeros(len(scales), np.int64)
    quantization.quantizedDimension = 0
    return quantization


class _AlignedBuffer(schema.BufferT):
    """A buffer that begins at a multiple of 16 bytes, as the schema asks for.

    The generated class packs bytes wherever they fall, and kernels load more than one at a time.
    """

    def Pack(self, builder: Any) -> Any:
        place = None
        if self.data is not None and len(self.data):
            size = len(self.data)
            builder.StartVector(1, size, _ALIGNMENT)
            builder.head -= size
            builder.Bytes[builder.head : builder.head + size] = bytes(self.data)
            place = builder.EndVector()
        schema.BufferStart(builder)
        if place is not None:
            schema.BufferAddData(builder, place)
        return schema.BufferEnd(builder)


class _SharedQuantization(schema.QuantizationParametersT):
    """Packed once a file, however many tensors point to it: 12 bytes a row are worth it."""

    _packed: tuple[Any, Any] = (None, None)

    def Pack(self, builder: Any) -> Any:
        if self._packed[0] is not builder:
            self._packed = builder, super().Pack(builder)
        return self._packed[1]
