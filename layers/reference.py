"""The attention formulas in plain NumPy, for one query, to read beside the papers.

Every function takes one decoder state (d_s,), if it reads one, and all encoder states
(T_enc, d_h), one row for each source token, and gives back the pair (context, weights): the
weighted mean of the encoder states (d_h,) and the weights themselves (T_enc,), which sum to 1.
There is no batch and no padding: leave out the rows that are padding. The Keras layers are tested
against these lines.

Vectors are rows here, as in the layers, so the papers' ``W s`` is written ``s @ W`` with the
transposed matrix.

A worked example, three encoder states and the score of Luong's "dot". The decoder state lies
nearest to the first encoder state, which gets the largest weight:

>>> encoder_states = [[1, 0, 0.2], [0.5, 0.5, 0.1], [0.1, 0.9, 0.3]]
>>> context, weights = dot_attention([0.9, 0.1, 0.2], encoder_states)
>>> weights.round(3).tolist()
[0.464, 0.305, 0.231]
>>> context.round(3).tolist()
[0.64, 0.36, 0.193]

A decoder state near the third encoder state moves the largest weight there:

>>> context, weights = dot_attention([0.1, 0.9, 0.3], encoder_states)
>>> int(weights.argmax())
2

Papers:

- Bahdanau, Cho, Bengio: Neural Machine Translation by Jointly Learning to Align and Translate,
  https://arxiv.org/abs/1409.0473
- Luong, Pham, Manning: Effective Approaches to Attention-based Neural Machine Translation,
  https://arxiv.org/abs/1508.04025
- Wiegreffe, Pinter: Attention is not not Explanation, https://arxiv.org/abs/1908.04626
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attention_zoo.layers.shapes import check_axes

Array = NDArray[np.float64]

_STATE = ("d_s",)
_MEMORY = ("T_enc", "d_h")


def softmax(scores: ArrayLike) -> Array:
    """exp(e_i) / sum_j exp(e_j), over one vector of scores (T_enc,).

    Bahdanau, section 3.1; Luong, equation 7. Taking the largest score away from all changes
    nothing in the result and keeps exp from overflowing.

    Raises:
        ValueError: if scores is not one vector, or is empty.

    >>> softmax([0.0, 0.0]).tolist()
    [0.5, 0.5]
    >>> softmax([1000.0, 1000.0, -1000.0]).tolist()
    [0.5, 0.5, 0.0]
    """
    e = _read("softmax", scores=(scores, ("T_enc",)))["scores"]
    exp = np.exp(e - e.max())
    return exp / exp.sum()


def additive_attention(
    decoder_state: ArrayLike,
    encoder_states: ArrayLike,
    W_a: ArrayLike,
    U_a: ArrayLike,
    v_a: ArrayLike,
) -> tuple[Array, Array]:
    """Bahdanau, section 3.1 and appendix A.1.2: e_i = v_a^T tanh(W_a s + U_a h_i).

    The decoder state is s_{t-1}, the one from before the step.

    Args:
        decoder_state: s, (d_s,).
        encoder_states: h, (T_enc, d_h).
        W_a: (d_s, d_attn).
        U_a: (d_h, d_attn).
        v_a: (d_attn,).

    Returns:
        context (d_h,) and weights (T_enc,).

    Raises:
        ValueError: naming the argument whose shape does not fit the others.

    With U_a and v_a of ones, the score grows with the sum of an encoder state:

    >>> context, weights = additive_attention(
    ...     [0.0], [[0.1, 0.2], [0.5, 0.9]], W_a=[[1.0]], U_a=[[1.0], [1.0]], v_a=[1.0]
    ... )
    >>> weights.round(3).tolist()
    [0.356, 0.644]
    """
    x = _read(
        "additive_attention",
        decoder_state=(decoder_state, _STATE),
        encoder_states=(encoder_states, _MEMORY),
        W_a=(W_a, ("d_s", "d_attn")),
        U_a=(U_a, ("d_h", "d_attn")),
        v_a=(v_a, ("d_attn",)),
    )
    s, h = x["decoder_state"], x["encoder_states"]
    # (T_enc,) = tanh((d_attn,) + (T_enc, d_attn)) @ (d_attn,)
    scores = np.tanh(s @ x["W_a"] + h @ x["U_a"]) @ x["v_a"]
    return _weighted_mean(scores, h)


def dot_attention(decoder_state: ArrayLike, encoder_states: ArrayLike) -> tuple[Array, Array]:
    """Luong, section 3.1, equation 8, "dot": e_i = s^T h_i.

    The decoder state is s_t, the one from after the step; it must be as long as an encoder state.

    Args:
        decoder_state: s, (d_h,).
        encoder_states: h, (T_enc, d_h).

    Returns:
        context (d_h,) and weights (T_enc,).

    Raises:
        ValueError: naming the argument whose shape does not fit the other.
    """
    x = _read(
        "dot_attention",
        encoder_states=(encoder_states, _MEMORY),
        decoder_state=(decoder_state, ("d_h",)),
    )
    s, h = x["decoder_state"], x["encoder_states"]
    scores = h @ s  # (T_enc,) = (T_enc, d_h) @ (d_h,)
    return _weighted_mean(scores, h)


def general_attention(
    decoder_state: ArrayLike, encoder_states: ArrayLike, W: ArrayLike
) -> tuple[Array, Array]:
    """Luong, section 3.1, equation 8, "general": e_i = s^T W h_i.

    Args:
        decoder_state: s_t, (d_s,).
        encoder_states: h, (T_enc, d_h).
        W: the paper's W_a, (d_s, d_h).

    Returns:
        context (d_h,) and weights (T_enc,).

    Raises:
        ValueError: naming the argument whose shape does not fit the others.

    With the identity it is "dot":

    >>> states = [[1, 0, 0.2], [0.5, 0.5, 0.1], [0.1, 0.9, 0.3]]
    >>> context, weights = general_attention([0.9, 0.1, 0.2], states, W=np.eye(3))
    >>> weights.round(3).tolist()
    [0.464, 0.305, 0.231]
    """
    x = _read(
        "general_attention",
        decoder_state=(decoder_state, _STATE),
        encoder_states=(encoder_states, _MEMORY),
        W=(W, ("d_s", "d_h")),
    )
    s, h = x["decoder_state"], x["encoder_states"]
    scores = h @ (s @ x["W"])  # (T_enc,) = (T_enc, d_h) @ ((d_s,) @ (d_s, d_h))
    return _weighted_mean(scores, h)


def concat_attention(
    decoder_state: ArrayLike, encoder_states: ArrayLike, W_a: ArrayLike, v_a: ArrayLike
) -> tuple[Array, Array]:
    """Luong, section 3.1, equation 8, "concat": e_i = v_a^T tanh(W_a [s; h_i]).

    Args:
        decoder_state: s_t, (d_s,).
        encoder_states: h, (T_enc, d_h).
        W_a: (d_s + d_h, d_attn), the rows for s first.
        v_a: (d_attn,).

    Returns:
        context (d_h,) and weights (T_enc,).

    Raises:
        ValueError: naming the argument whose shape does not fit the others.

    Cut in two, its matrix is the pair of Bahdanau's:

    >>> states, W_a, v_a = [[0.1, 0.2], [0.5, 0.9]], [[1.0], [1.0], [1.0]], [1.0]
    >>> context, weights = concat_attention([0.0], states, W_a, v_a)
    >>> weights.round(3).tolist()
    [0.356, 0.644]
    """
    x = _read(
        "concat_attention",
        decoder_state=(decoder_state, _STATE),
        encoder_states=(encoder_states, _MEMORY),
        W_a=(W_a, ("d_s + d_h", "d_attn")),
        v_a=(v_a, ("d_attn",)),
    )
    s, h = x["decoder_state"], x["encoder_states"]
    rows = [np.concatenate([s, h_i]) for h_i in h]  # T_enc rows [s; h_i] of (d_s + d_h,)
    scores = np.tanh(np.stack(rows) @ x["W_a"]) @ x["v_a"]  # (T_enc,)
    return _weighted_mean(scores, h)


def uniform_attention(encoder_states: ArrayLike) -> tuple[Array, Array]:
    """Wiegreffe and Pinter 2019, section 3.2, the frozen weights: a_i = 1 / T_enc.

    No decoder state is asked for, since none matters; the context is the plain mean.

    Args:
        encoder_states: h, (T_enc, d_h).

    Returns:
        context (d_h,) and weights (T_enc,).

    Raises:
        ValueError: if the encoder states are not of two axes, or empty.

    >>> context, weights = uniform_attention([[1, 0], [0.5, 0.5], [0, 4], [0.5, 0.5]])
    >>> context.tolist(), weights.tolist()
    ([0.5, 1.25], [0.25, 0.25, 0.25, 0.25])
    """
    h = _read("uniform_attention", encoder_states=(encoder_states, _MEMORY))["encoder_states"]
    return h.mean(axis=0), np.full(len(h), 1.0 / len(h))


def _weighted_mean(scores: Array, h: Array) -> tuple[Array, Array]:
    """c = sum_i a_i h_i with a = softmax(scores); returns (c, a)."""
    weights = softmax(scores)  # (T_enc,)
    return weights @ h, weights  # (d_h,) = (T_enc,) @ (T_enc, d_h)


def _read(owner: str, **arguments: tuple[ArrayLike, tuple[str, ...]]) -> dict[str, Array]:
    """Arrays of the arguments, in float64, once their axes agree and none is empty."""
    arrays = {name: np.asarray(value, "float64") for name, (value, _) in arguments.items()}
    axes = {name: names for name, (_, names) in arguments.items()}
    fixed = None
    if "d_s + d_h" in axes.get("W_a", ()) and _are_ranked(arrays, axes):
        total = arrays["decoder_state"].shape[0] + arrays["encoder_states"].shape[1]
        fixed = {"d_s + d_h": (total, "decoder_state and encoder_states")}
    shapes = {name: (array.shape, axes[name]) for name, array in arrays.items()}
    check_axes(
        owner, shapes, fixed, at_least_one=[axis for names in axes.values() for axis in names]
    )
    return arrays


def _are_ranked(arrays: dict[str, Array], axes: dict[str, tuple[str, ...]]) -> bool:
    return all(arrays[name].ndim == len(names) for name, names in axes.items())
