"""Rearrangements that may have made a tensor wrong, undone: no number is made up or lost."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, permutations

import numpy as np
from numpy.typing import NDArray

from attention_zoo.layers.shapes import Shape

Array = NDArray
Expected = tuple[int | None, ...]


@dataclass(frozen=True, eq=False)
class Repair:
    """One way to rearrange a tensor.

    kind: transpose, squeeze, expand_dims, reshape or drop_tile; two of them joined by " + ".
    words: what it does, for people.
    code: what it does, a line of NumPy.
    array: the tensor after it.
    cost: how many rearrangements it takes.
    """

    kind: str
    words: str
    code: str
    array: Array
    cost: int = 1


def fits(shape: Shape, expected: Expected) -> bool:
    """Whether a shape has this rank and these sizes; nothing broadcasts, None is any size."""
    return len(shape) == len(expected) and all(
        size is None or size == n for n, size in zip(shape, expected, strict=True)
    )


def repairs(name: str, array: Array, expected: Expected) -> Iterator[Repair]:
    """Every rearrangement of ``array`` that has the shape ``expected``.

    A reshape is offered only where it joins neighbouring axes or takes such a join apart: any
    other would have the right shape and scrambled numbers. A tile is dropped only where the
    numbers are seen to repeat.
    """
    rank = len(expected)
    if array.ndim == rank:
        yield from _permuted(name, array, expected)
        yield from _shortened(name, array, expected)
    elif array.ndim > rank:
        for fewer in _with_fewer_axes(name, array, array.ndim - rank):
            if fits(fewer.array.shape, expected):
                yield fewer
            for turned in _permuted(name, fewer.array, expected):
                yield _joined(fewer, turned)
    else:
        for axes in combinations(range(rank), rank - array.ndim):
            more = np.expand_dims(array, axes)
            if fits(more.shape, expected):
                place = _places(axes)
                words = f"give {name} the missing axis {place}"
                code = f"{name} = np.expand_dims({name}, axis={place})"
                yield Repair("expand_dims", words, code, more, len(axes))
    yield from _reshaped(name, array, expected)


def turns(name: str, array: Array) -> Iterator[Repair]:
    """The transpositions after which ``array`` has the shape that it has already."""
    yield from _permuted(name, array, array.shape)


def _permuted(name: str, array: Array, expected: Expected) -> Iterator[Repair]:
    for order in permutations(range(array.ndim)):
        if order == tuple(range(array.ndim)):
            continue
        if not fits([array.shape[i] for i in order], expected):
            continue
        moved = [i for i, place in enumerate(order) if i != place]
        if array.ndim == 2:
            words, code = f"transpose {name}", f"{name}.T"
        elif len(moved) == 2:
            words = f"swap the axes {moved[0]} and {moved[1]} of {name}"
            code = f"np.swapaxes({name}, {moved[0]}, {moved[1]})"
        else:
            words = f"put the axes of {name} in the order {order}"
            code = f"np.transpose({name}, {order})"
        yield Repair("transpose", words, f"{name} = {code}", np.transpose(array, order))


def _with_fewer_axes(name: str, array: Array, count: int) -> Iterator[Repair]:
    """``count`` axes away: those of size 1, or one along which the numbers repeat."""
    ones = [i for i, size in enumerate(array.shape) if size == 1]
    for axes in combinations(ones, count):
        place = _places(axes)
        words = f"squeeze the axis {place} of {name}, of size 1"
        code = f"{name} = np.squeeze({name}, axis={place})"
        yield Repair("squeeze", words, code, np.squeeze(array, axis=axes), count)
    if count > 1:
        return
    for axis, size in enumerate(array.shape):
        first = np.take(array, [0], axis=axis)
        if size > 1 and _is_repeated(name, first, array, np.broadcast_to(first, array.shape)):
            words = (
                f"drop the tile of {name}: its axis {axis} repeats the same numbers {size} times"
            )
            code = f"{name} = np.take({name}, 0, axis={axis})"
            yield Repair("drop_tile", words, code, np.take(array, 0, axis=axis))


def _shortened(name: str, array: Array, expected: Expected) -> Iterator[Repair]:
    """One axis that holds everything several times, end to end or each number in a row."""
    places = list(enumerate(zip(array.shape, expected, strict=True)))
    wrong = [(axis, [size]) for axis, (n, size) in places if size not in (n, None)]
    if not wrong:  # a width that nothing fixes, and that does not fit all the same
        wrong = [(axis, list(range(1, n))) for axis, (n, size) in places if size is None]
    elif len(wrong) > 1:
        return
    for axis, sizes in wrong:
        for size in sizes:
            if 0 < size < array.shape[axis] and array.shape[axis] % size == 0:
                yield from _once(name, array, axis, size)


def _once(name: str, array: Array, axis: int, size: int) -> Iterator[Repair]:
    times = array.shape[axis] // size
    before = (slice(None),) * axis
    end_to_end = array[(*before, slice(0, size))]
    in_a_row = array[(*before, slice(0, None, times))]
    for once, again, part in (
        (end_to_end, np.concatenate([end_to_end] * times, axis), f":{size}"),
        (in_a_row, np.repeat(in_a_row, times, axis), f"::{times}"),
    ):
        if _is_repeated(name, once, array, again):
            words = f"drop the tile of {name}: its axis {axis} holds the same numbers {times} times"
            yield Repair("drop_tile", words, f"{name} = {name}[{':, ' * axis}{part}]", once)
            return


def _is_repeated(name: str, once: Array, array: Array, again: Array) -> bool:
    """Whether the numbers repeat, and are not all one number, which says nothing.

    Only masks and weights are of one number by nature.
    """
    if once.size > 1 and name not in ("mask", "weights") and (once == once.flat[0]).all():
        return False
    return np.array_equal(array, again, equal_nan=True)


def _reshaped(name: str, array: Array, expected: Expected) -> Iterator[Repair]:
    if None in expected or array.ndim == len(expected):
        return
    wanted = [size for size in expected if size is not None]
    given, fine = ([n for n in shape if n != 1] for shape in (array.shape, wanted))
    if len(given) == len(fine):
        return  # only axes of size 1 differ: a squeeze, or the missing axis
    few, many = sorted((given, fine), key=len)
    if _joins(many, few):
        shape = tuple(wanted)
        words = f"reshape {name} to {shape}: neighbouring axes were joined or taken apart"
        yield Repair("reshape", words, f"{name} = {name}.reshape{shape}", array.reshape(shape))


def _joins(many: list[int], few: list[int]) -> bool:
    """Whether products of neighbours in ``many`` give ``few``."""
    if not few:
        return not many
    product = 1
    for count, size in enumerate(many, 1):
        product *= size
        if product == few[0] and _joins(many[count:], few[1:]):
            return True
    return False


def _joined(first: Repair, then: Repair) -> Repair:
    return Repair(
        f"{first.kind} + {then.kind}",
        f"{first.words}, then {then.words}",
        f"{first.code}; {then.code}",
        then.array,
        first.cost + then.cost,
    )


def _places(axes: tuple[int, ...]) -> str:
    return str(axes[0]) if len(axes) == 1 else str(axes)
