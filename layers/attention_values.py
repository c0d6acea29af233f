"""What must hold between the numbers of an attention step whose shapes are right."""

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from attention_zoo.layers import reference
from attention_zoo.layers.score_rounding import score_rounding, stored_rounding

Arrays = Mapping[str, NDArray]

BOOLEAN, SUM, MASKED, CONTEXT, SOFTMAX, SCORE, PADDING = (
    "the mask holds 0 and 1 alone",
    "the weights sum to 1 over T_enc",
    "the weights are 0 at masked steps",
    "the context is weights @ memory",
    "the weights are the softmax of the scores",
    "the scores are those of the formula",
    "the mask is true where the memory is not 0",
)
_LEAST_SCORE = -1e4  # masked scores lie below, float16's too
_ROWS = 4  # of batch and of T_dec, for the formula: each row costs T_enc small products


def broken_relations(arrays: Arrays, mechanism: str, n_heads: int = 1) -> frozenset[str]:
    """Those of the relations that can be tried with these arrays, and do not hold."""
    tried = tried_relations(arrays, mechanism, n_heads)
    return frozenset(name for name, holds in tried.items() if not holds)


def tried_relations(arrays: Arrays, mechanism: str, n_heads: int = 1) -> dict[str, bool]:
    """Whether each of the relations holds that can be tried with these arrays."""
    tried: dict[str, Callable[[], bool]] = {}
    memory = arrays.get("memory", arrays.get("keys"))
    if "mask" in arrays:
        tried[BOOLEAN] = lambda: bool(np.isin(arrays["mask"], (0, 1)).all())
    if "weights" in arrays:
        tried[SUM] = lambda: sums_to_one(arrays)
        if "mask" in arrays:
            tried[MASKED] = lambda: not np.any(arrays["weights"][~over_scores(arrays, "weights")])
        if "context" in arrays and memory is not None:
            tried[CONTEXT] = lambda: _near(arrays["context"], read(arrays, n_heads))
        if "scores" in arrays:
            tried[SOFTMAX] = lambda: _is_softmax(with_mask(arrays))
    if _can_score(arrays, mechanism, n_heads):
        tried[SCORE] = lambda: _scored(with_mask(arrays), mechanism)
    if "mask" in arrays and memory is not None and _padded(arrays["mask"], memory) is not None:
        tried[PADDING] = lambda: bool(_padded(arrays["mask"], memory))
    return {name: holds() for name, holds in tried.items()}


def taking_part(relation: str, arrays: Arrays) -> tuple[str, ...]:
    """The tensors of a relation among the arrays; the first is the one that the others make."""
    values = "memory" if "memory" in arrays else "keys"
    keys = "keys" if "keys" in arrays else "memory"
    scored = "scores" if "scores" in arrays else "weights"
    names = {
        BOOLEAN: ("mask",),
        SUM: ("weights", "mask"),
        MASKED: ("weights", "mask"),
        CONTEXT: ("context", "weights", values),
        SOFTMAX: ("weights", "scores", "mask"),
        # of scores all steps are known, so that a wrong mask would not show
        SCORE: (scored, "query", keys, "W_a", "U_a", "v_a", *(["mask"] * (scored == "weights"))),
        PADDING: ("mask", values),
    }[relation]
    return tuple(name for name in names if name in arrays)


def with_mask(arrays: Arrays) -> Arrays:
    """The arrays with a mask: without one, what no query looks at is taken for padding.

    That is a weight of 0, or a score that was masked by a large negative number.
    """
    if "mask" in arrays:
        return arrays
    seen = [arrays["weights"] != 0] if "weights" in arrays else []
    if "scores" in arrays:
        seen.append(arrays["scores"] > _LEAST_SCORE)
    real = np.logical_and.reduce(seen)
    real = real.any(axis=tuple(range(1, real.ndim - 1)))  # (batch, T_enc)
    return {**arrays, "mask": real | ~real.any(axis=-1, keepdims=True)}


def sums_to_one(arrays: Arrays, axis: int = -1) -> bool:
    """Whether the weights sum to 1 along an axis; to 0 where all steps of a row are masked."""
    total = arrays["weights"].sum(axis=axis)
    real = np.ones(total.shape)
    if "mask" in arrays and axis == -1:
        real[~np.any(over_scores(arrays, "weights"), axis=-1)] = 0
    return _near(total, real, arrays["weights"].dtype)


def over_scores(arrays: Arrays, name: str) -> NDArray:
    """The mask (batch, T_enc) as bool, in all axes of scores or weights."""
    shape = arrays[name].shape
    mask = arrays["mask"].astype(bool)
    return np.broadcast_to(mask.reshape(shape[0], *[1] * (len(shape) - 2), shape[-1]), shape)


def masked_softmax(arrays: Arrays, axis: int = -1) -> NDArray:
    """exp(e_i) / sum_j exp(e_j) over the real steps, 0 elsewhere; over another axis on request."""
    scores = arrays["scores"].astype("float64")
    mask = over_scores(arrays, "scores") if "mask" in arrays else np.ones(scores.shape, bool)
    largest = np.max(np.where(mask, scores, -np.inf), axis=axis, keepdims=True, initial=-1e300)
    powers = np.where(mask, np.exp(np.where(mask, scores - largest, 0.0)), 0.0)
    total = powers.sum(axis=axis, keepdims=True)
    return powers / np.where(total > 0, total, 1.0)


def read(arrays: Arrays, n_heads: int = 1) -> NDArray:
    """c = sum_i a_i h_i, (batch[, T_dec], d_h); each head reads its own part of d_h."""
    weights, memory = arrays["weights"], arrays["memory" if "memory" in arrays else "keys"]
    if n_heads == 1:
        return np.einsum("b...i,bih->b...h", weights, memory)
    parts = np.stack(np.split(memory, n_heads, axis=-1), axis=1)  # (batch, n_heads, T_enc, d)
    heads = np.einsum("bn...i,bnih->bn...h", weights, parts)
    return np.concatenate(np.moveaxis(heads, 1, 0), axis=-1)


def _can_score(arrays: Arrays, mechanism: str, n_heads: int) -> bool:
    needed = {
        "bahdanau": {"W_a", "U_a", "v_a"},
        "luong_dot": set(),
        "luong_general": {"W_a"},
        "luong_concat": {"W_a", "v_a"},
    }[mechanism]
    return (
        n_heads == 1
        and {"query", *needed} <= set(arrays)
        and bool({"keys", "memory"} & set(arrays))
        and bool({"scores", "weights"} & set(arrays))
    )


def _is_softmax(arrays: Arrays) -> bool:
    scores = arrays["scores"]
    shown = np.abs(scores[over_scores(arrays, "scores") & (scores > _LEAST_SCORE)])
    moved = stored_rounding(scores) * float(shown.max(initial=0))
    return _near(arrays["weights"], masked_softmax(arrays), scores.dtype, moved)


def _scored(arrays: Arrays, mechanism: str) -> bool:
    """Whether the formula gives the scores, but for what a softmax takes away, in a few rows.

    Without scores the weights are compared.
    """
    shown = masked_softmax(arrays) if "scores" in arrays else arrays["weights"]
    names = taking_part(SCORE, arrays)
    given = arrays[names[0]]
    moved = stored_rounding(given)
    if "scores" in arrays:
        finite = given[given > _LEAST_SCORE]
        moved *= float(np.abs(finite).max(initial=0))
    parameters = tuple(name for name in names[1:] if name != "mask")
    keys = arrays[parameters[1]]
    for row in range(min(_ROWS, len(keys))):
        real = arrays["mask"][row].astype(bool)
        if not real.any():
            continue
        states = np.atleast_2d(arrays["query"][row])[:_ROWS]
        for state, weights in zip(states, np.atleast_2d(shown[row]), strict=False):
            expected = _weights(arrays, mechanism, state, keys[row][real])
            error = score_rounding(arrays, mechanism, state, keys[row][real], parameters)
            if not _near(weights[real], expected, given.dtype, moved + error):
                return False
    return True


def _weights(arrays: Arrays, mechanism: str, state: NDArray, keys: NDArray) -> NDArray:
    if mechanism == "bahdanau":
        parameters = arrays["W_a"], arrays["U_a"], arrays["v_a"]
        return reference.additive_attention(state, keys, *parameters)[1]
    if mechanism == "luong_dot":
        return reference.dot_attention(state, keys)[1]
    if mechanism == "luong_general":
        return reference.general_attention(state, keys, arrays["W_a"])[1]
    return reference.concat_attention(state, keys, arrays["W_a"], arrays["v_a"])[1]


def _padded(mask: NDArray, memory: NDArray) -> bool | None:
    """Whether the memory is 0 just where the mask is false; None if it tells nothing."""
    real, mask = memory.any(axis=-1), mask.astype(bool)
    if real.all() or not real.any():
        return None
    if np.array_equal(real, mask):
        return True
    return False if np.array_equal(real, ~mask) else None


def _near(
    actual: NDArray, expected: NDArray, dtype: np.dtype | None = None, moved: float = 0.0
) -> bool:
    """Equal but for rounding in the smaller of the types, and of scores by `moved`."""
    types = [dtype or actual.dtype, actual.dtype, expected.dtype]
    half = any(kind.kind == "f" and kind.itemsize == 2 for kind in types)
    relative, absolute = (2e-2, 2e-3) if half else (1e-3, 1e-5)
    relative += float(np.expm1(min(2 * moved, 50.0)))  # each score, and the sum below
    return np.allclose(actual.astype("float64"), expected.astype("float64"), relative, absolute)
