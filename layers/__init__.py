"""Attention mechanisms, decoder cells, decoder and encoder as Keras layers."""

from typing import TYPE_CHECKING

from attention_zoo.lazy_package import lazy_package

if TYPE_CHECKING:  # what type checkers and editors see; at run time NAMES decides
    from attention_zoo.layers.attention_cell import AttentionCell as AttentionCell
    from attention_zoo.layers.attention_decoder import AttentionDecoder as AttentionDecoder
    from attention_zoo.layers.attention_mechanism import AttentionMechanism as AttentionMechanism
    from attention_zoo.layers.bahdanau_attention import BahdanauAttention as BahdanauAttention
    from attention_zoo.layers.bahdanau_cell import BahdanauCell as BahdanauCell
    from attention_zoo.layers.conditional_cell import ConditionalCell as ConditionalCell
    from attention_zoo.layers.decoder_cell import DecoderCell as DecoderCell
    from attention_zoo.layers.diagnosis import Diagnosis as Diagnosis
    from attention_zoo.layers.luong_attention import LuongAttention as LuongAttention
    from attention_zoo.layers.luong_cell import LuongCell as LuongCell
    from attention_zoo.layers.plain_cell import PlainCell as PlainCell
    from attention_zoo.layers.recurrent_encoder import RecurrentEncoder as RecurrentEncoder
    from attention_zoo.layers.shape_doctor import diagnose as diagnose
    from attention_zoo.layers.shapes import ShapeError as ShapeError
    from attention_zoo.layers.shapes import check_axes as check_axes
    from attention_zoo.layers.softmax import masked_softmax as masked_softmax
    from attention_zoo.layers.uniform_attention import UniformAttention as UniformAttention

NAMES = {
    "AttentionCell": "attention_cell",
    "AttentionDecoder": "attention_decoder",
    "AttentionMechanism": "attention_mechanism",
    "BahdanauAttention": "bahdanau_attention",
    "BahdanauCell": "bahdanau_cell",
    "ConditionalCell": "conditional_cell",
    "DecoderCell": "decoder_cell",
    "Diagnosis": "diagnosis",
    "LuongAttention": "luong_attention",
    "LuongCell": "luong_cell",
    "PlainCell": "plain_cell",
    "RecurrentEncoder": "recurrent_encoder",
    "ShapeError": "shapes",
    "UniformAttention": "uniform_attention",
    "check_axes": "shapes",
    "diagnose": "shape_doctor",
    "masked_softmax": "softmax",
}

__getattr__, __dir__ = lazy_package(__name__, NAMES, ("reference", "shapes"))
__all__ = list(NAMES)
