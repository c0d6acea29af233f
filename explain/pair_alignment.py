"""Weights between the words of sentence pairs, by forced decoding."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from attention_zoo.explain.forced_alignment import forced_alignments
from attention_zoo.explain.word_links import Convention, rows_for
from attention_zoo.explain.word_merging import Word, merge_pieces, words_of
from attention_zoo.vocabulary import EOS

if TYPE_CHECKING:
    from attention_zoo.seq2seq import Seq2Seq
    from attention_zoo.tokenizer import Tokenizer, TokenizerPair

Encoded = tuple[list[int], list[Word]]


def align_pairs(
    model: Seq2Seq,
    tokenizers: TokenizerPair,
    pairs: Sequence[tuple[str, str]],
    *,
    split_on_spaces: bool = False,
    convention: Convention = "current",
    batch_size: int = 64,
    progress: Callable[[int, int], None] | None = None,
) -> list[np.ndarray]:
    """The weights between the words of each pair, in the order of the pairs.

    The target is forced, and pieces are merged to words by `merge_pieces`. The row and the column
    of eos are left out, so rows sum to less than 1 where the model looks at the end.

    Args:
        model: a model with attention.
        tokenizers: those that it was trained with.
        pairs: (source, target) as text; a pair with a blank side has no weights.
        split_on_spaces: words are what stands between spaces, as in text that is tokenised; else
            they are as `words_of` gives them.
        convention: which row belongs to a token, see `rows_for`.
        batch_size, progress: see `forced_alignments`.

    Returns:
        For each pair (target words, source words) float32.

    Raises:
        ValueError: as `forced_alignments`.
    """
    encode = encode_words if split_on_spaces else encode_text
    sources = encode(tokenizers.source, [source for source, _ in pairs])
    targets = encode(tokenizers.target, [target for _, target in pairs])
    asked = [
        place
        for place, (source, target) in enumerate(zip(sources, targets, strict=True))
        if len(source[0]) > 1 and len(target[0]) > 1  # more than eos
    ]
    found = forced_alignments(
        model,
        [sources[place][0] for place in asked],
        [targets[place][0] for place in asked],
        batch_size=batch_size,
        progress=progress,
    )
    weights = [
        np.zeros((len(target[1]), len(source[1])), np.float32)
        for source, target in zip(sources, targets, strict=True)
    ]
    for place, alignments in zip(asked, found, strict=True):
        rows = rows_for(alignments, convention)
        weights[place] = merge_pieces(rows, targets[place][1], sources[place][1])
    return weights


def encode_text(tokenizer: Tokenizer, texts: Sequence[str]) -> list[Encoded]:
    """Ids with eos, and the words that their pieces spell, eos left out."""
    rows = tokenizer.encode_batch(texts) if texts else []
    return [(ids, words_of(tokenizer.pieces(ids[:-1]))) for ids in rows]


def encode_words(tokenizer: Tokenizer, texts: Sequence[str]) -> list[Encoded]:
    """Ids with eos, and the words between spaces, each encoded by itself.

    A word whose characters the tokenizer drops has no pieces; it counts, so that numbers of words
    stay those of the text.
    """
    split = [text.split() for text in texts]
    flat = [word for words in split for word in words]
    pieces = iter(tokenizer.encode_batch(flat) if flat else [])
    encoded = []
    for words in split:
        ids: list[int] = []
        spans = []
        for word in words:
            own = next(pieces)[:-1]
            spans.append(Word(word, len(ids), len(ids) + len(own)))
            ids += own
        encoded.append(([*ids, EOS], spans))
    return encoded
