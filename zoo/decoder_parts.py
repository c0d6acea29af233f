"""The parts of a model's decoder that depend on its attention."""

import keras

from attention_zoo.layers.bahdanau_attention import BahdanauAttention
from attention_zoo.layers.bahdanau_cell import BahdanauCell
from attention_zoo.layers.conditional_cell import ConditionalCell
from attention_zoo.layers.luong_attention import LuongAttention
from attention_zoo.layers.luong_cell import LuongCell
from attention_zoo.layers.plain_cell import PlainCell
from attention_zoo.layers.recurrent_encoder import CELLS
from attention_zoo.layers.uniform_attention import UniformAttention


def kind_of_bridge(config):
    """How the decoder's first states come from the encoder's last, as each paper has it."""
    if config.attends_first:
        return "backward" if config.bidirectional else "project"
    return "copy" if config.d_h == config.width_of_state else "project"


def decoder_cell(config, dtype):
    """The cell that attends as the config says, around a GRU or LSTM of its layers."""
    d_s = config.width_of_state
    cells = [CELLS[config.cell](d_s, dtype=dtype) for _ in range(config.decoder_layers)]
    cell = cells[0] if len(cells) == 1 else keras.layers.StackedRNNCells(cells, dtype=dtype)
    if config.attention == "none":
        return PlainCell(cell, dtype=dtype)
    d_attn = config.d_attn or d_s
    if config.attends_first:
        if config.attention == "uniform":
            mechanism = UniformAttention(dtype=dtype)
        else:
            mechanism = BahdanauAttention(d_attn, dtype=dtype)
        if config.conditional:
            second = CELLS[config.cell](d_s, dtype=dtype)
            return ConditionalCell(cell, second, mechanism, dtype=dtype)
        return BahdanauCell(cell, mechanism, dtype=dtype)
    mechanism = LuongAttention(
        config.score,
        units=d_attn if config.score == "concat" else None,
        n_heads=config.n_heads,
        dtype=dtype,
    )
    units = config.d_emb if config.tied_embeddings != "none" else d_s
    return LuongCell(cell, mechanism, units, config.input_feeding, dtype=dtype)
