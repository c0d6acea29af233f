"""How far a quantised file agrees with Keras: its tokens are counted, all else must be sound.

int8 weights give other scores than float32 ones, and now and then another token, after which the
sequences part. So nothing here is compared with a tolerance: names, shapes and dtypes must be
those of Keras, tokens must be ids, lengths must count them, scores and alignments must be finite.
What the other tokens cost is for the quality gate to say.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from attention_zoo.export.cases import Case
from attention_zoo.export.comparison import structure
from attention_zoo.export.errors import Difference
from attention_zoo.export.keras_reference import Outputs
from attention_zoo.export.quality_gate import share_equal
from attention_zoo.vocabulary import PAD


@dataclasses.dataclass
class Agreement:
    """What was seen of one signature of a quantised file, over all cases.

    `written` and `expected` hold the tokens of each row, without padding.
    """

    file: str
    signature: str
    vocab_target: int
    rows: int = 0
    written: list[list[int]] = dataclasses.field(default_factory=list)
    expected: list[list[int]] = dataclasses.field(default_factory=list)
    differences: list[Difference] = dataclasses.field(default_factory=list)

    def add(self, case: Case, got: Outputs, expected: Outputs) -> None:
        """Count the tokens of `got` that Keras wrote too, and keep what cannot be right."""
        self.rows += len(case.source)
        differences = structure(self.file, self.signature, case.name, got, expected)
        differences = differences or self._values(case.name, got)
        self.differences += differences
        if not differences:
            self.written += _tokens(got)
            self.expected += _tokens(expected)

    @property
    def tokens_equal(self) -> float:
        """Share of positions with the same token."""
        return share_equal(self.written, self.expected)

    def summary(self) -> dict[str, Any]:
        """What the manifest keeps: rows, tokens that Keras wrote, and the share that is equal."""
        tokens = sum(map(len, self.expected))
        return {"rows": self.rows, "tokens": tokens, "tokens_equal": round(self.tokens_equal, 6)}

    def _values(self, case: str, got: Outputs) -> list[Difference]:
        tokens = got["tokens"]
        faults = {
            "tokens": (
                not (tokens.size and (tokens.min() < 0 or tokens.max() >= self.vocab_target)),
                f"expected ids from 0 to {self.vocab_target - 1}, got {tokens.min()} to "
                f"{tokens.max()}",
            ),
            "lengths": (
                np.array_equal(got["lengths"], (tokens != PAD).sum(axis=-1)),
                "expected the number of tokens that are not padding",
            ),
        }
        for name in ("scores", "alignments"):
            finite = np.isfinite(got[name])
            faults[name] = bool(finite.all()), f"{(~finite).sum()} values are not finite"
        return [
            Difference(self.file, self.signature, name, case, "values", detail)
            for name, (sound, detail) in faults.items()
            if not sound
        ]


def _tokens(outputs: Outputs) -> list[list[int]]:
    """The tokens of each row, of each beam too if there are several."""
    width = outputs["tokens"].shape[-1]
    rows = outputs["tokens"].reshape(-1, width)
    lengths = outputs["lengths"].reshape(-1)
    return [row[:length].tolist() for row, length in zip(rows, lengths, strict=True)]
