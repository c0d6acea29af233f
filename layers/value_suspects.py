"""Which tensors may have broken what must hold between the numbers of an attention step."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from attention_zoo.layers.attention_values import (
    CONTEXT,
    MASKED,
    PADDING,
    SCORE,
    SOFTMAX,
    over_scores,
    taking_part,
    tried_relations,
)

Arrays = Mapping[str, NDArray]

_UPSTREAM_FIRST = (SCORE, SOFTMAX, MASKED, CONTEXT)


def suspects(arrays: Arrays, mechanism: str, n_heads: int = 1) -> list[str]:
    """The tensors of which one fault would break just the relations that are broken.

    A tensor may have been made wrong: then it is what all the broken relations make, and what
    follows from it may well hold. Or it was changed after it was used: then all of its relations
    are broken. Where no tensor is in all broken relations, the first relation is looked at alone.
    """
    tried = tried_relations(arrays, mechanism, n_heads)
    broken = [name for name in _UPSTREAM_FIRST if tried.get(name) is False]
    held = [name for name in _UPSTREAM_FIRST if tried.get(name) is True and _tells(name, arrays)]
    while broken:
        parts = [taking_part(name, arrays) for name in broken]
        # last what is made, so that causes are read before what they do
        shared = [name for name in arrays if all(name in part for part in parts)]
        cleared = {name for relation in held for name in taking_part(relation, arrays)}
        made = {part[0] for part in parts}
        found = [name for name in shared if name not in cleared or made == {name}]
        if found or len(broken) == 1:
            return found or shared
        broken = broken[:1]
    return []


def not_finite(arrays: Arrays) -> list[str]:
    """The tensors with a NaN or an infinite number, but for -inf that masks scores or steps."""
    return [name for name in arrays if not np.all(np.isfinite(arrays[name]) | _hides(name, arrays))]


def _tells(relation: str, arrays: Arrays) -> bool:
    """Whether a relation that holds says something: a mask that hides nothing clears no weights."""
    return relation not in (MASKED, PADDING) or not np.all(arrays["mask"])


def _hides(name: str, arrays: Arrays) -> NDArray:
    """Where -inf has its place in a tensor: an additive mask, scores of steps without a weight."""
    array = arrays[name]
    if name not in ("scores", "mask"):
        return np.zeros(array.shape, bool)
    hidden = np.isneginf(array)
    if name == "mask":
        return hidden
    if "mask" not in arrays and "weights" not in arrays:
        return hidden & ~np.all(hidden, axis=-1, keepdims=True)
    allowed = np.zeros(array.shape, bool)
    if "mask" in arrays:
        allowed |= ~over_scores(arrays, "scores")
    if "weights" in arrays:
        allowed |= arrays["weights"] == 0
    return hidden & allowed
