"""Compares the answers of one file with those of Keras, output by output.

Tokens, lengths and shapes must be equal, scores and alignments within a tolerance. Where two
tokens are as good as equally likely, a last bit decides which of them is taken, and from there on
the sequences differ; such a near-tie is counted and reported, and accepted only if Keras itself,
made to follow the file's tokens, gives them the file's score and finds no better token at any step.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from attention_zoo.export.cases import Case
from attention_zoo.export.errors import Difference
from attention_zoo.export.keras_reference import KerasReference, Outputs, length_norm
from attention_zoo.vocabulary import EOS

TOLERANCE = 1e-4
_EXACT = ("tokens", "lengths")


@dataclasses.dataclass
class Comparison:
    """What was seen of one signature of one file, over all cases.

    `largest` holds the largest absolute difference of each output; `near_ties` the places where
    Keras finds the file's tokens as good as its own.
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
        # beam searches differ in a rank, greedy ones in a row: go through each sequence alone
        rows = list(np.ndindex(got["tokens"].shape[:-1]))
        for index in rows:
            one, other = _pick(got, index), _pick(expected, index)
            # following tokens is slow, and changes nothing once other tokens have failed
            if not self._failed("tokens") and not np.array_equal(one["tokens"], other["tokens"]):
                accepted = _near_tie(reference, case.source[index[0]], one, other, len(index) == 2)
                if accepted is not None:
                    self.near_ties.append(f"{case.name}, row {index}")
                    other = accepted
            self._values(case.name, one, other, index)

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
            if largest > (0.0 if name in _EXACT else TOLERANCE):
                place = np.unravel_index(int(difference.argmax()), difference.shape)
                where = (*(index or ()), *map(int, place))
                detail = f"at {where} expected {wanted[place]}, got {got[name][place]}"
                self._differs(case, name, "values", detail, largest)

    def _differs(
        self, case: str, output: str, kind: str, detail: str, largest: float | None = None
    ) -> None:
        self.differences.append(
            Difference(self.file, self.signature, output, case, kind, detail, largest)
        )


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


def _pick(outputs: Outputs, index: tuple[int, ...]) -> Outputs:
    return {name: np.asarray(array[index]) for name, array in outputs.items()}


def _near_tie(
    reference: KerasReference, source: np.ndarray, got: Outputs, expected: Outputs, beam: bool
) -> Outputs | None:
    """What Keras makes of the file's tokens, if they are as good as its own; otherwise None."""
    tokens = got["tokens"]
    ended = np.flatnonzero(tokens == EOS)
    length = int(ended[0]) + 1 if ended.size else len(tokens)
    size = reference.model.config.vocab_target
    if tokens[length:].any() or tokens.min() < 0 or tokens.max() >= size:
        return None
    forced = reference.forced(source[None], tokens)
    score = float(forced["log_probs"].sum(dtype=np.float64))
    if beam:
        score /= length_norm(length, reference.settings.length_penalty)
        if abs(score - float(expected["scores"])) > TOLERANCE:
            return None
    elif forced["gaps"].max() > TOLERANCE:
        return None
    return {
        "tokens": tokens,
        "lengths": np.asarray(length, got["lengths"].dtype),
        "scores": np.asarray(score, np.float32),
        "alignments": forced["alignments"],
    }
