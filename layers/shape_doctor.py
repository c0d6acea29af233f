"""The shape doctor: which tensor of a broken attention is wrong, and what mends it."""

from collections.abc import Mapping
from dataclasses import replace
from difflib import get_close_matches
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attention_zoo.layers.attention_axes import (
    MECHANISMS,
    TENSORS,
    expected_shape,
)
from attention_zoo.layers.attention_values import broken_relations
from attention_zoo.layers.diagnosis import Diagnosis, Finding, Verdict, known_sizes
from attention_zoo.layers.fault_search import WIDTHS, Explanation, Fault, explanations
from attention_zoo.layers.shapes import in_numbers, settle_axes
from attention_zoo.layers.value_doctor import undecided_by_values, value_findings
from attention_zoo.layers.wrong_size import advice_on_size

Arrays = Mapping[str, NDArray]


def diagnose(mechanism: str, *, n_heads: int = 1, **arrays: Any) -> Diagnosis:
    """Name the tensor of an attention step that has a wrong shape.

    The sizes (batch, T_enc, T_dec, d_s, d_h, d_attn) are not asked for: they are those under which
    the fewest tensors are wrong, where a tensor that was only rearranged (transposed, squeezed,
    tiled, joined, exchanged with another) counts less than one of a wrong size. Explanations that
    are equally simple are told apart by the numbers, and given as candidates where they cannot be.
    If all shapes are right, the numbers are looked at: NaN and infinite ones, weights that sum to 1
    over another axis, are not 0 at masked steps or not the softmax of the scores, scores that are
    not those of the formula, a mask turned round, a context that is not ``weights @ memory``, and
    the query of the wrong step: Bahdanau asks s_{t-1}, Luong s_t (section 3.1 of both papers). A
    scale of scores, such as 1 / sqrt(d_h), is not in the papers: it is told as ambiguous.

    No fix broadcasts: an axis of 1 is never taken for one of more, and a reshape is offered only
    where it joins neighbouring axes or takes them apart.

    Args:
        mechanism: "bahdanau", "luong_dot", "luong_general" or "luong_concat".
        n_heads: for "luong_dot" and "luong_general".
        arrays: any of the tensors of the mechanism, as arrays; None is passed over. Axes, for a
            sequence of queries (one query has no T_dec):

            - query, state_before (s_{t-1}), state_after (s_t): (batch, T_dec, d_s)
            - keys, memory (the values, the keys if these are not given): (batch, T_enc, d_h)
            - mask (batch, T_enc), true at real steps
            - scores, weights: (batch, T_dec, T_enc), with heads (batch, n_heads, T_dec, T_enc)
            - context (batch, T_dec, d_h)
            - bahdanau: W_a (d_s, d_attn), U_a (d_h, d_attn), v_a (d_attn,)
            - luong_general: W_a (d_s, d_h)
            - luong_concat: W_a (d_s + d_h, d_attn), v_a (d_attn,)
            - all of Luong's: W_c (d_h + d_s, d_out)

    Raises:
        ValueError: an unknown mechanism or tensor, no tensor at all, one that is empty or does not
            hold numbers.

    A weight that was kept the other way round, as `torch.nn.Linear` does:

    >>> import numpy as np
    >>> found = diagnose(
    ...     "bahdanau", query=np.ones((2, 3)), memory=np.ones((2, 7, 5)), W_a=np.ones((11, 3)),
    ...     U_a=np.ones((5, 11)), v_a=np.ones(11),
    ... )
    >>> found.verdict, found.tensors, found.fixes
    ('wrong', ('W_a',), ('W_a = W_a.T',))
    >>> print(found.findings[0].reason)
    d_s = 3 is fixed by query; d_attn = 11 is fixed by U_a and v_a.
    """
    given = _read(mechanism, n_heads, arrays)
    best = explanations(given, mechanism, n_heads)
    if not best:
        return Diagnosis(mechanism, "unknown", (), (), (), {}, {})
    if not best[0].faults:
        return _by_numbers(given, mechanism, n_heads, best[0])
    if len(best) > 1:  # the numbers may decide
        broken = [len(broken_relations(e.repaired(given), mechanism, n_heads)) for e in best]
        best = [e for e, count in zip(best, broken, strict=True) if count == min(broken)]
    told = [_findings(given, explanation) for explanation in best]
    return _diagnosis(mechanism, told, best)


def _by_numbers(
    arrays: Arrays, mechanism: str, n_heads: int, explanation: Explanation
) -> Diagnosis:
    told = value_findings(arrays, mechanism, n_heads, explanation)
    found = _diagnosis(mechanism, told, [explanation] * len(told))
    if found.verdict == "healthy":
        undecided = undecided_by_values(arrays, mechanism, n_heads, explanation)
        return Diagnosis(mechanism, "healthy", (), (), undecided, found.sizes, found.axes)
    return found


def _diagnosis(
    mechanism: str, told: list[tuple[Finding, ...]], best: list[Explanation]
) -> Diagnosis:
    """What all explanations say, and what only some of them do."""
    first = told[0]
    without_reason = [{replace(f, reason="") for f in findings} for findings in told]
    shared = set.intersection(*without_reason)
    common = tuple(f for f in first if replace(f, reason="") in shared)
    rest = [tuple(f for f in findings if replace(f, reason="") not in shared) for findings in told]
    verdict: Verdict = "wrong" if first else "healthy"
    if len(told) > 1:
        verdict = "ambiguous"
    sizes = [known_sizes(e.axes, e.sizes) for e in best]
    agreed = {
        axis: size if all(other.get(axis) == size for other in sizes) else None
        for axis, size in sizes[0].items()
    }
    candidates = tuple(rest) if len(told) > 1 else ()
    return Diagnosis(mechanism, verdict, common, candidates, (), agreed, best[0].axes)


def _findings(arrays: Arrays, explanation: Explanation) -> tuple[Finding, ...]:
    return tuple(
        _finding(arrays, explanation, fault, name)
        for fault in explanation.faults
        for name in fault.tensors
    )


def _finding(arrays: Arrays, explanation: Explanation, fault: Fault, name: str) -> Finding:
    axes, sizes = explanation.axes, explanation.sizes
    if fault.kind == WIDTHS:  # each as the other would have it
        sizes = {**sizes, "d_s": sizes["d_h"], "d_h": sizes["d_s"]}
    kind, words, code = fault.kind, fault.words, fault.code
    if not words:
        kind, words, code = advice_on_size(name, arrays, explanation)
    return Finding(
        tensor=name,
        axes=axes[name],
        expected=expected_shape(axes[name], sizes),
        actual=arrays[name].shape,
        kind=kind,
        fix=words,
        # of two tensors that are mended together the first has the line
        code=code if name == fault.tensors[0] else None,
        reason=_reason(name, arrays, explanation),
    )


def _reason(name: str, arrays: Arrays, explanation: Explanation) -> str:
    """Which other tensors fix the sizes of this one."""
    if any(fault.kind == WIDTHS and name in fault.tensors for fault in explanation.faults):
        return "A dot product needs d_s = d_h."
    axes, sizes = explanation.axes, explanation.sizes
    right = {
        other: (array.shape, axes[other])
        for other, array in arrays.items()
        if other not in explanation.suspects
    }
    _, origin = settle_axes(right, {})
    parts = [part for axis in axes[name] for part in axis.split(" + ")]
    said = [
        f"{axis} = {sizes[axis]} is fixed by {origin[axis]}"
        for axis in dict.fromkeys(parts)
        if axis in origin
    ]
    return "; ".join(said) + "." if said else ""


def _read(mechanism: str, n_heads: int, arrays: Mapping[str, Any]) -> dict[str, NDArray]:
    """The arrays by name, in the order of the table, once they can be looked at."""
    if mechanism not in MECHANISMS:
        near = get_close_matches(str(mechanism), MECHANISMS, n=1, cutoff=0.3)
        raise ValueError(
            f"mechanism is {mechanism!r}; expected one of {', '.join(MECHANISMS)}. "
            f'Fix: "{(near or MECHANISMS)[0]}".'
        )
    _check_heads(mechanism, n_heads)
    given = {name: array for name, array in arrays.items() if array is not None}
    for name in given:
        if name not in TENSORS[mechanism]:
            raise ValueError(_unknown(mechanism, name))
    if not given:
        raise ValueError(
            f"{mechanism}: no tensor was given; expected any of {', '.join(TENSORS[mechanism])}. "
            "Fix: pass at least the query and the memory."
        )
    return {name: _array(name, given[name]) for name in TENSORS[mechanism] if name in given}


def _check_heads(mechanism: str, n_heads: int) -> None:
    if n_heads < 1 or (n_heads > 1 and mechanism not in ("luong_dot", "luong_general")):
        raise ValueError(
            f"{mechanism}: n_heads is {n_heads}; expected 1, or more of them for luong_dot and "
            "luong_general alone. Fix: leave n_heads out."
        )


def _unknown(mechanism: str, name: str) -> str:
    known = TENSORS[mechanism]
    others = [other for other in MECHANISMS if name in TENSORS[other]]
    if others:
        return (
            f"{mechanism}: {name} is no tensor of it, but one of {', '.join(others)}. Fix: leave "
            f"{name} out, or name that mechanism."
        )
    near = get_close_matches(name, known, n=3, cutoff=0.4)
    meant = f"call it {' or '.join(near)}" if near else "leave it out"
    return f"{mechanism}: {name} is unknown; expected any of {', '.join(known)}. Fix: {meant}."


def _array(name: str, value: Any) -> NDArray:
    array = np.asarray(value)
    if array.dtype.name == "bfloat16":
        array = array.astype("float32")
    if array.dtype.kind not in "biuf":
        raise ValueError(
            f"{name} holds {array.dtype}; expected numbers or booleans. Fix: "
            f"np.asarray({name}, 'float32'), with rows of one length."
        )
    if array.size == 0:
        raise ValueError(
            f"{name} has shape {in_numbers(array.shape)}, which is empty; expected at least one "
            f"number. Fix: pass a batch with at least one sentence of at least one step."
        )
    return array
