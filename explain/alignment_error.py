"""How far word alignments are from those of people: alignment error rate, precision, recall."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from attention_zoo.explain.gold_links import GoldLinks
from attention_zoo.explain.word_links import Link, links_by_threshold

THRESHOLDS: tuple[float, ...] = tuple(round(0.05 * step, 2) for step in range(1, 19))


@dataclass(frozen=True)
class AlignmentError:
    """Links found (A) against sure (S) and possible (P) ones, counted over all pairs.

    Och and Ney (2003), "A systematic comparison of various statistical alignment models", eq. 35:

        precision = |A n P| / |A|,  recall = |A n S| / |S|,
        AER = 1 - (|A n S| + |A n P|) / (|A| + |S|)

    all in percent. With nothing found precision is 0, with nothing sure recall is.

    Attributes:
        found, sure: |A| and |S|.
        found_sure, found_possible: |A n S| and |A n P|; S is part of P.
    """

    found: int
    sure: int
    found_sure: int
    found_possible: int

    @property
    def precision(self) -> float:
        """Share of the links found that are possible."""
        return 100.0 * self.found_possible / self.found if self.found else 0.0

    @property
    def recall(self) -> float:
        """Share of the sure links that are found."""
        return 100.0 * self.found_sure / self.sure if self.sure else 0.0

    @property
    def aer(self) -> float:
        """Alignment error rate, 0 to 100; 0 is best."""
        size = self.found + self.sure
        return 100.0 * (1.0 - (self.found_sure + self.found_possible) / size) if size else 0.0

    def to_dict(self) -> dict[str, float]:
        """For JSON, in percent."""
        return {
            "precision": round(self.precision, 2),
            "recall": round(self.recall, 2),
            "aer": round(self.aer, 2),
            "links": self.found,
        }


def alignment_error(links: Sequence[Collection[Link]], gold: Sequence[GoldLinks]) -> AlignmentError:
    """The error of the links of all pairs together.

    Raises:
        ValueError: other numbers of pairs.
    """
    if len(links) != len(gold):
        raise ValueError(
            f"alignment_error: expected links for each of the {len(gold)} pairs, got {len(links)}."
            " Fix: links and gold alignments of the same pairs."
        )
    sets = [set(row) for row in links]
    return AlignmentError(
        found=sum(map(len, sets)),
        sure=sum(len(row.sure) for row in gold),
        found_sure=sum(len(row & it.sure) for row, it in zip(sets, gold, strict=True)),
        found_possible=sum(len(row & it.possible) for row, it in zip(sets, gold, strict=True)),
    )


def best_threshold(weights: Sequence[np.ndarray], gold: Sequence[GoldLinks]) -> float:
    """The threshold of `THRESHOLDS` with the lowest error rate, the lowest of equals."""

    def aer(threshold: float) -> float:
        links = [links_by_threshold(row, threshold) for row in weights]
        return alignment_error(links, gold).aer

    return min(THRESHOLDS, key=aer)


def links_by_other_half(
    weights: Sequence[np.ndarray], gold: Sequence[GoldLinks]
) -> tuple[list[list[Link]], tuple[float, float]]:
    """Links by a threshold that was chosen on other pairs than those it is used on.

    Pairs with even numbers get the threshold that is best on those with odd numbers, and the other
    way round, so no pair has a say in its own threshold.

    Returns:
        The links of each pair, and the thresholds used on even and on odd pairs.
    """
    chosen = tuple(best_threshold(weights[half::2], gold[half::2]) for half in (1, 0))
    links = [links_by_threshold(row, chosen[place % 2]) for place, row in enumerate(weights)]
    return links, (chosen[0], chosen[1])


def diagonal_links(n_source: int, n_target: int) -> list[Link]:
    """Each target word linked to the source word at the same share of its sentence.

    Knows nothing of the words: what a model has to beat.
    """
    if not n_source:
        return []
    places = (np.arange(n_target) + 0.5) * n_source / max(n_target, 1)
    return [(int(place), target) for target, place in enumerate(places)]


def random_links(n_source: int, n_target: int, generator: np.random.Generator) -> list[Link]:
    """Each target word linked to a source word drawn uniformly."""
    if not n_source:
        return []
    drawn = generator.integers(n_source, size=n_target)
    return [(int(source), target) for target, source in enumerate(drawn)]
