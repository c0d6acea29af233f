"""Lines of NumPy that compute weights and context anew from what is right."""

from collections.abc import Mapping

from numpy.typing import NDArray

from attention_zoo.layers.attention_axes import Axes

Arrays = Mapping[str, NDArray]

_NORMALISED = "weights = weights / np.maximum(weights.sum(-1, keepdims=True), 1e-30)"


def softmax_line(arrays: Arrays) -> str:
    """The weights from the scores: a softmax over the real steps."""
    if "mask" not in arrays:
        return f"weights = np.exp(scores - scores.max(-1, keepdims=True)); {_NORMALISED}"
    real = _mask_like(arrays["scores"])
    return (
        f"real = np.where({real}, scores, -1e30); "
        f"weights = np.exp(real - real.max(-1, keepdims=True)) * ({real}); {_NORMALISED}"
    )


def masked_line(arrays: Arrays) -> str:
    """The weights without those of masked steps: the same as a softmax without them."""
    return f"weights = weights * ({_mask_like(arrays['weights'])}); {_NORMALISED}"


def context_line(arrays: Arrays, axes: Mapping[str, Axes]) -> str | None:
    """The context from weights and memory; None without them, and with heads."""
    memory = "memory" if "memory" in arrays else "keys"
    if not {"context", "weights", memory} <= set(arrays) or "n_heads" in axes["weights"]:
        return None
    letters = "bt"[: len(axes["weights"]) - 1]
    return f'context = np.einsum("{letters}i,bih->{letters}h", weights, {memory})'


def _mask_like(scores: NDArray) -> str:
    """The mask (batch, T_enc) with the axes of the scores, as bool."""
    places = ", None" * (scores.ndim - 2)
    return f"mask[:{places}] > 0" if places else "mask > 0"
