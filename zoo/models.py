"""The zoo: one constructor a model, registered under its name.

Each takes the fields of `ModelConfig` as keyword arguments; what makes the model what it is (the
attention, the score, the cell) is set here and cannot be overridden.
"""

from typing import TYPE_CHECKING, Any

from attention_zoo.model_config import ModelConfig
from attention_zoo.registry import register_model

if TYPE_CHECKING:
    from attention_zoo.seq2seq import Seq2Seq


@register_model
def seq2seq_gru(**overrides: Any) -> "Seq2Seq":
    """Encoder-decoder without attention, GRU (Cho et al. 2014): the baseline."""
    return _build("seq2seq_gru", overrides, attention="none", cell="gru")


@register_model
def seq2seq_lstm(**overrides: Any) -> "Seq2Seq":
    """Encoder-decoder without attention, LSTM (Sutskever et al. 2014)."""
    return _build("seq2seq_lstm", overrides, attention="none", cell="lstm")


@register_model
def bahdanau_gru(**overrides: Any) -> "Seq2Seq":
    """Additive attention, query s_{t-1}, GRU (Bahdanau et al. 2014)."""
    return _build("bahdanau_gru", overrides, attention="bahdanau", cell="gru")


@register_model
def bahdanau_lstm(**overrides: Any) -> "Seq2Seq":
    """Additive attention, query s_{t-1}, LSTM."""
    return _build("bahdanau_lstm", overrides, attention="bahdanau", cell="lstm")


@register_model
def bahdanau_conditional_gru(**overrides: Any) -> "Seq2Seq":
    """Additive attention between two GRU cells of one step (Sennrich et al. 2017: Nematus)."""
    identity = {"attention": "bahdanau", "cell": "gru", "conditional": True}
    return _build("bahdanau_conditional_gru", overrides, **identity)


@register_model
def luong_dot_gru(**overrides: Any) -> "Seq2Seq":
    """Dot-product attention, query s_t, GRU (Luong et al. 2015)."""
    return _build("luong_dot_gru", overrides, attention="luong", score="dot", cell="gru")


@register_model
def luong_general_gru(**overrides: Any) -> "Seq2Seq":
    """Attention s_t^T W_a h_i, GRU (Luong et al. 2015)."""
    return _build("luong_general_gru", overrides, attention="luong", score="general", cell="gru")


@register_model
def luong_general_lstm(**overrides: Any) -> "Seq2Seq":
    """Attention s_t^T W_a h_i, LSTM, the cell of the paper (Luong et al. 2015)."""
    return _build("luong_general_lstm", overrides, attention="luong", score="general", cell="lstm")


@register_model
def luong_concat_gru(**overrides: Any) -> "Seq2Seq":
    """Attention v_a^T tanh(W_a [s_t; h_i]), GRU (Luong et al. 2015)."""
    return _build("luong_concat_gru", overrides, attention="luong", score="concat", cell="gru")


@register_model
def luong_multihead_gru(**overrides: Any) -> "Seq2Seq":
    """General attention in 4 heads over groups of d_h, GRU."""
    overrides = {"n_heads": 4, **overrides}
    return _build("luong_multihead_gru", overrides, attention="luong", score="general", cell="gru")


@register_model
def uniform_gru(**overrides: Any) -> "Seq2Seq":
    """bahdanau_gru with all weights frozen to 1 / T_enc: an ablation, not a model to use."""
    return _build("uniform_gru", overrides, attention="uniform", cell="gru")


def _build(name: str, overrides: dict[str, Any], **identity: Any) -> "Seq2Seq":
    from attention_zoo.seq2seq import Seq2Seq  # here: it imports TensorFlow

    for field, value in identity.items():
        if overrides.get(field, value) != value:
            raise ValueError(
                f"{name}: {field} is {overrides[field]!r}; expected {value!r}, which makes the "
                f"model {name}. Fix: leave {field} out, or create another model."
            )
    return Seq2Seq(ModelConfig.from_dict({**overrides, **identity}), name=name)
