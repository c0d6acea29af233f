"""The encoder and the bridge as ONNX operators: `GRU` and `LSTM`, without a loop.

The operators skip padding at the end of a row alone, while a Keras mask may be false anywhere. So
the real tokens of each row are moved together first, and the states back to where their tokens
stood. The rest is the same: h_i = 0 in padded steps, and a last state that is that of the last real
token, or 0 for a row that has none.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from onnx import TensorProto

from attention_zoo.export.onnx_graph import Graph, ints
from attention_zoo.export.onnx_weights import Embedding, Weights
from attention_zoo.vocabulary import PAD

# the order of the gates in ONNX, as places in that of Keras (GRU z r h; LSTM i f c o)
_GATES = {"gru": (0, 1, 2), "lstm": (0, 3, 1, 2)}


@dataclasses.dataclass(frozen=True)
class Encoded:
    """What the encoder gives, as names of tensors.

    Attributes:
        outputs: (batch, T_enc, d_h), of padded steps some other's.
        mask: (batch, T_enc) bool.
        real: (batch, T_enc, 1), 1 and 0: the mask, to be multiplied with.
        states: for each layer the last states, each (batch, d_h): [h], or [h, c] of an LSTM.
    """

    outputs: str
    mask: str
    real: str
    states: list[list[str]]


def encode(
    graph: Graph, weights: Weights, encoder: Any, embedding: Embedding, source: str
) -> Encoded:
    """`RecurrentEncoder` over the embeddings of `source` (batch, T_enc) int32."""
    mask = graph.op("Not", graph.op("Equal", source, np.array(PAD, np.int32)))
    count = graph.op("Cast", mask, to=TensorProto.INT64)
    lengths = graph.op("ReduceSum", count, ints(1), keepdims=0)  # (batch,)
    lengths = graph.op("Cast", lengths, to=TensorProto.INT32)
    # the real tokens first: of equal ones TopK takes the earlier
    T_enc = graph.op("Shape", source, start=1, end=2)
    _, order = graph.ops("TopK", 2, count, T_enc, axis=1)
    ids = graph.op("GatherElements", source, order, axis=1)
    outputs = embedding.rows(graph, ids)
    states = []
    for number, cells in enumerate(encoder.cells):
        name = f"encoder/{number}"
        outputs, last = _layer(graph, weights, name, encoder.cell, cells, outputs, lengths)
        states.append(last)
    # a real step stands behind as many as came before it; a padded one has some place too
    place = graph.op("CumSum", count, np.array(1), exclusive=1)
    place = graph.op("Unsqueeze", place, ints(2))
    outputs = graph.op("GatherND", outputs, place, batch_dims=1)
    real = graph.op("Cast", graph.op("Unsqueeze", mask, ints(2)), to=TensorProto.FLOAT)
    return Encoded(outputs, mask, real, states)


def _layer(
    graph: Graph,
    weights: Weights,
    name: str,
    kind: str,
    cells: list[Any],
    inputs: str,
    lengths: str,
) -> tuple[str, list[str]]:
    """One layer: outputs (batch, T_enc, d_h), and its last states, each (batch, d_h)."""
    units, n_states = cells[0].units, 2 if kind == "lstm" else 1
    kernel = np.stack([_reordered(cell.kernel.numpy().T, kind) for cell in cells])
    recurrent = np.stack([_reordered(cell.recurrent_kernel.numpy().T, kind) for cell in cells])
    attributes: dict[str, Any] = {"hidden_size": units}
    if len(cells) == 2:
        attributes["direction"] = "bidirectional"
    if kind == "gru":
        attributes["linear_before_reset"] = 1  # the reset gate after the product
    outputs, *last = graph.ops(
        kind.upper(),
        1 + n_states,
        graph.op("Transpose", inputs, perm=[1, 0, 2]),  # (T_enc, batch, width)
        weights.stored(graph, f"{name}/kernel", kernel, axis=2),
        weights.stored(graph, f"{name}/recurrent_kernel", recurrent, axis=2),
        graph.weight(f"{name}/bias", np.stack([_bias(cell, kind) for cell in cells])),
        lengths,
        **attributes,
    )
    width = len(cells) * units
    # (T_enc, directions, batch, units) -> (batch, T_enc, d_h)
    outputs = graph.op("Transpose", outputs, perm=[2, 0, 1, 3])
    outputs = graph.op("Reshape", outputs, ints(0, 0, width))
    return outputs, [
        graph.op("Reshape", graph.op("Transpose", state, perm=[1, 0, 2]), ints(0, width))
        for state in last
    ]


def _reordered(values: np.ndarray, kind: str) -> np.ndarray:
    """The gates along the first axis from Keras' order to that of ONNX."""
    gates = np.split(values, len(_GATES[kind]))
    return np.concatenate([gates[place] for place in _GATES[kind]])


def _bias(cell: Any, kind: str) -> np.ndarray:
    """The biases of the input's product and of the state's, one after the other."""
    bias = cell.bias.numpy()
    inputs, states = bias if bias.ndim == 2 else (bias, np.zeros_like(bias))
    return np.concatenate([_reordered(inputs, kind), _reordered(states, kind)])


def bridge(graph: Graph, weights: Weights, layer: Any, states: list[list[str]]) -> list[str]:
    """`Bridge`: the last states of the encoder -> the first of the decoder, flat, (batch, d_s)."""
    first = []
    below = max(0, len(states) - layer.n_layers)
    for number in range(layer.n_layers):
        own = states[min(below + number, len(states) - 1)]
        for place, state in enumerate(own):
            if layer.kind == "copy":
                first.append(state)
                continue
            index = number * len(own) + place
            dense = layer.projections[index]
            kernel = dense.kernel.numpy()
            if layer.kind == "backward":  # the second half, h<-_1
                ends = ints(len(kernel)), ints(2 * len(kernel))
                state = graph.op("Slice", state, *ends, ints(1))
            projected = weights.product(graph, state, f"bridge/{index}", kernel, dense.bias.numpy())
            first.append(graph.op("Tanh", projected))
    return first
