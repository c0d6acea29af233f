"""The shape rules of the zoo, in plain Python.

Every layer, the model and the runtime of the exported files state the axes of their tensors in
one vocabulary (``batch, T_enc, T_dec, d_emb, d_s, d_h, d_attn, ...``) and have them checked here.
An axis whose size is ``None`` is not known yet and agrees with everything.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

Shape = Sequence[int | None]
Tensors = Mapping[str, tuple[Shape, tuple[str, ...]]]


class ShapeError(ValueError):
    """A tensor whose shape disagrees with what another tensor or a weight has fixed."""


def check_axes(
    owner: str,
    tensors: Tensors,
    fixed: Mapping[str, tuple[int | None, str]] | None = None,
    fixes: Mapping[str, str] | None = None,
    at_least_one: Sequence[str] = (),
) -> dict[str, int | None]:
    """Check that axes of one name have one size, and that each tensor has its rank.

    The size of an axis is set by ``fixed`` where it is there, otherwise by most of the tensors
    that know it, otherwise (a tie) by the first of them. The first tensor that disagrees is named.

    Args:
        owner: whose inputs these are, as it stands at the head of the message.
        tensors: name -> (shape, names of the axes).
        fixed: axis -> (size, what fixed it), for sizes that weights have already.
        fixes: name of a tensor -> one-line advice that replaces the general one.
        at_least_one: axes that may not be empty.

    Returns:
        The size of each axis, ``None`` where nothing says.

    Raises:
        ShapeError: names the tensor, the shape expected, the shape given, what fixed the size, and
            a fix.
    """
    fixes = fixes or {}
    for name, (shape, axes) in tensors.items():
        if len(shape) != len(axes):
            raise ShapeError(
                f"{owner}: {name} has shape {in_numbers(shape)}, {len(shape)} axes; expected "
                f"{in_words(axes)}, {len(axes)} axes. "
                f"Fix: {fixes.get(name, rank_fix(name, len(shape), axes))}"
            )
    sizes, origin = settle_axes(tensors, fixed or {})
    for name, (shape, axes) in tensors.items():
        for axis, size in zip(axes, shape, strict=True):
            if size is None:
                continue
            if size != sizes[axis]:
                raise ShapeError(
                    f"{owner}: {name} has shape {in_numbers(shape)}; expected {in_words(axes)} = "
                    f"{in_numbers([sizes[a] for a in axes])}. "
                    f"{axis} = {sizes[axis]} is fixed by {origin[axis]}. "
                    f"Fix: {fixes.get(name, size_fix(name, shape, axes, axis, sizes))}"
                )
            if size == 0 and axis in at_least_one:
                what = "row" if axis == "batch" else "step"
                raise ShapeError(
                    f"{owner}: {name} has shape {in_numbers(shape)}; expected {in_words(axes)} "
                    f"with {axis} of at least 1. Fix: pass at least one {what} of {name}, padding "
                    f"if there is nothing else."
                )
    return sizes


def settle_axes(
    tensors: Tensors, fixed: Mapping[str, tuple[int | None, str]]
) -> tuple[dict[str, int | None], dict[str, str]]:
    """The size of each axis and the name of what fixed it."""
    sizes: dict[str, int | None] = {}
    origin: dict[str, str] = {}
    for axis in dict.fromkeys(a for _, axes in tensors.values() for a in axes):
        if axis in fixed and fixed[axis][0] is not None:
            sizes[axis], origin[axis] = fixed[axis]
            continue
        known = [
            (shape[i], name)
            for name, (shape, axes) in tensors.items()
            for i, a in enumerate(axes)
            if a == axis and shape[i] is not None
        ]
        votes = Counter(size for size, _ in known)
        # most_common keeps the order of first appearance among equals: a tie goes to the first
        sizes[axis] = votes.most_common(1)[0][0] if votes else None
        origin[axis] = " and ".join(name for size, name in known if size == sizes[axis])
    return sizes, origin


def in_numbers(shape: Shape) -> str:
    """`(3, 5)`, with ? for what is not known."""
    inside = ", ".join("?" if size is None else str(size) for size in shape)
    return f"({inside},)" if len(shape) == 1 else f"({inside})"


def in_words(axes: Sequence[str]) -> str:
    """`(batch, T_enc)`."""
    return f"({', '.join(axes)},)" if len(axes) == 1 else f"({', '.join(axes)})"


def rank_fix(name: str, rank: int, axes: Sequence[str]) -> str:
    """Advice for a tensor that has another number of axes."""
    if rank == len(axes) - 1 and axes[0] == "batch":
        return f"add the missing axis, for one example `{name}[None]` puts batch first."
    if rank == len(axes) + 1:
        return f"remove the extra axis of {name} (squeeze), or pass one {in_words(axes)} at a time."
    return f"reshape {name} to {in_words(axes)}."


def size_fix(
    name: str, shape: Shape, axes: Sequence[str], axis: str, sizes: Mapping[str, int | None]
) -> str:
    """Advice for a tensor one of whose axes has another size."""
    wanted = [sizes[a] for a in axes]
    swapped = list(shape)
    for i in range(len(shape) - 1):
        swapped[i], swapped[i + 1] = swapped[i + 1], swapped[i]
        if swapped == wanted and wanted[i] is not None and wanted[i + 1] is not None:
            return f"{name} looks transposed: swap its axes {i} and {i + 1}."
        swapped[i], swapped[i + 1] = swapped[i + 1], swapped[i]
    if axis == "batch":
        return f"pass {name} for the same batch; repeat it explicitly if that is what you mean."
    if axis.startswith("T_"):
        return f"pad or cut {name} to {axis} = {sizes[axis]}."
    return f"project {name} to {axis} = {sizes[axis]}, for instance with a Dense layer."
