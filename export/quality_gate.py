"""The quality gate: what a quantised file loses on an evaluation set, and how much it may lose."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from attention_zoo.export.errors import QualityError

Decode = Callable[[list[list[int]]], Mapping[str, np.ndarray]]
"""Sources -> tokens (batch, T_dec), lengths (batch,): `predict` of a file, `greedy` of a model."""

LIMIT = 0.5
_BATCH = 32


@dataclasses.dataclass(frozen=True)
class QualityGate:
    """An evaluation set, a measure on it, and a limit.

        lost = score of the model in Keras, as it was given - score of the quantised file

    Both decode greedily. The limit is in points of the measure: 0.5 BLEU of 100, or half a percent
    of the tokens where the measure is a token accuracy in percent.

    Attributes:
        sources: the sequences to answer, lists of ids.
        score: the tokens that were written for each source (eos included, no padding) -> a number;
            more is better.
        measure: its name, such as "BLEU" or "token accuracy".
        data: which evaluation set this is, for the manifest.
        limit: how much may be lost.

    Raises:
        ValueError: no sources, or a limit that is not a finite number of at least 0.

    Example:
        >>> gate = QualityGate([[5, 9, 2]], lambda tokens: 100.0, "token accuracy")
        >>> gate.limit
        0.5
    """

    sources: Sequence[Sequence[int]]
    score: Callable[[list[list[int]]], float]
    measure: str
    data: str = ""
    limit: float = LIMIT

    def __post_init__(self) -> None:
        if not len(self.sources):
            raise ValueError(
                "QualityGate: sources is empty; expected at least one sequence. Fix: name an "
                "evaluation set that has some."
            )
        number = isinstance(self.limit, (int, float)) and not isinstance(self.limit, bool)
        if not number or not 0 <= self.limit < math.inf:
            raise ValueError(
                f"QualityGate: limit is {self.limit!r}; expected a finite number of at least 0, in "
                f"points of the {self.measure}. Fix: limit={LIMIT}."
            )

    def measured(self, model: Decode, quantised: Mapping[str, Decode]) -> GateReport:
        """What each of `quantised` (name -> how it decodes) loses against the model."""
        expected = self._answers(model)
        score = self._score(expected)
        files = {}
        for name, decode in quantised.items():
            got = self._answers(decode)
            own = self._score(got)
            files[name] = {
                "tokens_equal": share_equal(got, expected),
                "score": own,
                "lost": score - own,
            }
        return GateReport(self.measure, self.data, len(self.sources), self.limit, score, files)

    def _score(self, tokens: list[list[int]]) -> float:
        score = float(self.score(tokens))
        if not math.isfinite(score):
            raise ValueError(
                f"QualityGate: {self.measure} is {score}; expected a finite number. Fix: a score "
                "that is defined for any tokens, no tokens at all included."
            )
        return score

    def _answers(self, decode: Decode) -> list[list[int]]:
        """The tokens of each source, in their order; run in batches of like length."""
        order = sorted(range(len(self.sources)), key=lambda row: len(self.sources[row]))
        answers: list[list[int]] = [[] for _ in order]
        for first in range(0, len(order), _BATCH):
            rows = order[first : first + _BATCH]
            outputs = decode([list(self.sources[row]) for row in rows])
            for row, tokens, length in zip(
                rows, outputs["tokens"], outputs["lengths"], strict=True
            ):
                answers[row] = [int(token) for token in tokens[: int(length)]]
        return answers


@dataclasses.dataclass(frozen=True)
class GateReport:
    """What a gate measured.

    `files` maps a name to `tokens_equal` (share of positions at which both wrote the same),
    `score` and `lost`; `keras` is the score of the model itself.
    """

    measure: str
    data: str
    sequences: int
    limit: float
    keras: float
    files: dict[str, dict[str, float]]

    @property
    def failed(self) -> list[str]:
        """The files that lose more than the limit."""
        return [name for name, found in self.files.items() if found["lost"] > self.limit]

    def raise_if_failed(self) -> None:
        """Raise the `QualityError` that lists every file beyond the limit, if there is one."""
        if not self.failed:
            return
        lines = [
            f"  {name}: {self.measure} {found['score']:.2f}, {found['lost']:.2f} lost, "
            f"{found['tokens_equal']:.1%} of the tokens equal"
            for name, found in self.files.items()
            if name in self.failed
        ]
        raise QualityError(
            f"quantisation loses more than {self.limit:g} {self.measure} on {self.sequences:,} "
            f"sequences ({self.data or 'the evaluation set'}), where the model in Keras has "
            f"{self.keras:.2f}:\n" + "\n".join(lines) + "\nFix: leave that quantisation out, or "
            "export it all the same with allow_loss=True (--allow-loss).",
            self,
        )

    def to_dict(self) -> dict[str, Any]:
        """The `gate` of the manifest."""
        files = {
            name: {key: round(value, 6) for key, value in found.items()}
            for name, found in self.files.items()
        }
        return {**dataclasses.asdict(self), "keras": round(self.keras, 6), "files": files}


def share_equal(got: Sequence[Sequence[int]], expected: Sequence[Sequence[int]]) -> float:
    """Share of positions that hold the same token, over those that either side has.

    1.0 where neither side wrote a token.
    """
    equal = total = 0
    for one, other in zip(got, expected, strict=True):
        equal += sum(a == b for a, b in zip(one, other, strict=False))
        total += max(len(one), len(other))
    return equal / total if total else 1.0
