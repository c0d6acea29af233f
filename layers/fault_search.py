"""The search for what explains a set of shapes with the fewest faults."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from attention_zoo.layers.attention_axes import Axes, Sizes, axes_of, expected_shape, sizes_of
from attention_zoo.layers.repair import repairs

Arrays = Mapping[str, NDArray]

MOST_FAULTS = 3
WRONG_SIZE, WIDTHS = "wrong size", "widths"


@dataclass(frozen=True, eq=False)
class Fault:
    """One thing that went wrong, and what undoes it.

    tensors: the tensors that are wrong; two where they stand in each other's place.
    kind: that of the `Repair`; "exchange"; "widths" for a query and keys that a dot product does
        not take; "wrong size" where rearranging does not help.
    changes: tensor -> array, after the repair; nothing where there is none.
    cost: (axes of a wrong size, rearrangements).
    """

    tensors: tuple[str, ...]
    kind: str
    words: str = ""
    code: str | None = None
    changes: Arrays = field(default_factory=dict)
    cost: tuple[int, int] = (1, 0)


@dataclass(frozen=True, eq=False)
class Explanation:
    """Faults after whose repair all tensors agree.

    one_step, axes: how the tensors are read.
    sizes: under which the tensors without a fault, and the repaired ones, are right.
    """

    faults: tuple[Fault, ...]
    one_step: bool
    axes: Mapping[str, Axes]
    sizes: Sizes

    @property
    def cost(self) -> tuple[int, int]:
        """What is least in the simplest explanation: wrong sizes first, then rearrangements."""
        costs = [fault.cost for fault in self.faults]
        return sum(sizes for sizes, _ in costs), sum(moves for _, moves in costs)

    @property
    def suspects(self) -> frozenset[str]:
        """The tensors that are wrong."""
        return frozenset(name for fault in self.faults for name in fault.tensors)

    def repaired(self, arrays: Arrays) -> dict[str, NDArray]:
        """The arrays after the repairs, without those for which there is none."""
        right = {name: array for name, array in arrays.items() if name not in self.suspects}
        for fault in self.faults:
            right |= fault.changes
        return right


def explanations(arrays: Arrays, mechanism: str, n_heads: int = 1) -> list[Explanation]:
    """The explanations with the fewest faults, and among them those of the least cost.

    A fault is one tensor rearranged, one tensor of a wrong size, two tensors in each other's place,
    the axis batch missing everywhere, or, for "dot" alone, d_s other than d_h. No fault at all is
    an explanation too. Empty where more than `MOST_FAULTS` would be needed.
    """
    for count in range(MOST_FAULTS + 1):
        found = []
        for one_step in (True, False):
            reading = _Reading(arrays, mechanism, one_step, n_heads)
            found += list(reading.explained_by(count))
            if not reading.has_steps:
                break  # both readings are one
        if found and count == 0:
            return found[:1]
        if found:
            least = min(explanation.cost for explanation in found)
            return [explanation for explanation in found if explanation.cost == least]
    return []


class _Reading:
    """The arrays read as one step or as a sequence of steps."""

    def __init__(self, arrays: Arrays, mechanism: str, one_step: bool, n_heads: int) -> None:
        self.arrays, self.one_step, self.n_heads = arrays, one_step, n_heads
        self.axes = axes_of(mechanism, arrays, one_step, n_heads)
        self.free_axes = axes_of(mechanism, arrays, one_step, n_heads, dot_widths=False)
        self.has_steps = one_step and self.axes != axes_of(mechanism, arrays, False, n_heads)
        self.shapes = {name: array.shape for name, array in arrays.items()}

    def explained_by(self, count: int) -> Iterator[Explanation]:
        """Every explanation with this many faults."""
        yield from self._single(count, self.axes, ())
        if count == 1:
            yield from self._exchanges()
            yield from self._of_one_sentence()
        values = [name for name in ("keys", "memory") if name in self.arrays]
        if count and self.free_axes != self.axes and values and "query" in self.arrays:
            for found in self._single(count - 1, self.free_axes, ()):
                d_s, d_h = found.sizes.get("d_s"), found.sizes.get("d_h")
                if d_s and d_h and d_s != d_h:
                    faults = (self._widths(values[0], d_s, d_h), *found.faults)
                    yield Explanation(faults, self.one_step, self.free_axes, found.sizes)

    def _single(
        self, count: int, axes: Mapping[str, Axes], faults: tuple[Fault, ...]
    ) -> Iterator[Explanation]:
        for suspects in combinations(axes, count):
            rest = {name: shape for name, shape in self.shapes.items() if name not in suspects}
            sizes = sizes_of(rest, axes, self.n_heads)
            if sizes is not None:
                yield from self._repaired(suspects, axes, rest, sizes, faults)

    def _repaired(
        self,
        suspects: tuple[str, ...],
        axes: Mapping[str, Axes],
        right: Mapping[str, tuple[int, ...]],
        sizes: Sizes,
        faults: tuple[Fault, ...],
    ) -> Iterator[Explanation]:
        """One suspect after the other, each with every repair that agrees with what is right."""
        if not suspects:
            yield Explanation(faults, self.one_step, axes, self._filled(sizes, axes, faults))
            return
        name, *others = suspects
        expected = expected_shape(axes[name], sizes)
        for repair in repairs(name, self.arrays[name], expected):
            now = {**right, name: repair.array.shape}
            agreed = sizes_of(now, axes, self.n_heads)
            if agreed is not None:
                changes = {name: repair.array}
                fault = Fault(
                    (name,), repair.kind, repair.words, repair.code, changes, (0, repair.cost)
                )
                yield from self._repaired(tuple(others), axes, now, agreed, (*faults, fault))
        wrong = _wrong_axes(self.shapes[name], expected)
        fault = Fault((name,), WRONG_SIZE, cost=(wrong, 0))
        yield from self._repaired(tuple(others), axes, right, sizes, (*faults, fault))

    def _of_one_sentence(self) -> Iterator[Explanation]:
        """Everything is right but for the axis batch, which is nowhere: one fault in all of them.

        It counts as much as a wrong size, so that it is no more than a candidate where one tensor
        alone may have lost the axis.
        """
        faults: list[Fault] = []
        for name, axes in self.axes.items():
            if axes[0] == "batch":
                more = self.arrays[name][None]
                words = f"give {name} the axis batch, of size 1: all tensors are of one sentence"
                code = f"{name} = np.expand_dims({name}, axis=0)"
                cost = (0, 0) if faults else (1, 0)
                faults.append(Fault((name,), "expand_dims", words, code, {name: more}, cost))
        more_axes = {name: array.shape for f in faults for name, array in f.changes.items()}
        sizes = sizes_of({**self.shapes, **more_axes}, self.axes, self.n_heads)
        if faults and sizes is not None:
            yield Explanation(tuple(faults), self.one_step, self.axes, sizes)

    def _filled(self, sizes: Sizes, axes: Mapping[str, Axes], faults: tuple[Fault, ...]) -> Sizes:
        """The sizes, with those that tensors of a wrong size alone know: not all of it is wrong."""
        filled = dict(sizes)
        for fault in faults:
            for name in fault.tensors if fault.kind == WRONG_SIZE else ():
                if len(axes[name]) == len(self.shapes[name]):
                    for axis, n in zip(axes[name], self.shapes[name], strict=True):
                        if filled.get(axis) is None and " + " not in axis:
                            filled[axis] = n
        return filled

    def _exchanges(self) -> Iterator[Explanation]:
        for one, other in combinations(self.axes, 2):
            if self.axes[one] == self.axes[other] or not self._ranks_fit(one, other):
                continue
            shapes = {**self.shapes, one: self.shapes[other], other: self.shapes[one]}
            sizes = sizes_of(shapes, self.axes, self.n_heads)
            if sizes is not None:
                fault = exchange(one, other, self.arrays)
                yield Explanation((fault,), self.one_step, self.axes, sizes)

    def _ranks_fit(self, one: str, other: str) -> bool:
        return all(
            len(self.shapes[name]) == len(self.axes[place])
            for name, place in ((one, other), (other, one))
        )

    def _widths(self, keys: str, d_s: int, d_h: int) -> Fault:
        """Query and keys of two widths: only a weight between them makes a product of them."""
        both = " (a bidirectional encoder has d_h = 2 x units)" if d_h == 2 * d_s else ""
        words = (
            f'd_s = {d_s} and d_h = {d_h}{both}: take "luong_general", whose W_a ({d_s}, {d_h}) '
            "projects the query, or give the decoder the width of the memory"
        )
        fault = Fault(("query", keys), WIDTHS, words, cost=(0, 2))
        if {"state_before", "state_after", "W_c"} & set(self.arrays):
            return fault  # a projected query would not have their width
        code = f"query = query @ np.eye({d_s}, {d_h})  # in place of np.eye a trained weight"
        changes = {"query": np.matmul(self.arrays["query"], np.eye(d_s, d_h))}
        return replace(fault, code=code, changes=changes)


def _wrong_axes(shape: tuple[int, ...], expected: tuple[int | None, ...]) -> int:
    """How many axes of a tensor are wrong, at least 1: an axis too many counts as one."""
    if len(shape) != len(expected):
        return abs(len(shape) - len(expected))
    pairs = zip(shape, expected, strict=True)
    return max(1, sum(size not in (n, None) for n, size in pairs))


def exchange(one: str, other: str, arrays: Arrays) -> Fault:
    """Two tensors in each other's place."""
    words = f"{one} and {other} stand in each other's place: exchange them"
    changes = {one: arrays[other], other: arrays[one]}
    code = f"{one}, {other} = {other}, {one}"
    return Fault((one, other), "exchange", words, code, changes, (0, 1))
