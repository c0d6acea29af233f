"""The source batches on which a file must answer as Keras does.

Every kind of input that has broken an exported recurrent model: one sequence and three, a single
position, lengths that nothing else in the export used, padding, a row (and a batch) of nothing but
padding, a sentence that ends early beside one that never ends.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np

from attention_zoo.vocabulary import EOS, FIRST_SYMBOL, PAD

Decode = Callable[[np.ndarray], dict[str, np.ndarray]]

# rows that are decoded in search of one that ends early and one that never ends
_CANDIDATES = 48


@dataclasses.dataclass(frozen=True)
class Case:
    """A name for reports, and `source` (batch, T_enc) int32."""

    name: str
    source: np.ndarray


def standard_cases(vocab_source: int, seed: int = 0) -> list[Case]:
    """The cases that depend on nothing but the vocabulary."""
    generator = np.random.default_rng(seed)

    def rows(*lengths: int) -> np.ndarray:
        return random_sources(generator, vocab_source, lengths)

    padded_row = rows(4, 2, 4)
    padded_row[1] = PAD
    return [
        Case("1 x 1", rows(1)),
        Case("1 x 7", rows(7)),
        Case("3 x 11, padded", rows(11, 6, 1)),
        Case("3 x 4, one row all padding", padded_row),
        Case("1 x 5, all padding", np.zeros((1, 5), np.int32)),
        Case("3 x 17, a length not used before", rows(17, 16, 9)),
    ]


def ending_cases(
    greedy: Decode, vocab_source: int, max_length: int, seed: int = 0
) -> dict[str, Case]:
    """Cases "early eos" and "no eos", as far as this model has such sequences.

    Decodes random sources of many lengths (a source longer than `max_length` seldom ends within
    it) and picks one row of each kind; the two stand in one batch, so that an ended row runs on
    beside one that has not ended. Returns only the kinds that were found.
    """
    generator = np.random.default_rng(seed)
    lengths = generator.integers(1, max(4, max_length // 2 + 1), _CANDIDATES)
    lengths[::8] = max_length + 3
    sources = random_sources(generator, vocab_source, tuple(int(size) for size in lengths))
    outputs = greedy(sources)
    ended = (outputs["tokens"] == EOS).any(axis=1)
    early = np.flatnonzero(ended & (outputs["lengths"] < max_length))
    never = np.flatnonzero(~ended)
    found = {}
    for name, chosen, other in (("early eos", early, never), ("no eos", never, early)):
        if chosen.size:
            picked = [int(chosen[0]), *(int(index) for index in other[:1])]
            found[name] = Case(name, sources[picked])
    return found


def random_sources(
    generator: np.random.Generator, vocab_source: int, lengths: tuple[int, ...]
) -> np.ndarray:
    """Rows of random symbols of the given lengths, the last one eos, padded to the longest."""
    source = np.full((len(lengths), max(lengths)), PAD, dtype=np.int32)
    low = min(FIRST_SYMBOL, vocab_source - 1)
    for row, length in zip(source, lengths, strict=True):
        row[:length] = generator.integers(low, vocab_source, length)
        if length > 1:
            row[length - 1] = EOS
    return source
