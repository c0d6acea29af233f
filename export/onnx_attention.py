"""The attention mechanisms as ONNX operators: keys and values once a sentence, one look a step.

Each class stands for one layer of `attention_zoo.layers` and gives the same weights. The context
itself is never made: all that follows it is a product with some matrix R, and

    c_t R = (sum_i a_{t,i} h_i) R = sum_i a_{t,i} (h_i R)

so that the *values* h_i R are made for all steps at once, and a step reads T_enc rows in place of a
matrix of d_h rows, which is less for all but the longest sources.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from onnx import TensorProto

from attention_zoo.export.onnx_graph import Graph, ints
from attention_zoo.export.onnx_weights import Weights

# added to the score of a padded step: its exponential is exactly 0
_CLOSED = np.array(-1e30, np.float32)


@dataclasses.dataclass(frozen=True)
class Prepared:
    """What the steps read of the source, as names of tensors.

    Attributes:
        keys: (batch, T_enc, d_h), or (batch, n_heads, T_enc, d_h / n_heads); of an additive score
            (batch, T_enc, d_attn + 1), closed in padded steps.
        values: (batch, T_enc, width), or (batch, n_heads * T_enc, width).
        penalty: (batch, 1, T_enc): 0, and -1e30 in padded steps; "" where the keys are closed.
    """

    keys: str
    values: str
    penalty: str = ""

    def all(self) -> list[str]:
        """The tensors that there are, in the order of the arguments."""
        return [self.keys, self.values, *filter(None, [self.penalty])]


class Mechanism:
    """Base: softmax over the real steps and the weighted sum of the values.

    Args:
        layer: the mechanism that is written.
        weights: of the graph.
    """

    n_heads = 1

    def __init__(self, layer: Any, weights: Weights):
        self.layer = layer
        self.weights = weights

    def keys(self, graph: Graph, memory: str) -> str:
        """What of the score depends on the memory alone."""
        return memory

    def axes_of_keys(self, d_h: int) -> dict[str, int | None]:
        """The axes of the keys and their sizes; None is open."""
        return {"batch": None, "T_enc": None, "d_h": d_h}

    def values(self, graph: Graph, memory: str, matrix: np.ndarray, bias: np.ndarray) -> str:
        """h_i R + bias; the bias goes through the weighted sum as it is, since weights sum to 1."""
        return self.weights.product(graph, memory, "attention/R", matrix, bias, rank=3)

    def query_matrix(self) -> np.ndarray | None:
        """(d_s, width): what the query is multiplied with first; None if it is not."""
        return None

    def scores(self, graph: Graph, query: str, keys: str) -> str:
        """(batch, width of the projected query) -> (batch, 1 or n_heads, T_enc)."""
        raise NotImplementedError  # by the subclass of each layer that has a score

    def prepared(self, graph: Graph, mask: str, keys: str, values: str) -> Prepared:
        """What the steps read, from the mask (batch, T_enc), the keys and the values."""
        penalty = graph.op("Where", mask, np.array(0, np.float32), _CLOSED)
        return Prepared(keys, values, graph.op("Unsqueeze", penalty, ints(1)))

    def project(self, graph: Graph, query: str) -> str:
        """The product of the query with its matrix."""
        matrix = self.query_matrix()
        if matrix is None:
            return query
        return self.weights.product(graph, query, "attention/W_a", matrix)

    def attend(self, graph: Graph, query: str, prepared: Prepared) -> tuple[str, str]:
        """A projected query (batch, d) -> c R + bias (batch, 1, width), and the weights.

        The weights, (batch, 1, T_enc), of a row without a real step are 1 / T_enc here, not 0, and
        its context is 0 because its memory is: the caller closes such rows once, after all steps.
        """
        scores = self.scores(graph, query, prepared.keys)
        if prepared.penalty:
            scores = graph.op("Add", scores, prepared.penalty)
        return self.read(graph, graph.op("Softmax", scores, axis=-1), prepared.values)

    def read(self, graph: Graph, weights: str, values: str) -> tuple[str, str]:
        """The weighted sum, and the weights as they are shown."""
        # (batch, 1, T_enc) x (batch, T_enc, width)
        return graph.op("MatMul", weights, values), weights


class Additive(Mechanism):
    """v_a^T tanh(W_a s + U_a h_i): `BahdanauAttention`, and `LuongAttention`'s concat score.

    Each key has one number more, 0 of a real step and 1 of a padded one, for which W_a has a column
    of 0 and v_a an entry of -1e30: so a padded step is closed without an operator of its own.
    """

    def __init__(self, layer: Any, weights: Weights):
        super().__init__(layer, weights)
        if hasattr(layer, "U_a"):
            self._of_query, self._of_keys = layer.W_a.numpy(), layer.U_a.numpy()
        else:
            self._of_query, self._of_keys = np.split(layer.W_a.numpy(), [layer.d_s])

    def keys(self, graph: Graph, memory: str) -> str:
        return self.weights.product(graph, memory, "attention/U_a", self._of_keys, rank=3)

    def axes_of_keys(self, d_h: int) -> dict[str, int | None]:
        return {"batch": None, "T_enc": None, "d_attn": self._of_keys.shape[1]}

    def prepared(self, graph: Graph, mask: str, keys: str, values: str) -> Prepared:
        padded = graph.op("Cast", graph.op("Not", mask), to=TensorProto.FLOAT)
        padded = graph.op("Unsqueeze", padded, ints(2))
        return Prepared(graph.op("Concat", keys, padded, axis=2), values)

    def query_matrix(self) -> np.ndarray:
        return np.pad(self._of_query, [(0, 0), (0, 1)])

    def scores(self, graph: Graph, query: str, keys: str) -> str:
        hidden = graph.op("Add", graph.op("Unsqueeze", query, ints(1)), keys)
        v_a = np.append(self.layer.v_a.numpy(), _CLOSED)[:, None]
        # (batch, T_enc, d_attn + 1) x (d_attn + 1, 1)
        scores = graph.op("MatMul", graph.op("Tanh", hidden), graph.operand("attention/v_a", v_a))
        return graph.op("Reshape", scores, ints(0, 1, -1))


class Uniform(Mechanism):
    """`UniformAttention`: the same weight for every real step, whatever the query."""

    def attend(self, graph: Graph, query: str, prepared: Prepared) -> tuple[str, str]:
        weights = graph.op("Softmax", prepared.penalty, axis=-1)
        return self.read(graph, weights, prepared.values)


class Multiplicative(Mechanism):
    """The dot and the general score of `LuongAttention`, with one head or several."""

    def __init__(self, layer: Any, weights: Weights):
        super().__init__(layer, weights)
        self.n_heads = layer.n_heads

    def keys(self, graph: Graph, memory: str) -> str:
        """(batch, T_enc, d_h), or (batch, n_heads, T_enc, d_h / n_heads)."""
        if self.n_heads == 1:
            return memory
        heads = graph.op("Reshape", memory, ints(0, 0, self.n_heads, -1))
        return graph.op("Transpose", heads, perm=[0, 2, 1, 3])

    def axes_of_keys(self, d_h: int) -> dict[str, int | None]:
        if self.n_heads == 1:
            return super().axes_of_keys(d_h)
        width = d_h // self.n_heads
        return {"batch": None, "n_heads": self.n_heads, "T_enc": None, "d_h / n_heads": width}

    def values(self, graph: Graph, memory: str, matrix: np.ndarray, bias: np.ndarray) -> str:
        if self.n_heads == 1:
            return super().values(graph, memory, matrix, bias)
        width = self.layer.d_v // self.n_heads
        parts = []
        for head, rows in enumerate(np.split(matrix, self.n_heads)):
            ends = ints(head * width), ints((head + 1) * width)
            part = graph.op("Slice", memory, *ends, ints(2))
            # the weights of all heads together sum to n_heads
            share = (bias / self.n_heads).astype(np.float32)
            name = f"attention/R/{head}"
            parts.append(self.weights.product(graph, part, name, rows, share, rank=3))
        return graph.op("Concat", *parts, axis=1)

    def query_matrix(self) -> np.ndarray | None:
        return self.layer.W_a.numpy() if self.layer.score_name == "general" else None

    def scores(self, graph: Graph, query: str, keys: str) -> str:
        if self.n_heads > 1:
            query = graph.op("Reshape", query, ints(0, self.n_heads, -1))
        # (batch, [n_heads,] T_enc, d) x (batch, [n_heads,] d, 1)
        product = graph.op("MatMul", keys, graph.op("Unsqueeze", query, ints(-1)))
        return graph.op("Reshape", product, ints(0, self.n_heads, -1))

    def read(self, graph: Graph, weights: str, values: str) -> tuple[str, str]:
        if self.n_heads == 1:
            return super().read(graph, weights, values)
        row = graph.op("Reshape", weights, ints(0, 1, -1))  # (batch, 1, n_heads * T_enc)
        read, _ = super().read(graph, row, values)
        return read, graph.op("ReduceMean", weights, ints(1), keepdims=1)
