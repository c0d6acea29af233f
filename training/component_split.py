"""A split of sentence pairs in which no sentence of one part is known from another."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from attention_zoo.training.sentence_pairs import SentencePair

_AROUND_PUNCTUATION = re.compile(r"\s*([^\w\s])\s*")
_APOSTROPHES = str.maketrans("’‘ʼ", "'''")


@dataclass(frozen=True)
class Split:
    """The three parts, each in the order of the file."""

    train: list[SentencePair]
    validation: list[SentencePair]
    test: list[SentencePair]


def normalised(sentence: str) -> str:
    """What makes two spellings one sentence: NFKC, case, white space, space around punctuation."""
    text = unicodedata.normalize("NFKC", sentence).casefold().translate(_APOSTROPHES)
    return " ".join(_AROUND_PUNCTUATION.sub(r"\1", text).split())


def components(pairs: Sequence[SentencePair]) -> np.ndarray:
    """The number of the connected component of each pair, int64 (pairs,).

    Two pairs are connected if they share a normalised source or a normalised target: translations
    of one sentence, and whatever these translate, stand together. Numbers count from 0 in the
    order in which components first appear, and do not change if all pairs swap their sides.
    """
    parent = list(range(len(pairs)))

    def root(number: int) -> int:
        while parent[number] != number:
            parent[number] = parent[parent[number]]
            number = parent[number]
        return number

    for sentences in ((pair.source for pair in pairs), (pair.target for pair in pairs)):
        first: dict[str, int] = {}
        for number, sentence in enumerate(sentences):
            a, b = root(first.setdefault(normalised(sentence), number)), root(number)
            parent[max(a, b)] = min(a, b)
    # a root is the first pair of its component, so that roots in order are components in order
    roots = np.array([root(number) for number in range(len(pairs))], np.int64)
    return np.unique(roots, return_inverse=True)[1]


def split_by_components(
    pairs: Sequence[SentencePair], seed: int = 0, n_validation: int = 2000, n_test: int = 2000
) -> Split:
    """Split pairs so that parts share no normalised sentence on either side.

    Components are shuffled by `seed`; test, then validation takes each that still fits, until it
    holds `n_test` or `n_validation` pairs or none fits; the rest is for training. A component
    larger than what a part still lacks stays in training, so sentences with very many
    translations are rare in the other two. The same pairs with their sides swapped are split the
    same way.

    Raises:
        ValueError: negative numbers, or no pair left for training.
    """
    if min(seed, n_validation, n_test) < 0:
        raise ValueError(
            "split_by_components: seed, n_validation and n_test must not be negative, got "
            f"{seed}, {n_validation} and {n_test}."
        )
    numbers = components(pairs)
    sizes = np.bincount(numbers)
    part = np.zeros(len(sizes), np.int8)  # 0 train, 1 validation, 2 test
    lacking = {2: n_test, 1: n_validation}
    for component in np.random.default_rng(seed).permutation(len(sizes)):
        for name, wanted in lacking.items():
            if sizes[component] <= wanted:
                part[component] = name
                lacking[name] -= int(sizes[component])
                break
        if not any(lacking.values()):
            break
    parts: tuple[list[SentencePair], ...] = ([], [], [])
    for pair, number in zip(pairs, part[numbers], strict=True):
        parts[number].append(pair)
    if not parts[0]:
        raise ValueError(
            f"split_by_components: expected more pairs than n_validation + n_test = "
            f"{n_validation + n_test}, got {len(pairs)}, which leaves none for training. "
            "Fix: smaller numbers, or more pairs."
        )
    return Split(*parts)


def shared_sides(parts: Iterable[Sequence[SentencePair]]) -> int:
    """How many normalised sources or targets stand in more than one part: 0 means no leak."""
    shared = 0
    of_parts = [list(part) for part in parts]
    for side in ("source", "target"):
        seen: set[str] = set()
        known: set[str] = set()
        for part in of_parts:
            here = {normalised(getattr(pair, side)) for pair in part}
            known |= seen & here
            seen |= here
        shared += len(known)
    return shared
