"""One decode step of a `Seq2Seq` as ONNX operators, and what stands before the first."""

from __future__ import annotations

import inspect
from typing import Any

import keras
import numpy as np

from attention_zoo.export.onnx_attention import (
    Additive,
    Mechanism,
    Multiplicative,
    Prepared,
    Uniform,
)
from attention_zoo.export.onnx_cell import CellStep, GRUStep, LSTMStep, split
from attention_zoo.export.onnx_encoder import Encoded, bridge, encode
from attention_zoo.export.onnx_graph import Graph, ints
from attention_zoo.export.onnx_weights import Embedding, Weights
from attention_zoo.layers.bahdanau_attention import BahdanauAttention
from attention_zoo.layers.bahdanau_cell import BahdanauCell
from attention_zoo.layers.luong_attention import LuongAttention
from attention_zoo.layers.luong_cell import LuongCell
from attention_zoo.layers.plain_cell import PlainCell
from attention_zoo.layers.uniform_attention import UniformAttention
from attention_zoo.seq2seq import Seq2Seq

_CELLS: dict[type, type[CellStep]] = {
    keras.layers.GRUCell: GRUStep,
    keras.layers.LSTMCell: LSTMStep,
}
# what a class derived of `Seq2Seq` may change without its decoding being another
_OF_TRAINING = {
    *("__init__", "build", "get_config", "call", "alignments"),
    *("compute_loss", "compute_metrics"),
}


def is_known(model: Any) -> bool:
    """Whether `DecodeStep` knows every part of a model: that of the zoo, not one derived of it."""
    own = {name: one for name, one in vars(Seq2Seq).items() if inspect.isfunction(one)}
    changed = {name for name, one in own.items() if getattr(type(model), name, None) is not one}
    if not isinstance(model, Seq2Seq) or changed - _OF_TRAINING:
        return False
    cell = model.decoder.cell
    if type(cell) is PlainCell:
        known = True
    else:
        mechanism = getattr(cell, "mechanism", None)
        known = (type(cell), type(mechanism)) in (
            (BahdanauCell, BahdanauAttention),
            (BahdanauCell, UniformAttention),
            (LuongCell, LuongAttention),
        )
    return known and all(type(inner) in _CELLS for inner in cell.cells)


class DecodeStep:
    """The parts of a model, ready to be written into graphs that share its weights.

    The states are one flat list, as those of `Seq2Seq.decode_step`: of each layer of the cell, then
    s~_{t-1} where it is fed back.
    """

    def __init__(self, model: Any, weights: Weights):
        self.model, self.config, self.weights = model, model.config, weights
        matrix = model.target_embedding.embeddings.numpy()
        self.target = Embedding(weights, "target_embedding", matrix)
        self.source = self.target
        if self.config.tied_embeddings != "all":
            matrix = model.source_embedding.embeddings.numpy()
            self.source = Embedding(weights, "source_embedding", matrix)
        cell = model.decoder.cell
        self.mechanism = _mechanism(cell, weights)
        # the query of Bahdanau's order is the state before the step: the top layer's own product
        mechanism = self.mechanism if self.config.attends_first else None
        beside = mechanism.query_matrix() if mechanism is not None else None
        last = len(cell.cells) - 1
        self.cells = [
            _CELLS[type(inner)](f"decoder/{i}", inner, weights, beside if i == last else None)
            for i, inner in enumerate(cell.cells)
        ]

    @property
    def attends(self) -> bool:
        """Whether the model has attention."""
        return self.mechanism is not None

    # Before the first step ----------------------------------------------------------------------

    def start(self, graph: Graph, source: str) -> tuple[list[str], Encoded, dict[str, str]]:
        """The first states, the encoder's outputs, and of a model that attends keys and values."""
        encoded = encode(graph, self.weights, self.model.encoder, self.source, source)
        states = bridge(graph, self.weights, self.model.bridge, encoded.states)
        if self.mechanism is None:
            return states, encoded, {}
        memory = encoded.memory
        if self.config.layer_norm:
            memory = self._normalised(graph, encoded)
        if self.config.input_feeding:
            states.append(self._zeros(graph, source))
        keys = self.mechanism.keys(graph, memory)
        values = self.mechanism.values(graph, memory, *self._of_context())
        return states, encoded, {"keys": keys, "values": values}

    def _of_context(self) -> tuple[np.ndarray, np.ndarray]:
        """All that multiplies the context in a step, side by side, and the biases added to it."""
        cell = self.model.decoder.cell
        if not self.config.attends_first:
            W_c = cell.W_c.numpy()[: cell.d_h]  # (d_h, width of s~)
            return W_c, np.zeros(W_c.shape[1], np.float32)
        readout = self.model.readout
        of_readout = readout.kernel.numpy()[cell.d_s : cell.d_s + cell.d_h]
        of_cell = self.cells[0].kernel[cell.d_emb :]
        bias = np.concatenate([self.cells[0].input_bias, readout.bias.numpy()])
        return np.concatenate([of_cell, of_readout], axis=1), bias

    def prepared(self, graph: Graph, mask: str, read: dict[str, str]) -> Prepared | None:
        """What the steps read, from the mask (batch, T_enc) and what `start` gave."""
        if self.mechanism is None:
            return None
        penalty = self.mechanism.penalty(graph, mask)
        return Prepared(read["keys"], read["values"], penalty)

    def axes(self) -> dict[str, dict[str, int | None]]:
        """The axes and sizes of all that is carried or read by a step; None is open."""
        states: list[dict[str, int | None]] = [
            {"batch": None, "d_s": cell.units} for cell in self.cells for _ in range(cell.n_states)
        ]
        if self.attends and self.config.input_feeding:
            states.append({"batch": None, "width of s~": self.model.decoder.cell.output_width})
        named = {f"state_{index}": axes for index, axes in enumerate(states)}
        if self.mechanism is None:
            return named
        rows = "T_enc" if self.mechanism.n_heads == 1 else "n_heads * T_enc"
        values = {"batch": None, rows: None, "d_values": self._of_context()[0].shape[1]}
        return {**named, "keys": self.mechanism.axes_of_keys(self.config.d_h), "values": values}

    def _normalised(self, graph: Graph, encoded: Encoded) -> str:
        norm = self.model.memory_norm
        normalised = graph.op(
            "LayerNormalization",
            encoded.memory,
            graph.weight("memory_norm/gamma", norm.gamma.numpy()),
            graph.weight("memory_norm/beta", norm.beta.numpy()),
            axis=-1,
            epsilon=norm.epsilon,
        )
        real = graph.op("Unsqueeze", encoded.mask, ints(2))
        return graph.op("Where", real, normalised, np.array(0, np.float32))

    def _zeros(self, graph: Graph, source: str) -> str:
        """s~_0: (batch, width)."""
        batch = graph.op("Shape", source, start=0, end=1)
        shape = graph.op("Concat", batch, ints(self.model.decoder.cell.output_width), axis=0)
        return graph.op("Expand", np.array(0, np.float32), shape)

    # The step -----------------------------------------------------------------------------------

    def __call__(
        self, graph: Graph, tokens: str, states: list[str], prepared: Prepared | None
    ) -> tuple[str, str | None, list[str]]:
        """One step.

        Args:
            graph: where it stands.
            tokens: (N,) int64, those before.
            states: each (N, width).
            prepared: what the steps read, for a model that attends.

        Returns:
            logits (N, vocab_target), weights (N, 1, T_enc) or None, the next states.
        """
        embedded = self.target.rows(graph, tokens)  # (N, d_emb)
        if self.mechanism is None or prepared is None:
            output, states = self._advance(graph, 0, [embedded], states)
            return self._logits(graph, output), None, states
        order = self._look_first if self.config.attends_first else self._step_first
        return order(graph, embedded, states, self.mechanism, prepared)

    def _step_first(
        self,
        graph: Graph,
        embedded: str,
        states: list[str],
        mechanism: Mechanism,
        prepared: Prepared,
    ) -> tuple[str, str, list[str]]:
        """`LuongCell`: s_t, then s~_t = tanh(W_c [c_t; s_t])."""
        fed = states[-1:] if self.config.input_feeding else []
        own = states[: len(states) - len(fed)]
        output, own = self._advance(graph, 0, [embedded, *fed], own)
        query = mechanism.project(graph, output)
        read, weights = mechanism.attend(graph, query, prepared)  # W_c c_t
        cell = self.model.decoder.cell
        W_c = cell.W_c.numpy()[cell.d_h :]  # of s_t
        attentional = self.weights.product(graph, output, "W_c", W_c, more=read)
        attentional = graph.op("Tanh", attentional)
        return self._logits(graph, attentional), weights, [*own, *([attentional] if fed else [])]

    def _look_first(
        self,
        graph: Graph,
        embedded: str,
        states: list[str],
        mechanism: Mechanism,
        prepared: Prepared,
    ) -> tuple[str, str, list[str]]:
        """`BahdanauCell`: c_t from s_{t-1}, then s_t; the readout is tanh(W_r [s_t; c_t; y])."""
        first, top = self.cells[0], self.cells[-1]
        d_s, d_emb = top.units, self.config.d_emb
        query, of_top = top.of_state(graph, states[-top.n_states])
        read, weights = mechanism.attend(graph, query, prepared)
        # one product of y_{t-1}, for the cell and for the readout
        W_r = self.model.readout.kernel.numpy()
        matrix = np.concatenate([first.kernel[:d_emb], W_r[-d_emb:]], axis=1)
        mixed = self.weights.product(graph, embedded, "decoder/y", matrix, more=read)
        *of_input, of_readout = split(graph, mixed, [*first.sizes, d_emb])
        output, after = self._one_layer(graph, 0, of_input, states, of_top)
        if len(self.cells) > 1:
            output, above = self._advance(graph, 1, [output], states[first.n_states :], of_top)
            after = [*after, *above]
        readout = self.weights.product(graph, output, "readout", W_r[:d_s], more=of_readout)
        return self._logits(graph, graph.op("Tanh", readout)), weights, after

    def _advance(
        self,
        graph: Graph,
        lowest: int,
        inputs: list[str],
        states: list[str],
        of_top: list[str] | None = None,
    ) -> tuple[str, list[str]]:
        """The cell's layers from the `lowest` to the top; `of_top` is their last one's product."""
        after: list[str] = []
        for number, cell in enumerate(self.cells[lowest:], lowest):
            x = cell.of_input(graph, inputs)
            output, own = self._one_layer(graph, number, x, states, of_top)
            states = states[cell.n_states :]
            inputs = [output]
            after += own
        return inputs[0], after

    def _one_layer(
        self, graph: Graph, number: int, x: list[str], states: list[str], of_top: list[str] | None
    ) -> tuple[str, list[str]]:
        """A layer from its input's product and the states from its own on."""
        cell = self.cells[number]
        own = states[: cell.n_states]
        is_top = number == len(self.cells) - 1
        h = of_top if of_top is not None and is_top else cell.of_state(graph, own[0])[1]
        return cell.step(graph, x, h, own)

    def _logits(self, graph: Graph, output: str) -> str:
        layer = self.model.output_layer
        if layer.tied:
            return self.target.logits(graph, output, layer.b.numpy())
        return self.weights.product(graph, output, "W_y", layer.W_y.numpy(), layer.b.numpy())


def _mechanism(cell: Any, weights: Weights) -> Mechanism | None:
    if type(cell) is PlainCell:
        return None
    layer = cell.mechanism
    if isinstance(layer, UniformAttention):
        return Uniform(layer, weights)
    if isinstance(layer, LuongAttention) and layer.score_name != "concat":
        return Multiplicative(layer, weights)
    return Additive(layer, weights)
