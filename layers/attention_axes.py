"""The axes of every tensor of an attention step, for each mechanism: one table.

The shape doctor reads it, and tests compare it with the weights of the layers and with the page
that teaches the same to a language model.
"""

from collections.abc import Iterable, Mapping

from attention_zoo.layers.shapes import Shape, ShapeError, check_axes

Axes = tuple[str, ...]
Sizes = dict[str, int | None]

MECHANISMS = ("bahdanau", "luong_dot", "luong_general", "luong_concat")

_SHARED: dict[str, Axes] = {
    "query": ("batch", "T_dec", "d_s"),
    "keys": ("batch", "T_enc", "d_h"),
    "memory": ("batch", "T_enc", "d_h"),
    "mask": ("batch", "T_enc"),
    "scores": ("batch", "T_dec", "T_enc"),
    "weights": ("batch", "T_dec", "T_enc"),
    "context": ("batch", "T_dec", "d_h"),
    "state_before": ("batch", "T_dec", "d_s"),
    "state_after": ("batch", "T_dec", "d_s"),
}
PARAMETERS: dict[str, dict[str, Axes]] = {
    "bahdanau": {"W_a": ("d_s", "d_attn"), "U_a": ("d_h", "d_attn"), "v_a": ("d_attn",)},
    "luong_dot": {"W_c": ("d_h + d_s", "d_out")},
    "luong_general": {"W_a": ("d_s", "d_h"), "W_c": ("d_h + d_s", "d_out")},
    "luong_concat": {
        "W_a": ("d_s + d_h", "d_attn"),
        "v_a": ("d_attn",),
        "W_c": ("d_h + d_s", "d_out"),
    },
}
TENSORS = {name: {**PARAMETERS[name], **_SHARED} for name in MECHANISMS}
"""mechanism -> tensor -> axes, of a sequence of queries. For "dot", d_s = d_h besides."""

WEIGHTS = frozenset(name for axes in PARAMETERS.values() for name in axes)


def axes_of(
    mechanism: str,
    names: Iterable[str],
    one_step: bool = False,
    n_heads: int = 1,
    dot_widths: bool = True,
) -> dict[str, Axes]:
    """The axes of some tensors of a mechanism.

    Keys and memory together may have two widths, as the layers allow: that of the memory, and of
    the context, is then d_v.

    Args:
        mechanism: one of `MECHANISMS`.
        names: which tensors.
        one_step: one query (batch, d_s); without it a sequence of them (batch, T_dec, d_s).
        n_heads: with more than one, scores and weights have this axis after batch.
        dot_widths: write d_h for d_s where the mechanism is "luong_dot", which needs d_s = d_h.
    """
    names = set(names)
    found = {}
    for name, axes in TENSORS[mechanism].items():
        if name not in names:
            continue
        if name in ("scores", "weights") and n_heads > 1:
            axes = ("batch", "n_heads", *axes[1:])
        if one_step:
            axes = tuple(axis for axis in axes if axis != "T_dec")
        if {"keys", "memory"} <= names and name in ("memory", "context", "W_c"):
            axes = tuple(axis.replace("d_h", "d_v") for axis in axes)
        if mechanism == "luong_dot" and dot_widths:
            axes = tuple(axis.replace("d_s", "d_h") for axis in axes)
        found[name] = axes
    return found


def sizes_of(
    shapes: Mapping[str, Shape], axes: Mapping[str, Axes], n_heads: int = 1
) -> Sizes | None:
    """The sizes under which all shapes are right, or None where there are none.

    An axis that is a sum, ``d_s + d_h``, agrees with its parts, and gives the one that is missing.
    """
    fixed = {"n_heads": (n_heads, "n_heads")} if n_heads > 1 else None
    try:
        sizes = check_axes("", {name: (shapes[name], axes[name]) for name in shapes}, fixed)
    except ShapeError:
        return None
    sums = [axis for axis in sizes if " + " in axis]
    for axis in sums * 2:  # twice: one sum may give a part that another lacks
        parts = axis.split(" + ")
        missing = [part for part in parts if sizes.get(part) is None]
        rest = (sizes[axis] or 0) - sum(sizes.get(part) or 0 for part in parts)
        if len(missing) == 1:
            if rest < 1:
                return None
            sizes[missing[0]] = rest
        elif not missing and rest:
            return None
    return sizes


def expected_shape(axes: Axes, sizes: Mapping[str, int | None]) -> tuple[int | None, ...]:
    """The numbers of these axes, None for what nothing says."""
    return tuple(_size(axis, sizes) for axis in axes)


def _size(axis: str, sizes: Mapping[str, int | None]) -> int | None:
    if sizes.get(axis) is not None or " + " not in axis:
        return sizes.get(axis)
    parts = [sizes.get(part) for part in axis.split(" + ")]
    return None if None in parts else sum(part for part in parts if part is not None)
