"""The part of the shape doctor that looks at numbers, once all shapes are right."""

from collections.abc import Collection, Iterator, Mapping
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from attention_zoo.layers.attention_axes import Axes, expected_shape
from attention_zoo.layers.attention_values import (
    BOOLEAN,
    MASKED,
    PADDING,
    SCORE,
    SOFTMAX,
    SUM,
    broken_relations,
    masked_softmax,
    sums_to_one,
    taking_part,
)
from attention_zoo.layers.diagnosis import Finding
from attention_zoo.layers.fault_search import Explanation, Fault, exchange
from attention_zoo.layers.repair import turns
from attention_zoo.layers.value_fixes import context_line, masked_line, softmax_line
from attention_zoo.layers.value_suspects import not_finite, suspects

Arrays = Mapping[str, NDArray]


def value_findings(
    arrays: Arrays, mechanism: str, n_heads: int, explanation: Explanation
) -> list[tuple[Finding, ...]]:
    """What is wrong with numbers of the right shapes: an explanation each, one where decided.

    First the faults that no shape shows (a square tensor transposed, two of one shape exchanged, a
    mask turned round, a softmax over another axis): those after whose repair the most relations
    hold. If none helps, the tensors that may have broken the relations are told. Where some tensor
    holds NaN or infinite numbers, nothing else is looked at.
    """
    told = _Teller(arrays, explanation)
    endless = not_finite(arrays)
    if endless:
        return [tuple(told.not_finite(endless))]
    heads = tuple(told.heads(n_heads))
    if heads:
        return [heads]
    state = tuple(told.state(mechanism))
    broken = broken_relations(arrays, mechanism, n_heads)
    found: list[tuple[int, tuple[Finding, ...]]] = []
    if broken:
        for fault in _silent_faults(arrays, explanation.axes):
            if fault.kind == "mask inverted" and BOOLEAN in broken:
                continue
            left = broken_relations({**arrays, **fault.changes}, mechanism, n_heads)
            related = {name for it in broken - left for name in taking_part(it, arrays)}
            if related.isdisjoint(fault.tensors):
                continue  # fewer real steps, and so nothing left to compare
            found.append((len(left), told.fault(fault, broken - left)))
        left = broken - {SUM, SOFTMAX, SCORE}
        found += [(len(left), (finding,)) for finding in told.softmax_axis(broken)]
    least = min((count for count, _ in found), default=len(broken))
    if least < len(broken):
        return [(*findings, *state) for count, findings in found if count == least]
    certain = tuple(told.relations(broken))
    if certain or (state and broken <= {SCORE}):  # the query of another step has other scores
        return [(*certain, *state)]
    names = suspects(arrays, mechanism, n_heads)
    return [(told.suspect(name, broken, len(names) == 1), *state) for name in names] or [state]


def undecided_by_values(
    arrays: Arrays, mechanism: str, n_heads: int, explanation: Explanation
) -> tuple[tuple[Finding, ...], ...]:
    """Faults of arrays that seem right which neither a shape nor a number would show."""
    broken = len(broken_relations(arrays, mechanism, n_heads))
    told, unseen = _Teller(arrays, explanation), []
    for fault in _silent_faults(arrays, explanation.axes):
        if fault.kind not in ("transpose", "exchange"):
            continue
        if all(np.array_equal(arrays[name], changed) for name, changed in fault.changes.items()):
            continue
        changed = {**arrays, **fault.changes}
        if len(broken_relations(changed, mechanism, n_heads)) <= broken:
            unseen.append(told.fault(fault, frozenset()))
    return tuple(unseen)


def _silent_faults(arrays: Arrays, axes: Mapping[str, Axes]) -> Iterator[Fault]:
    """Faults whose repair leaves every shape as it is."""
    for name, array in arrays.items():
        for turn in turns(name, array):
            yield Fault((name,), turn.kind, turn.words, turn.code, {name: turn.array}, (0, 1))
    for one, other in combinations(arrays, 2):
        same = axes[one] == axes[other] and {one, other} != {"scores", "weights"}
        if same or {one, other} == {"keys", "memory"} or arrays[one].shape != arrays[other].shape:
            continue
        yield exchange(one, other, arrays)
    if "mask" in arrays:
        words = "turn the mask round: true is a real step, false is padding"
        turned = np.logical_not(arrays["mask"])
        code = "mask = np.logical_not(mask)"
        yield Fault(("mask",), "mask inverted", words, code, {"mask": turned}, (0, 1))


class _Teller:
    """Writes findings on tensors of the right shape."""

    def __init__(self, arrays: Arrays, explanation: Explanation) -> None:
        self.arrays, self.axes, self.sizes = arrays, explanation.axes, explanation.sizes

    def fault(self, fault: Fault, mended: frozenset[str]) -> tuple[Finding, ...]:
        """A finding for each of its tensors; the first has the line that mends them all."""
        reason = f"After the fix {' and '.join(sorted(mended))}." if mended else ""
        lines = (fault.code, *[None] * (len(fault.tensors) - 1))
        return tuple(
            self._finding(name, fault.kind, fault.words, line, reason)
            for name, line in zip(fault.tensors, lines, strict=True)
        )

    def heads(self, n_heads: int) -> Iterator[Finding]:
        width = self.sizes.get("d_h")
        if width and width % n_heads:
            name = next(name for name, axes in self.axes.items() if "d_h" in axes)
            fix = f"choose n_heads among the divisors of {width}"
            reason = f"d_h = {width} cannot be split into n_heads = {n_heads} groups."
            yield self._finding(name, "heads", fix, None, reason)

    def mask_values(self) -> Iterator[Finding]:
        additive = self.arrays["mask"].max() == 0
        code = "mask = mask == 0" if additive else None
        fix = "give booleans, true at real steps"
        adds = ", to be added to scores: 0 at real steps" if additive else ""
        reason = f"It holds numbers other than 0 and 1{adds}."
        yield self._finding("mask", "mask values", fix, code, reason)

    def softmax_axis(self, broken: frozenset[str]) -> Iterator[Finding]:
        """The weights sum to 1 over an axis that is not T_enc."""
        weights = self.arrays.get("weights")
        if weights is None or SUM not in broken:
            return
        for axis, word in enumerate(self.axes["weights"][:-1]):
            if sums_to_one(self.arrays, axis) and self._is_softmax_over(axis):
                reason = f"They sum to 1 over {word}, the axis {axis}, and not over T_enc."
                yield self._weights("softmax axis", "take the softmax over T_enc, axis=-1", reason)

    def relations(self, broken: frozenset[str]) -> Iterator[Finding]:
        """The broken relations that have one tensor alone to answer for them."""
        if BOOLEAN in broken:
            yield from self.mask_values()
        elif SUM in broken:
            total = self.arrays["weights"].sum(axis=-1)
            reason = f"Over T_enc they sum to {total.min():.4g} up to {total.max():.4g}, not to 1."
            fix = "take the softmax over T_enc, axis=-1, and give weights from before any dropout"
            yield self._weights("softmax axis", fix, reason)
        elif MASKED in broken and self._is_never_masked():
            reason = "They are not 0 at masked steps."
            yield self._weights("unmasked", "mask the scores before the softmax", reason)
        if PADDING in broken:
            reason = "It is true at the very steps where the memory is 0."
            fix = "turn the mask round: true is a real step"
            code = "mask = np.logical_not(mask)"
            yield self._finding("mask", "mask inverted", fix, code, reason)

    def not_finite(self, names: Collection[str]) -> Iterator[Finding]:
        """Each tensor with a NaN or an infinite number; a line for those made from what is well."""
        weights_line = self._weights_line("softmax") if "weights" in names else None
        for name in names:
            fix = f"make {name} anew where it comes from; a number put in its place hides the fault"
            line = None
            if name == "weights" and "scores" not in names:
                line = weights_line
            elif name == "context" and not {"weights", "memory", "keys"} & set(names):
                line = context_line(self.arrays, self.axes)
            count = int(np.count_nonzero(~np.isfinite(self.arrays[name])))
            reason = f"Of its {self.arrays[name].size} numbers {count} are NaN or infinite."
            yield self._finding(name, "not finite", fix, line, reason)

    def suspect(self, name: str, broken: frozenset[str], is_certain: bool) -> Finding:
        """One tensor that may have broken relations; a line where other tensors make it."""
        shown = [
            relation for relation in sorted(broken) if name in taking_part(relation, self.arrays)
        ]
        reason = f"It does not hold that {', nor that '.join(shown)}."
        if broken == {SCORE} and not is_certain:
            reason += " A scale such as 1 / sqrt(d_h), or a bias, in your scores may be the reason."
        if name == "context":
            line = context_line(self.arrays, self.axes)
            return self._finding(name, "context", "compute weights @ memory", line, reason)
        if name == "weights" and {SOFTMAX, MASKED} & broken:
            fix = "compute the softmax of the scores over the real steps"
            return self._weights("softmax", fix, reason)
        fix = f"look where {name} comes from, and compute what follows from it anew"
        return self._finding(name, "numbers", fix, None, reason)

    def _is_never_masked(self) -> bool:
        """Whether the weights are 0 nowhere, as a softmax without a mask leaves them."""
        return bool(np.all(self.arrays["weights"] != 0))

    def state(self, mechanism: str) -> Iterator[Finding]:
        """The query of the wrong step: what tells Bahdanau's order from Luong's."""
        if not {"query", "state_before", "state_after"} <= set(self.arrays):
            return
        right, wrong = "state_before", "state_after"
        words, other_words = "s_{t-1}", "s_t"
        if mechanism != "bahdanau":
            right, wrong, words, other_words = wrong, right, other_words, words
        query, wanted, taken = (
            self.arrays[name].astype("float64") for name in ("query", right, wrong)
        )
        gap = np.linalg.norm(wanted - taken)
        near, far = np.linalg.norm(query - taken), np.linalg.norm(query - wanted)
        if gap == 0 or near > 0.1 * gap or far < 0.5 * gap:
            return
        like = "equals" if near < 1e-4 * gap else "looks like"
        reason = f"It {like} {wrong}, {other_words}; {mechanism} asks with {words}."
        fix = f"score with {right}, {words}, and compute what follows anew"
        yield self._finding("query", "state", fix, f"query = {right}", reason)

    def _is_softmax_over(self, axis: int) -> bool:
        if "scores" not in self.arrays:
            return True
        unmasked = {name: x for name, x in self.arrays.items() if name != "mask"}
        given = self.arrays["weights"].astype("float64")
        return any(
            np.allclose(given, masked_softmax(x, axis), 2e-2, 2e-3) for x in (self.arrays, unmasked)
        )

    def _weights(self, kind: str, fix: str, reason: str) -> Finding:
        """On weights whose numbers are wrong, and with them the context."""
        return self._finding("weights", kind, fix, self._weights_line(kind), reason)

    def _weights_line(self, kind: str) -> str | None:
        line = None
        if "scores" in self.arrays:
            line = softmax_line(self.arrays)
        elif kind == "unmasked":
            line = masked_line(self.arrays)
        context = context_line(self.arrays, self.axes)
        if line and context:
            return f"{line}; {context}"
        # else the context would keep what the wrong weights gave it
        return None if "context" in self.arrays else line

    def _finding(self, name: str, kind: str, fix: str, code: str | None, reason: str) -> Finding:
        expected = expected_shape(self.axes[name], self.sizes)
        return Finding(
            name, self.axes[name], expected, self.arrays[name].shape, kind, fix, code, reason
        )
