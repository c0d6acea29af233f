"""Which models are written from their layers: those whose parts are all of the zoo."""

from __future__ import annotations

import inspect
from typing import Any

import keras

from attention_zoo.export.onnx_cell import CellStep, GRUStep, LSTMStep
from attention_zoo.layers.bahdanau_attention import BahdanauAttention
from attention_zoo.layers.bahdanau_cell import BahdanauCell
from attention_zoo.layers.conditional_cell import ConditionalCell
from attention_zoo.layers.luong_attention import LuongAttention
from attention_zoo.layers.luong_cell import LuongCell
from attention_zoo.layers.plain_cell import PlainCell
from attention_zoo.layers.uniform_attention import UniformAttention
from attention_zoo.seq2seq import Seq2Seq

CELLS: dict[type, type[CellStep]] = {
    keras.layers.GRUCell: GRUStep,
    keras.layers.LSTMCell: LSTMStep,
}
"""The writer of each Keras cell."""
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
            (ConditionalCell, BahdanauAttention),
            (ConditionalCell, UniformAttention),
            (LuongCell, LuongAttention),
        )
    return known and all(type(inner) in CELLS for inner in inner_cells(cell))


def inner_cells(cell: Any) -> list[Any]:
    """The Keras cells of a decoder cell, in the order in which they step."""
    if isinstance(cell, ConditionalCell):
        return [*cell.cells, cell.second]
    return list(cell.cells)
