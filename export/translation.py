"""What a translator answers to one text."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np


@dataclasses.dataclass(frozen=True, eq=False)
class Translation:
    """One translation, and where the model looked while it wrote it.

    Attributes:
        source: the text as it was given.
        text: the translation, on one line.
        score: log-probability (natural logarithm) of the tokens; from beam search, divided by the
            length penalty. A text that was translated in parts has the sum.
        tokens: ids that were written, eos included.
        pieces: the same as text, with U+2581 for a space: `["▁I", "▁am", "</s>"]`.
        source_pieces: what was read, likewise.
        alignments: (tokens, source pieces) float32; each row the weights with which a token was
            written. Zeros for a model without attention.
        alternatives: the next best translations, best first, where more than one was asked for.
    """

    source: str
    text: str = ""
    score: float = 0.0
    tokens: list[int] = dataclasses.field(default_factory=list)
    pieces: list[str] = dataclasses.field(default_factory=list)
    source_pieces: list[str] = dataclasses.field(default_factory=list)
    alignments: np.ndarray = dataclasses.field(
        default_factory=lambda: np.zeros((0, 0), np.float32), repr=False
    )
    alternatives: tuple[Translation, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The same for JSON; alternatives only where there are any."""
        content: dict[str, Any] = {
            "source": self.source,
            "text": self.text,
            "score": self.score,
            "tokens": self.tokens,
            "pieces": self.pieces,
            "source_pieces": self.source_pieces,
            "alignments": [[round(float(weight), 6) for weight in row] for row in self.alignments],
        }
        if self.alternatives:
            content["alternatives"] = [other.to_dict() for other in self.alternatives]
        return content


def joined(parts: list[Translation], source: str) -> Translation:
    """The translation of a text from those of its parts; alignments stand on the diagonal."""
    if len(parts) == 1:
        return parts[0]
    shapes = [part.alignments.shape for part in parts]
    alignments = np.zeros([sum(sizes) for sizes in zip(*shapes, strict=True)], np.float32)
    row = column = 0
    for part, (height, width) in zip(parts, shapes, strict=True):
        alignments[row : row + height, column : column + width] = part.alignments
        row, column = row + height, column + width
    return Translation(
        source=source,
        text=" ".join(part.text for part in parts if part.text),
        score=sum(part.score for part in parts),
        tokens=[token for part in parts for token in part.tokens],
        pieces=[piece for part in parts for piece in part.pieces],
        source_pieces=[piece for part in parts for piece in part.source_pieces],
        alignments=alignments,
    )
