"""One decode step of a `Seq2Seq` as ONNX operators, and what stands before the first."""

from __future__ import annotations

from typing import Any

import numpy as np

from attention_zoo.export.onnx_attention import (
    Additive,
    Mechanism,
    Multiplicative,
    Prepared,
    Uniform,
)
from attention_zoo.export.onnx_blocks import Blocks
from attention_zoo.export.onnx_cell import split
from attention_zoo.export.onnx_encoder import Encoded, bridge, encode
from attention_zoo.export.onnx_graph import Graph, ints
from attention_zoo.export.onnx_known import CELLS, inner_cells
from attention_zoo.export.onnx_weights import Embedding, Weights
from attention_zoo.layers.luong_attention import LuongAttention
from attention_zoo.layers.plain_cell import PlainCell
from attention_zoo.layers.uniform_attention import UniformAttention


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
        self.blocks = Blocks.of(self.config.vocab_target)
        # what looks first takes its query from the state that the last cell goes on with: one
        # product with that cell's own
        mechanism = self.mechanism if self.config.attends_first else None
        beside = mechanism.query_matrix() if mechanism is not None else None
        stepped = inner_cells(cell)
        last = len(stepped) - 1
        self.cells = [
            CELLS[type(inner)](f"decoder/{i}", inner, weights, beside if i == last else None)
            for i, inner in enumerate(stepped)
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
        memory = encoded.outputs
        if self.config.layer_norm:
            memory = self._normalised(graph, memory)
        # 0 in padded steps: the context of a row that has no real step is 0
        memory = graph.op("Mul", memory, encoded.real)
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
        # of the cell that reads the context: [y_{t-1}; c_t], or c_t alone
        reading = self.cells[-1] if self.config.conditional else self.cells[0]
        of_cell = reading.kernel[-cell.d_h :]
        bias = np.concatenate([reading.input_bias, readout.bias.numpy()])
        return np.concatenate([of_cell, of_readout], axis=1), bias

    def prepared(self, graph: Graph, mask: str, read: dict[str, str]) -> Prepared | None:
        """What the steps read, from the mask (batch, T_enc) and what `start` gave."""
        if self.mechanism is None:
            return None
        return self.mechanism.prepared(graph, mask, read["keys"], read["values"])

    def axes(self) -> dict[str, dict[str, int | None]]:
        """The axes and sizes of all that is carried or read by a step; None is open."""
        # of a conditional cell both go through the same states
        carried = self.cells[:1] if self.config.conditional else self.cells
        states: list[dict[str, int | None]] = [
            {"batch": None, "d_s": cell.units} for cell in carried for _ in range(cell.n_states)
        ]
        if self.attends and self.config.input_feeding:
            states.append({"batch": None, "width of s~": self.model.decoder.cell.output_width})
        named = {f"state_{index}": axes for index, axes in enumerate(states)}
        if self.mechanism is None:
            return named
        rows = "T_enc" if self.mechanism.n_heads == 1 else "n_heads * T_enc"
        values = {"batch": None, rows: None, "d_values": self._of_context()[0].shape[1]}
        return {**named, "keys": self.mechanism.axes_of_keys(self.config.d_h), "values": values}

    def _normalised(self, graph: Graph, outputs: str) -> str:
        norm = self.model.memory_norm
        return graph.op(
            "LayerNormalization",
            outputs,
            graph.weight("memory_norm/gamma", norm.gamma.numpy()),
            graph.weight("memory_norm/beta", norm.beta.numpy()),
            axis=-1,
            epsilon=norm.epsilon,
        )

    def _zeros(self, graph: Graph, source: str) -> str:
        """s~_0: (batch, width)."""
        batch = graph.op("Shape", source, start=0, end=1)
        shape = graph.op("Concat", batch, ints(self.model.decoder.cell.output_width), axis=0)
        return graph.op("Expand", np.array(0, np.float32), shape)

    # The step -----------------------------------------------------------------------------------

    def __call__(
        self, graph: Graph, tokens: str, states: list[str], prepared: Prepared | None
    ) -> tuple[str, str | None, list[str]]:
        """One step, up to the product with the vocabulary.

        Args:
            graph: where it stands.
            tokens: (N, 1) int64, those before.
            states: each (N, width).
            prepared: what the steps read, for a model that attends.

        Returns:
            what `logits` reads (N, width), weights (N, 1, T_enc) or None, the next states.
        """
        if self.mechanism is None or prepared is None:
            output, states = self._advance(graph, self._of_token(graph, tokens), states)
            return output, None, states
        if not self.config.attends_first:
            order = self._step_first
        else:
            order = self._step_look_step if self.config.conditional else self._look_first
        return order(graph, tokens, states, self.mechanism, prepared)

    def logits(self, graph: Graph, output: str, blocks: Blocks | None = None) -> str:
        """(N, width) -> (N, vocab_target), or laid out in `blocks`."""
        layer = self.model.output_layer
        bias = layer.b.numpy()
        if layer.tied:
            return self.target.logits(graph, output, bias, blocks)
        if blocks is None:
            return self.weights.product(graph, output, "W_y", layer.W_y.numpy(), bias)
        W_y, bias = blocks.spread(layer.W_y.numpy()), blocks.spread(bias, closed=True)
        return self.weights.product(graph, output, "W_y/blocks", W_y, bias)

    def _step_first(
        self,
        graph: Graph,
        tokens: str,
        states: list[str],
        mechanism: Mechanism,
        prepared: Prepared,
    ) -> tuple[str, str, list[str]]:
        """`LuongCell`: s_t, then s~_t = tanh(W_c [c_t; s_t])."""
        fed = states[-1:] if self.config.input_feeding else []
        x = self._of_token(graph, tokens, *fed)
        output, own = self._advance(graph, x, states[: len(states) - len(fed)])
        query = mechanism.project(graph, output)
        read, weights = mechanism.attend(graph, query, prepared)  # W_c c_t
        cell = self.model.decoder.cell
        W_c = cell.W_c.numpy()[cell.d_h :]  # of s_t
        read = graph.op("Squeeze", read, ints(1))
        attentional = self.weights.product(graph, output, "W_c", W_c, more=read)
        attentional = graph.op("Tanh", attentional)
        return attentional, weights, [*own, *([attentional] if fed else [])]

    def _look_first(
        self,
        graph: Graph,
        tokens: str,
        states: list[str],
        mechanism: Mechanism,
        prepared: Prepared,
    ) -> tuple[str, str, list[str]]:
        """`BahdanauCell`: c_t from s_{t-1}, then s_t; the readout is tanh(W_r [s_t; c_t; y])."""
        first, top = self.cells[0], self.cells[-1]
        query, of_top = top.of_state(graph, states[-top.n_states])
        read, weights = mechanism.attend(graph, query, prepared)
        mixed = graph.op("Add", self._of_y(graph, tokens), read)  # (N, 1, width)
        mixed = graph.op("Squeeze", mixed, ints(1))
        *x, of_readout = split(graph, mixed, [*first.sizes, self.config.d_emb])
        output, after = self._advance(graph, x, states, of_top)
        return self._readout(graph, output, of_readout), weights, after

    def _step_look_step(
        self,
        graph: Graph,
        tokens: str,
        states: list[str],
        mechanism: Mechanism,
        prepared: Prepared,
    ) -> tuple[str, str, list[str]]:
        """`ConditionalCell`: s'_t, c_t from it, then s_t; the readout as in `_look_first`."""
        first, second = self.cells
        d_emb = self.config.d_emb
        row = graph.op("Squeeze", self._of_y(graph, tokens), ints(1))
        *x, of_y = split(graph, row, [*first.sizes, d_emb])
        between, states = first.step(graph, x, first.of_state(graph, states[0])[1], states)
        query, h = second.of_state(graph, between)
        read, weights = mechanism.attend(graph, query, prepared)
        *x, of_context = split(graph, graph.op("Squeeze", read, ints(1)), [*second.sizes, d_emb])
        output, after = second.step(graph, x, h, states)
        of_readout = graph.op("Add", of_context, of_y)
        return self._readout(graph, output, of_readout), weights, after

    def _of_token(self, graph: Graph, tokens: str, fed: str | None = None) -> list[str]:
        """The lowest layer's product of the embedding, and of what is fed back."""
        cell, d_emb = self.cells[0], self.config.d_emb
        name = f"{cell.name}/kernel/y"
        x = self.target.projected(graph, tokens, name, cell.kernel[:d_emb], cell.input_bias)
        x = graph.op("Squeeze", x, ints(1))
        if fed is not None:
            name = f"{cell.name}/kernel/fed"
            x = self.weights.product(graph, fed, name, cell.kernel[d_emb:], more=x)
        return split(graph, x, cell.sizes)

    def _of_y(self, graph: Graph, tokens: str) -> str:
        """One product of y_{t-1}, for the cell and for the readout: (N, 1, width)."""
        kernel, d_emb = self.cells[0].kernel, self.config.d_emb
        matrix = np.concatenate([kernel[:d_emb], self._W_r[-d_emb:]], axis=1)
        # a bias that `_of_context` adds already is 0 here
        bias = np.zeros(matrix.shape[1], np.float32)
        if self.config.conditional:
            bias[: kernel.shape[1]] = self.cells[0].input_bias
        return self.target.projected(graph, tokens, "decoder/y", matrix, bias)

    @property
    def _W_r(self) -> np.ndarray:
        """Of the readout: (d_s + d_h + d_emb, d_emb)."""
        W_r: np.ndarray = self.model.readout.kernel.numpy()
        return W_r

    def _readout(self, graph: Graph, output: str, rest: str) -> str:
        """tanh(s_t W_r's own rows + what the context and y_{t-1} give)."""
        of_state = self._W_r[: self.cells[-1].units]
        return graph.op("Tanh", self.weights.product(graph, output, "readout", of_state, more=rest))

    def _advance(
        self,
        graph: Graph,
        x: list[str],
        states: list[str],
        of_top: list[str] | None = None,
    ) -> tuple[str, list[str]]:
        """The cell's layers, from the input's product of the lowest.

        `of_top` is the state's product of the top layer, where it is known already.
        """
        output, after = "", []
        for number, cell in enumerate(self.cells):
            own, states = states[: cell.n_states], states[cell.n_states :]
            if number:
                x = cell.of_input(graph, output)
            if of_top is not None and cell is self.cells[-1]:
                h = of_top
            else:
                h = cell.of_state(graph, own[0])[1]
            output, own = cell.step(graph, x, h, own)
            after += own
        return output, after


def _mechanism(cell: Any, weights: Weights) -> Mechanism | None:
    if type(cell) is PlainCell:
        return None
    layer = cell.mechanism
    if isinstance(layer, UniformAttention):
        return Uniform(layer, weights)
    if isinstance(layer, LuongAttention) and layer.score_name != "concat":
        return Multiplicative(layer, weights)
    return Additive(layer, weights)
