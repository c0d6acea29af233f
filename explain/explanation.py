"""One answer, and where the model looked while it wrote it, in pieces and in words."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np

from attention_zoo.explain.weights_note import WEIGHTS_NOT_REASONS
from attention_zoo.explain.word_merging import FORMULA, Word, merge_pieces, words_of

Level = Literal["words", "pieces"]


@dataclass(frozen=True)
class Origin:
    """What gave an answer, so that somebody else can ask it again.

    Attributes:
        model: the MODEL argument, or the name of the model.
        runtime: "keras", "onnx" or "tflite".
        search: "greedy", "beam" or "forced" (the target was given).
        file: name of the file that answered.
        sha256: hash of its bytes.
    """

    model: str
    runtime: str
    search: str
    file: str | None = None
    sha256: str | None = None

    def describe(self) -> str:
        """On one short line."""
        return f"{self.model}, {self.search}, {self.file or self.runtime}"


@dataclass(frozen=True, eq=False)
class Explanation:
    """An answer with its attention weights.

    Attributes:
        source: what was read, as text; ids for a model of ids.
        text: what was written, likewise.
        score: log-probability of the tokens; of a beam, divided by its length penalty.
        tokens: ids that were written, eos included.
        pieces: what each token spells; for a model of ids its id.
        source_pieces: likewise for the source.
        alignments: (tokens, source pieces); row t holds the weights with which token t was written.
        origin: what gave the answer.
        is_text: whether pieces make words; ids do not.
        alternatives: the next best answers, best first, where more than one was asked for.
    """

    source: str
    text: str
    score: float
    tokens: list[int]
    pieces: list[str]
    source_pieces: list[str]
    alignments: np.ndarray = field(repr=False)
    origin: Origin
    is_text: bool = True
    alternatives: tuple[Explanation, ...] = ()

    @cached_property
    def target_words(self) -> list[Word]:
        """The words of the answer; of ids, each is one."""
        return self._words(self.pieces)

    @cached_property
    def source_words(self) -> list[Word]:
        """The words of the source, likewise."""
        return self._words(self.source_pieces)

    @cached_property
    def word_alignments(self) -> np.ndarray:
        """(target words, source words) float32, as `merge_pieces` defines it."""
        return merge_pieces(self.alignments, self.target_words, self.source_words)

    def view(self, level: Level) -> tuple[np.ndarray, list[str], list[str]]:
        """Weights, labels of their columns (source), labels of their rows (target)."""
        if level == "pieces":
            return self.alignments, self.source_pieces, self.pieces
        source = [word.text for word in self.source_words]
        return self.word_alignments, source, [word.text for word in self.target_words]

    def to_dict(self) -> dict[str, Any]:
        """Everything for JSON, weights with six digits; alternatives only where there are any."""
        content: dict[str, Any] = {
            "source": self.source,
            "text": self.text,
            "score": self.score,
            "tokens": self.tokens,
            "pieces": self.pieces,
            "source_pieces": self.source_pieces,
            "alignments": _rounded(self.alignments),
            "words": [word.text for word in self.target_words],
            "source_words": [word.text for word in self.source_words],
            "word_alignments": _rounded(self.word_alignments),
            "merging": FORMULA if self.is_text else None,
            "model": self.origin.model,
            "runtime": self.origin.runtime,
            "search": self.origin.search,
            "file": self.origin.file,
            "sha256": self.origin.sha256,
            "note": WEIGHTS_NOT_REASONS,
        }
        if self.alternatives:
            content["alternatives"] = [other.to_dict() for other in self.alternatives]
        return content

    def _words(self, pieces: list[str]) -> list[Word]:
        if self.is_text:
            return words_of(pieces)
        return [Word(piece, place, place + 1) for place, piece in enumerate(pieces)]


def _rounded(weights: np.ndarray) -> list[list[float]]:
    return [[round(float(weight), 6) for weight in row] for row in weights]
