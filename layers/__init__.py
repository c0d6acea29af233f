"""Attention mechanisms, decoder cells, decoder and encoder as Keras layers."""

from attention_zoo.lazy_package import lazy_package

NAMES = {
    "AttentionCell": "attention_cell",
    "AttentionDecoder": "attention_decoder",
    "AttentionMechanism": "attention_mechanism",
    "BahdanauAttention": "bahdanau_attention",
    "BahdanauCell": "bahdanau_cell",
    "DecoderCell": "decoder_cell",
    "LuongAttention": "luong_attention",
    "LuongCell": "luong_cell",
    "PlainCell": "plain_cell",
    "RecurrentEncoder": "recurrent_encoder",
    "ShapeError": "shapes",
    "check_axes": "shapes",
    "masked_softmax": "softmax",
}

__getattr__, __dir__ = lazy_package(__name__, NAMES, ("reference", "shapes"))
__all__ = list(NAMES)
