"""One step of a GRU or LSTM cell of the decoder as merged matrix products.

Not as the operators `GRU` and `LSTM` with one time step: they take no int8, and would read the
context, which here has been multiplied with the kernel already (see `onnx_attention`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from attention_zoo.export.onnx_graph import Graph, ints
from attention_zoo.export.onnx_weights import Weights


class CellStep:
    """One layer of the decoder's cell: what is projected of its input, of its state, and the rest.

    Args:
        name: before the names of its weights.
        cell: a Keras `GRUCell` or `LSTMCell`.
        weights: of the graph.
        beside: a matrix (d_s, width) that the state before the step is multiplied with too, in one
            product with the recurrent kernel.
    """

    n_states: int

    def __init__(self, name: str, cell: Any, weights: Weights, beside: np.ndarray | None = None):
        self.name = name
        self.weights = weights
        self.units = cell.units
        self.kernel, self.recurrent = cell.kernel.numpy(), cell.recurrent_kernel.numpy()
        self.input_bias, self.recurrent_bias = self._biases(cell.bias.numpy())
        self.beside = beside
        self.sizes = self._sizes()

    def _biases(self, bias: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """(of the input's product, of the state's)."""
        raise NotImplementedError  # by the subclass of each cell

    def _sizes(self) -> list[int]:
        """Widths of the parts that `step` takes, of the input's product as of the state's."""
        raise NotImplementedError

    def step(
        self, graph: Graph, x: list[str], h: list[str], states: list[str]
    ) -> tuple[str, list[str]]:
        """The parts of both products and the states, each (batch, width) -> output, next states."""
        raise NotImplementedError

    def of_input(self, graph: Graph, x: str) -> list[str]:
        """The input's product."""
        name = f"{self.name}/kernel"
        product = self.weights.product(graph, x, name, self.kernel, self.input_bias)
        return split(graph, product, self.sizes)

    def of_state(self, graph: Graph, state: str) -> tuple[str, list[str]]:
        """The product with `beside` ("" if there is none), and the recurrent one."""
        matrix, bias, sizes = self.recurrent, self.recurrent_bias, self.sizes
        if self.beside is not None:
            width = self.beside.shape[1]
            matrix = np.concatenate([self.beside, matrix], axis=1)
            if bias is not None:
                bias = np.concatenate([np.zeros(width, np.float32), bias])
            sizes = [width, *sizes]
        name = f"{self.name}/recurrent_kernel"
        parts = split(graph, self.weights.product(graph, state, name, matrix, bias), sizes)
        return ("", parts) if self.beside is None else (parts[0], parts[1:])


class GRUStep(CellStep):
    """z, r = sigmoid(x + h); h' = z h + (1 - z) tanh(x_h + r h_h)."""

    n_states = 1

    def _biases(self, bias: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        return bias[0], bias[1]

    def _sizes(self) -> list[int]:
        return [2 * self.units, self.units]  # gates z and r, candidate

    def step(
        self, graph: Graph, x: list[str], h: list[str], states: list[str]
    ) -> tuple[str, list[str]]:
        (state,) = states
        gates = graph.op("Sigmoid", graph.op("Add", x[0], h[0]))
        z, r = split(graph, gates, [self.units, self.units])
        candidate = graph.op("Tanh", graph.op("Add", x[1], graph.op("Mul", r, h[1])))
        # z h + (1 - z) candidate with one product less
        kept = graph.op("Mul", z, graph.op("Sub", state, candidate))
        state = graph.op("Add", candidate, kept)
        return state, [state]


class LSTMStep(CellStep):
    """i, f, g, o = x + h; c' = sigmoid(f) c + sigmoid(i) tanh(g); h' = sigmoid(o) tanh(c')."""

    n_states = 2

    def _biases(self, bias: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        return bias, None

    def _sizes(self) -> list[int]:
        return [4 * self.units]

    def step(
        self, graph: Graph, x: list[str], h: list[str], states: list[str]
    ) -> tuple[str, list[str]]:
        units = self.units
        gates = graph.op("Add", x[0], h[0])
        first, g, o = split(graph, gates, [2 * units, units, units])
        i, f = split(graph, graph.op("Sigmoid", first), [units, units])
        added = graph.op("Mul", i, graph.op("Tanh", g))
        c = graph.op("Add", graph.op("Mul", f, states[1]), added)
        state = graph.op("Mul", graph.op("Sigmoid", o), graph.op("Tanh", c))
        return state, [state, c]


def split(graph: Graph, values: str, sizes: list[int]) -> list[str]:
    """Parts of the last axis, of these widths."""
    if len(sizes) == 1:
        return [values]
    return graph.ops("Split", len(sizes), values, ints(*sizes), axis=-1)
