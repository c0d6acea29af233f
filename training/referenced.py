"""Source sentences with every translation that counts as right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from attention_zoo.training.sentence_pairs import SentencePair


@dataclass(frozen=True, slots=True)
class Referenced:
    """A source sentence and its references, at least one."""

    source: str
    references: tuple[str, ...]


def grouped(pairs: Sequence[SentencePair]) -> list[Referenced]:
    """Each source once, with all its different targets, in the order of first appearance."""
    targets: dict[str, dict[str, None]] = {}
    for pair in pairs:
        targets.setdefault(pair.source, {})[pair.target] = None
    return [Referenced(source, tuple(of_source)) for source, of_source in targets.items()]


def one_by_one(pairs: Sequence[SentencePair]) -> list[Referenced]:
    """Each pair as a source with one reference."""
    return [Referenced(pair.source, (pair.target,)) for pair in pairs]
