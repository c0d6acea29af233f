"""The weights of an ONNX graph and the products with them, in float32 or in int8.

In int8 a matrix W (d_in, d_out) is stored as whole numbers q in [-127, 127] with one scale for
each output, W[:, j] ~ q[:, j] * scale[j]. What it is multiplied with is rounded to 8 bits anew in
each product, by onnxruntime's `DynamicQuantizeMatMul`: one scale for the whole tensor, so that the
rows of a batch share it. Biases, and whatever is small, stay float32.
"""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from attention_zoo.export.half_weights import LEAST_VALUES
from attention_zoo.export.onnx_graph import CONTRIB, Graph, ints
from attention_zoo.export.runnable import INT8

_LARGEST = 127


class Weights:
    """Products with named matrices; a name stands for one tensor, however often it is used.

    Args:
        quantize: None for float32, or "int8".
    """

    def __init__(self, quantize: str | None = None):
        self.is_int8 = quantize == INT8

    def product(
        self,
        graph: Graph,
        x: str,
        name: str,
        matrix: np.ndarray,
        bias: np.ndarray | None = None,
        more: str | None = None,
        rank: int = 2,
    ) -> str:
        """x matrix + bias, or + more: (..., d_in) -> (..., d_out).

        Args:
            graph: where the product stands.
            x: (N, d_in), or of another `rank`.
            name: of the matrix.
            matrix: (d_in, d_out).
            bias: (d_out,), or None.
            more: a tensor (N, d_out) to add, in place of a bias.
            rank: of `x`.
        """
        if bias is not None:
            more = graph.weight(f"{name}/bias", bias)
        if self.is_int8 and matrix.size >= LEAST_VALUES:
            values, scales = quantized(matrix, axis=0)
            read = [x, graph.weight(f"{name}/int8", values), graph.weight(f"{name}/scale", scales)]
            if bias is not None:
                # the empty name: no zero point, the whole numbers are symmetric about 0
                return graph.op("DynamicQuantizeMatMul", *read, "", str(more), domain=CONTRIB)
            result = graph.op("DynamicQuantizeMatMul", *read, domain=CONTRIB)
        elif more is not None and rank == 2:
            return graph.op("Gemm", x, graph.weight(name, matrix), more)
        else:
            result = graph.op("MatMul", x, graph.weight(name, matrix))
        return result if more is None else graph.op("Add", result, more)

    def stored(self, graph: Graph, name: str, values: np.ndarray, axis: int) -> str:
        """A weight that an operator reads as float32, stored in int8 with a scale along `axis`.

        The runtime makes it float32 once, when it loads the file.
        """
        if not self.is_int8:
            return graph.weight(name, values)
        whole, scales = quantized(values, axis)
        root = graph.root
        number = root.op("Cast", root.weight(f"{name}/int8", whole), to=TensorProto.FLOAT)
        return root.op("Mul", number, np.expand_dims(scales, axis))


class Embedding:
    """A matrix E (vocabulary, d_emb): its rows, and where it is tied the logits x E^T + b."""

    def __init__(self, weights: Weights, name: str, matrix: np.ndarray):
        self.name = name
        self.matrix = matrix
        self.is_int8 = weights.is_int8 and matrix.size >= LEAST_VALUES

    def rows(self, graph: Graph, ids: str) -> str:
        """ids (...) -> (..., d_emb)."""
        if not self.is_int8:
            return graph.op("Gather", graph.weight(self.name, self.matrix), ids)
        values, scales = self._int8(graph)
        found = graph.op("Cast", graph.op("Gather", values, ids), to=TensorProto.FLOAT)
        return graph.op("Mul", found, graph.op("Gather", scales, ids))

    def logits(self, graph: Graph, x: str, bias: np.ndarray) -> str:
        """(N, d_emb) -> (N, vocabulary)."""
        bias_name = graph.weight(f"{self.name}/bias", bias)
        if not self.is_int8:
            weight = graph.weight(self.name, self.matrix)
            return graph.op("Gemm", x, weight, bias_name, transB=1)
        values, scales = self._int8(graph)
        # stored once; the runtime makes these two when it loads the file
        columns = graph.root.op("Transpose", values, perm=[1, 0])
        flat = graph.root.op("Reshape", scales, ints(-1))
        return graph.op("DynamicQuantizeMatMul", x, columns, flat, "", bias_name, domain=CONTRIB)

    def _int8(self, graph: Graph) -> tuple[str, str]:
        """Whole numbers (vocabulary, d_emb) and scales (vocabulary, 1)."""
        values, scales = quantized(self.matrix, axis=1)
        return (
            graph.weight(f"{self.name}/int8", values),
            graph.weight(f"{self.name}/scale", scales[:, None]),
        )


def quantized(values: np.ndarray, axis: int) -> tuple[np.ndarray, np.ndarray]:
    """Whole numbers q of int8 and scales with values ~ q * scale; `axis` is what shares a scale."""
    largest = np.abs(values).max(axis=axis)
    scales = np.where(largest > 0, largest / _LARGEST, 1.0).astype(np.float32)
    whole = np.rint(values / np.expand_dims(scales, axis)).astype(np.int8)
    return whole, scales
