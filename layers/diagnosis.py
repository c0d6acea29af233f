"""What the shape doctor found: to read, to keep as JSON, and to turn into a test."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from attention_zoo.layers.attention_axes import Axes, expected_shape
from attention_zoo.layers.shapes import in_numbers, in_words

Verdict = Literal["healthy", "wrong", "ambiguous", "unknown"]


@dataclass(frozen=True)
class Finding:
    """One wrong tensor.

    Attributes:
        tensor: its name.
        axes: the axes it should have, ``("d_s", "d_attn")``.
        expected: their sizes, None for one that nothing fixes.
        actual: the shape that it has.
        kind: transpose, squeeze, expand_dims, reshape, drop_tile, exchange, widths, project,
            rebuild or recompute; "refused" where a fix would broadcast or invent numbers; or, where
            the shape is right, what is wrong with the numbers: softmax axis, unmasked, mask
            inverted, context, state, mask values, heads, not finite (NaN or infinite), softmax
            (weights that are not that of the scores), numbers (they disagree with others).
        fix: what to do, one line of words.
        code: the same as a line of NumPy on the arrays by their names; None if nothing is to be
            done to these arrays that would not hide the fault.
        reason: how it was found out.
    """

    tensor: str
    axes: Axes
    expected: tuple[int | None, ...]
    actual: tuple[int, ...]
    kind: str
    fix: str
    code: str | None
    reason: str

    def __str__(self) -> str:
        expected = in_words(self.axes)
        if self.expected != self.axes:
            expected += f" = {in_numbers(self.expected)}"
        right = "" if self.expected == self.actual else f"; expected {expected}"
        line = f"{self.tensor} has shape {in_numbers(self.actual)}{right}. {self.reason}".rstrip()
        code = f"\n     {self.code}" if self.code else ""
        return f"{line}\n   Fix: {self.fix}.{code}"


@dataclass(frozen=True)
class Diagnosis:
    """The answer of `diagnose`.

    Attributes:
        mechanism: as it was asked for.
        verdict: "healthy": all tensors agree. "wrong": the findings say which do not. "ambiguous":
            several candidates explain the arrays equally well; nothing is to be changed before
            one knows more. "unknown": too many tensors disagree to say which.
        findings: what is wrong under every candidate.
        candidates: where ambiguous, the explanations; each is a set of findings which, with
            those in ``findings``, would make everything right.
        undecided: where healthy, the faults that neither a shape nor a number would show, each a
            set of findings like a candidate: a square weight may be transposed.
        sizes: axis -> size, None where it is not known or the candidates disagree.
        axes: tensor -> its right axes.
    """

    mechanism: str
    verdict: Verdict
    findings: tuple[Finding, ...]
    candidates: tuple[tuple[Finding, ...], ...]
    undecided: tuple[tuple[Finding, ...], ...]
    sizes: Mapping[str, int | None]
    axes: Mapping[str, Axes]

    @property
    def tensors(self) -> tuple[str, ...]:
        """The names of all tensors that are wrong, or may be."""
        return tuple(dict.fromkeys(finding.tensor for finding in self._all()))

    @property
    def fixes(self) -> tuple[str, ...]:
        """The lines of NumPy that mend what is certainly wrong."""
        return tuple(finding.code for finding in self.findings if finding.code)

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON takes it."""
        content = asdict(self)
        content["tensors"] = self.tensors
        content["regression_test"] = self.regression_test()
        return content

    def regression_test(self) -> str:
        """A file for pytest that needs NumPy alone and fails with the arrays as they came.

        As it stands it passes, with arrays that are made up: put a call of your own code in the
        place that it names.
        """
        from attention_zoo.layers.shape_test import shape_test

        kinds = {finding.kind for finding in self._all()}
        return shape_test(self.mechanism, self.axes, self.sizes, kinds)

    def __str__(self) -> str:
        sizes = ", ".join(f"{axis} = {n}" for axis, n in self.sizes.items() if n is not None)
        lines = [f"{self.mechanism}: {self.verdict}{f' ({sizes})' if sizes else ''}."]
        if self.verdict == "unknown":
            lines.append(
                "Too many tensors disagree to say which are wrong. Fix: pass fewer of them, the "
                "query and the memory first, and add the others one at a time."
            )
        lines += [f"{number}. {finding}" for number, finding in enumerate(self.findings, 1)]
        if self.candidates:
            lines.append(
                f"Ambiguous: {len(self.candidates)} explanations fit equally well, so no fix is "
                "applied blindly. More of the arrays, or other sizes for axes of one size, decide."
            )
        for number, candidate in enumerate(self.candidates, 1):
            lines += [f"Candidate {number}: {finding}" for finding in candidate]
        for first, *_ in self.undecided:
            lines.append(
                f"Ambiguous, though nothing speaks for it: {first.tensor} has shape "
                f"{in_numbers(first.actual)}, and after `{first.code}` everything fits as well."
            )
        return "\n".join(lines)

    def _all(self) -> Iterator[Finding]:
        yield from self.findings
        for candidate in self.candidates:
            yield from candidate


def known_sizes(axes: Mapping[str, Axes], sizes: Mapping[str, int | None]) -> dict[str, int | None]:
    """The size of each axis that some tensor has, sums included, in the usual order."""
    names = dict.fromkeys(axis for tensor in axes.values() for axis in tensor)
    order = ("batch", "T_enc", "T_dec", "d_s", "d_h", "d_attn")
    names = dict.fromkeys([*(axis for axis in order if axis in names), *names])
    return {axis: expected_shape((axis,), sizes)[0] for axis in names}
