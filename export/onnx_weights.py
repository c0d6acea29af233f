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
from attention_zoo.export.int8_rounding import rounded_to_int8
from attention_zoo.export.onnx_blocks import Blocks
from attention_zoo.export.onnx_graph import CONTRIB, Graph, ints
from attention_zoo.export.runnable import INT8

# a table that a runtime makes when it loads the file may take so much of its memory
_MOST_BYTES = 32 * 2**20


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
            values, scales = rounded_to_int8(matrix, axis=0)
            scale = graph.operand(f"{name}/scale", scales)
            read = [x, graph.operand(f"{name}/int8", values), scale]
            if bias is not None:
                # the empty name: no zero point, the whole numbers are symmetric about 0
                return graph.op("DynamicQuantizeMatMul", *read, "", str(more), domain=CONTRIB)
            result = graph.op("DynamicQuantizeMatMul", *read, domain=CONTRIB)
        elif more is not None and rank == 2:
            return graph.op("Gemm", x, graph.operand(name, matrix), more)
        else:
            result = graph.op("MatMul", x, graph.operand(name, matrix))
        return result if more is None else graph.op("Add", result, more)

    def stored(self, graph: Graph, name: str, values: np.ndarray, axis: int) -> str:
        """A weight that an operator reads as float32, stored in int8 with a scale along `axis`.

        The runtime makes it float32 once, when it loads the file.
        """
        if not self.is_int8:
            return graph.weight(name, values)
        whole, scales = rounded_to_int8(values, axis)
        root = graph.root
        number = root.op("Cast", root.weight(f"{name}/int8", whole), to=TensorProto.FLOAT)
        return root.op("Mul", number, np.expand_dims(scales, axis))


class Embedding:
    """A matrix E (vocabulary, d_emb): its rows, their products, and where it is tied the logits."""

    def __init__(self, weights: Weights, name: str, matrix: np.ndarray):
        self.weights = weights
        self.name = name
        self.matrix = matrix
        self.is_int8 = weights.is_int8 and matrix.size >= LEAST_VALUES

    def rows(self, graph: Graph, ids: str) -> str:
        """ids (...) -> (..., d_emb)."""
        if not self.is_int8 or self.matrix.nbytes <= _MOST_BYTES:
            return graph.op("Gather", graph.once(f"{self.name}/float", self._whole), ids)
        values, scales = self._int8(graph)
        found = graph.op("Cast", graph.op("Gather", values, ids), to=TensorProto.FLOAT)
        return graph.op("Mul", found, graph.op("Gather", scales, ids))

    def projected(
        self, graph: Graph, ids: str, name: str, matrix: np.ndarray, bias: np.ndarray
    ) -> str:
        """ids (N, 1) -> E[ids] matrix + bias, (N, 1, width).

        E matrix holds only constants: the runtime makes it when it loads the file, of all ids, and
        a step reads one row of it in place of the matrix. Unless it were too large to be held.
        """
        if len(self.matrix) * matrix.shape[1] * np.float32().nbytes > _MOST_BYTES:
            rows = self.rows(graph, ids)
            return self.weights.product(graph, rows, name, matrix, bias, rank=3)

        def table(root: Graph) -> str:
            whole = graph.once(f"{self.name}/float", self._whole)
            right = self.weights.stored(root, name, matrix, axis=0)
            return root.op("Gemm", whole, right, root.weight(f"{name}/bias", bias))

        return graph.op("Gather", graph.once(f"{name}/table", table), ids)

    def logits(self, graph: Graph, x: str, bias: np.ndarray, blocks: Blocks | None = None) -> str:
        """x E^T + bias: (N, d_emb) -> (N, vocabulary), or laid out in blocks."""
        name = self.name if blocks is None else f"{self.name}/blocks"
        bias = bias if blocks is None else blocks.spread(bias, closed=True)
        bias_name = graph.weight(f"{name}/bias", bias)

        def laid_out(near: Graph, rows: str) -> str:
            if blocks is None:
                return rows
            front, back = blocks.around
            return near.op("Pad", rows, ints(front, 0, back, 0))

        if not self.is_int8:
            if blocks is None:
                weight = graph.operand(self.name, self.matrix)
            else:
                whole = graph.weight(self.name, self.matrix)
                weight = graph.once(f"{name}/rows", lambda near: laid_out(near, whole), near=True)
            return graph.op("Gemm", x, weight, bias_name, transB=1)
        # stored once; the runtime makes these two when it loads the file
        values, scales = self._int8(graph)
        columns = graph.once(
            f"{name}/columns",
            lambda near: near.op("Transpose", laid_out(near, values), perm=[1, 0]),
            near=True,
        )
        flat = graph.once(
            f"{name}/scales",
            lambda near: near.op("Reshape", laid_out(near, scales), ints(-1)),
            near=True,
        )
        return graph.op("DynamicQuantizeMatMul", x, columns, flat, "", bias_name, domain=CONTRIB)

    def _whole(self, root: Graph) -> str:
        """E in float32."""
        if not self.is_int8:
            return root.weight(self.name, self.matrix)
        values, scales = self._int8(root)
        return root.op("Mul", root.op("Cast", values, to=TensorProto.FLOAT), scales)

    def _int8(self, graph: Graph) -> tuple[str, str]:
        """Whole numbers (vocabulary, d_emb) and scales (vocabulary, 1)."""
        values, scales = rounded_to_int8(self.matrix, axis=1)
        return (
            graph.weight(f"{self.name}/int8", values),
            graph.weight(f"{self.name}/scale", scales[:, None]),
        )
