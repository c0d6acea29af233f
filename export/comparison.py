"""Compares the answers of one file with those of Keras, output by output.

Tokens, lengths and shapes must be equal, scores and alignments within what is `allowed`. The
exception is a near-tie (`near_tie`): other tokens that Keras finds as good as its own are counted
and reported, and their scores and alignments compared with those that Keras gives to these tokens.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from attention_zoo.export.cases import Case
from attention_zoo.export.errors import Difference
from attention_zoo.export.keras_reference import KerasReference, Outputs
from attention_zoo.export.near_tie import TOLERANCE, near_tie

RELATIVE_TOLERANCE = 1e-6
_EXACT = ("tokens", "lengths")


@dataclasses.dataclass
class Comparison:
    """What was seen of one signature of one file, over all cases.

    `largest` holds the largest absolute difference of each output; `near_ties` the row, and the
    rank in a beam, of each answer that is another and as good.
    """

    file: str
    signature: str
    rows: int = 0
    near_ties: list[str] = dataclasses.field(default_factory=list)
    largest: dict[str, float] = dataclasses.field(default_factory=dict)
    differences: list[Difference] = dataclasses.field(default_factory=list)

    def add(self, case: Case, reference: KerasReference, got: Outputs, expected: Outputs) -> None:
        """Compare the answer `got` of the file with `expected`, and keep what differs."""
        self.rows += len(case.source)
        found = structure(self.file, self.signature, case.name, got, expected)
        if found:
            self.differences += found
            return
        got, expected = dict(got), dict(expected)
        if np.array_equal(got["tokens"], expected["tokens"]):
            self._values(case.name, got, expected, None)
            return
        for row, source in enumerate(case.source):
            one, other = _row(got, row), _row(expected, row)
            # following tokens is slow, and changes nothing once other tokens have failed
            if not self._failed("tokens") and not np.array_equal(one["tokens"], other["tokens"]):
                accepted = near_tie(reference, source, one)
                if accepted is not None:
                    self.near_ties += _places(case.name, row, one["tokens"], other["tokens"])
                    other = accepted
            self._values(case.name, one, other, (row,))

    def summary(self) -> dict[str, Any]:
        """What the manifest keeps: rows compared, near-ties, largest differences."""
        return {
            "rows": self.rows,
            "tokens_equal": not self._failed("tokens") and not self.near_ties,
            "near_ties": list(self.near_ties),
            "largest_difference": dict(sorted(self.largest.items())),
        }

    def _failed(self, output: str) -> bool:
        return any(difference.output == output for difference in self.differences)

    def _values(
        self, case: str, got: Outputs, expected: Outputs, index: tuple[int, ...] | None
    ) -> None:
        for name, wanted in expected.items():
            difference = np.abs(np.subtract(got[name], wanted, dtype=np.float64))
            # NaN compares as different from everything, itself included
            difference = np.where(np.isnan(difference), np.inf, difference)
            largest = float(difference.max()) if difference.size else 0.0
            self.largest[name] = max(largest, self.largest.get(name, 0.0))
            excess = difference - (0.0 if name in _EXACT else allowed(wanted))
            if (excess > 0).any():
                place = np.unravel_index(int(excess.argmax()), excess.shape)
                where = (*(index or ()), *map(int, place))
                detail = f"at {where} expected {wanted[place]}, got {got[name][place]}"
                self._differs(case, name, "values", detail, largest)

    def _differs(
        self, case: str, output: str, kind: str, detail: str, largest: float | None = None
    ) -> None:
        self.differences.append(
            Difference(self.file, self.signature, output, case, kind, detail, largest)
        )


def allowed(values: np.ndarray) -> np.ndarray:
    """How much each of these floats may differ: 1e-4, beyond 100 one millionth of the value.

    The score of a long answer is a sum of many log-probabilities, which float32, added up in
    another order, gives to no more digits.
    """
    size = np.where(np.isfinite(values), np.abs(values, dtype=np.float64), 0.0)
    return np.maximum(TOLERANCE, RELATIVE_TOLERANCE * size)


def structure(
    file: str, signature: str, case: str, got: Outputs, expected: Outputs
) -> list[Difference]:
    """What differs in names, then shapes, then dtypes."""
    found = []
    for name in sorted(set(got) ^ set(expected)):
        detail = "missing" if name in expected else "not an output of the model"
        found.append(Difference(file, signature, name, case, "names", detail))
    for name in sorted(set(got) & set(expected)):
        one, other = got[name], expected[name]
        if one.shape != other.shape:
            detail = f"expected {other.shape}, got {one.shape}"
            found.append(Difference(file, signature, name, case, "shape", detail))
        elif one.dtype != other.dtype:
            detail = f"expected {other.dtype}, got {one.dtype}"
            found.append(Difference(file, signature, name, case, "dtype", detail))
    return found


def _row(outputs: Outputs, row: int) -> Outputs:
    return {name: np.asarray(array[row]) for name, array in outputs.items()}


def _places(case: str, row: int, got: np.ndarray, expected: np.ndarray) -> list[str]:
    """The answers to a row that differ, for reports: its own, or each of its beams'."""
    differs = np.atleast_1d((got != expected).any(axis=-1))
    ranks = np.flatnonzero(differs)
    return [f"{case}, row {(row,) if got.ndim == 1 else (row, int(rank))}" for rank in ranks]
