"""Advice on a tensor whose size is wrong, where moving its numbers does not help."""

from collections.abc import Mapping

from numpy.typing import NDArray

from attention_zoo.layers.attention_axes import WEIGHTS, Axes, expected_shape
from attention_zoo.layers.fault_search import Explanation
from attention_zoo.layers.shapes import in_numbers, in_words, rank_fix, size_fix
from attention_zoo.layers.value_fixes import context_line

Advice = tuple[str, str, str | None]

_PROJECTED = ("query", "keys", "memory")


def advice_on_size(name: str, arrays: Mapping[str, NDArray], explanation: Explanation) -> Advice:
    """(kind, words, line of NumPy or None) for a tensor of a wrong size.

    There is a line only where it makes the tensor what it should be without hiding the fault: a
    weight made anew, a context computed anew, a projection. What would broadcast is refused.
    """
    axes, shape = explanation.axes[name], arrays[name].shape
    expected = expected_shape(axes, explanation.sizes)
    if name in WEIGHTS:
        words = f"make {name} anew with shape {in_numbers(expected)}, {in_words(axes)}"
        line = f"{name} = np.zeros({expected})  # anew, with its initial values"
        return "rebuild", words, None if None in expected else line
    context = context_line(arrays, explanation.axes) if name == "context" else None
    if context and explanation.suspects == {"context"}:
        return "recompute", "compute the context anew, as weights @ memory", context
    if name == "mask" and _are_lengths(arrays["mask"], expected):
        code = f"mask = np.arange({expected[1]}) < mask[:, None]"
        return "lengths", "make a mask of what look like lengths", code
    broadcast = _broadcast(name, shape, axes, expected)
    if broadcast:
        return "refused", broadcast, None
    if len(shape) != len(expected):
        return "refused", rank_fix(name, len(shape), axes).rstrip("."), None
    known = dict(zip(axes, expected, strict=True))
    sizes = zip(shape, expected, strict=True)
    wrong = [i for i, (n, size) in enumerate(sizes) if size not in (n, None)]
    if not wrong:  # a sum of widths that leaves nothing for this one
        return "refused", f"make {name} anew, or the weights: no width of it fits them", None
    words = size_fix(name, shape, axes, axes[wrong[0]], known).rstrip(".")
    width = expected[-1]
    if name in _PROJECTED and wrong == [len(shape) - 1]:
        line = f"{name} = {name} @ np.eye({shape[-1]}, {width})"
        return "project", words, f"{line}  # in place of np.eye a trained weight"
    return "refused", words, None


def _are_lengths(mask: NDArray, expected: tuple[int | None, ...]) -> bool:
    """Whether (batch,) whole numbers say how many of T_enc steps are real."""
    batch, steps = expected
    if mask.ndim != 1 or mask.dtype.kind not in "iu" or steps is None:
        return False
    return batch in (None, len(mask)) and 1 < mask.max() <= steps and mask.min() >= 0


def _broadcast(
    name: str, shape: tuple[int, ...], axes: Axes, expected: tuple[int | None, ...]
) -> str | None:
    """The words of a refusal where NumPy would make the tensor fit by itself."""
    if len(shape) < len(expected):
        told = f"{name} lacks an axis, and np.expand_dims would make one of size 1 that broadcasts"
        return f"{told}: pass {in_words(axes)} = {in_numbers(expected)} in full"
    if len(shape) > len(expected):
        return None
    for n, axis, size in zip(shape, axes, expected, strict=True):
        if n == 1 and size not in (None, 1):
            told = f"{name} has 1 where {axis} = {size}, which would broadcast without a word"
            return f"{told}: compute it for all of {axis}"
    return None
