"""Words from pieces, and the weights between words from those between pieces."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

SPACE = "\u2581"
"""What SentencePiece writes for the space before a piece."""

FORMULA = (
    "word_alignments[t][i] = mean over the pieces p of target word t of "
    "sum over the pieces q of source word i of alignments[p][q]"
)
"""How `merge_pieces` makes one weight of many, as files of numbers say it."""

_BYTE = re.compile(r"<0x([0-9A-F]{2})>")
_MARKS = {"<pad>", "<s>", "</s>"}
# first word of the Unicode names of the letters of scripts that put no space between words
_UNSPACED = {"CJK", "HIRAGANA", "KATAKANA", "BOPOMOFO", "THAI", "LAO", "KHMER", "MYANMAR"}


@dataclass(frozen=True)
class Word:
    """A word, and its pieces: those from `start` up to `stop`."""

    text: str
    start: int
    stop: int


def words_of(pieces: Sequence[str]) -> list[Word]:
    """The words that pieces spell, in order; every piece belongs to one.

    A word begins with the piece that a space stands before (`▁`), so that punctuation belongs to
    the word it touches. Scripts without spaces (Chinese, Japanese, Thai, ...) keep their pieces;
    the bytes of a character without a piece become that character. `</s>` is a word of its own.

    Example:
        >>> [word.text for word in words_of(["▁fatig", "u", "é", ".", "▁Il", "</s>"])]
        ['fatigué.', 'Il', '</s>']
    """
    words: list[Word] = []
    for text, start, stop in _characters(pieces):
        if words and not _begins_word(words[-1].text, text):
            before = words.pop()
            text, start = before.text + text, before.start
        words.append(Word(text.removeprefix(SPACE), start, stop))
    return [Word(word.text or SPACE, word.start, word.stop) for word in words]


def merge_pieces(
    weights: np.ndarray, target_words: Sequence[Word], source_words: Sequence[Word]
) -> np.ndarray:
    """The weights between words from the weights between pieces.

        w[t, i] = mean over pieces p of target word t of (sum over pieces q of source word i of
                  a[p, q])

    A word is looked at with all that its pieces get, and written with the mean of what its pieces
    look at; so a row that sums to 1 before sums to 1 after. A word without pieces has zeros.

    Args:
        weights: (T_dec, T_enc) of pieces; more rows and columns than the words have are left out.
        target_words, source_words: with the places of their pieces.

    Returns:
        (target words, source words) float32.

    Raises:
        ValueError: words with pieces beyond the weights.
    """
    weights = np.asarray(weights, np.float64)
    needed = tuple(
        max((word.stop for word in words), default=0) for words in (target_words, source_words)
    )
    if weights.ndim != 2 or weights.shape[0] < needed[0] or weights.shape[1] < needed[1]:
        raise ValueError(
            f"merge_pieces: weights must be (T_dec, T_enc), at least {needed} for these words, got "
            f"{weights.shape}. Fix: the weights and the words of one and the same sequence."
        )
    columns = _membership(source_words, weights.shape[1])  # (source words, T_enc)
    rows = _membership(target_words, weights.shape[0])  # (target words, T_dec)
    rows /= np.maximum(rows.sum(axis=1, keepdims=True), 1.0)
    return (rows @ weights @ columns.T).astype(np.float32)


def _membership(words: Sequence[Word], n_pieces: int) -> np.ndarray:
    """(words, n_pieces): 1 where a piece belongs to a word."""
    places = np.arange(n_pieces)
    starts = np.array([word.start for word in words], np.int64)[:, None]
    stops = np.array([word.stop for word in words], np.int64)[:, None]
    return ((places >= starts) & (places < stops)).astype(np.float64)


def _begins_word(before: str, text: str) -> bool:
    """Whether a new word begins with `text`, after what the word so far spells."""
    if text.startswith(SPACE) or text in _MARKS or before in _MARKS:
        return True
    # a bare `▁` waits for its word, and a vowel sign belongs to the letter before it
    if not before or unicodedata.category(text[0]).startswith("M"):
        return False
    return _is_unspaced(before[-1]) or _is_unspaced(text[0])


def _is_unspaced(character: str) -> bool:
    return unicodedata.name(character, "").split(" ")[0] in _UNSPACED


def _characters(pieces: Sequence[str]) -> Iterator[tuple[str, int, int]]:
    """(text, start, stop) of the pieces; of a run of byte pieces, of each character it spells."""
    at = 0
    while at < len(pieces):
        run = at
        while run < len(pieces) and _BYTE.fullmatch(pieces[run]):
            run += 1
        if run == at:
            yield pieces[at], at, at + 1
            at += 1
            continue
        content = bytes(int(piece[3:5], 16) for piece in pieces[at:run])
        # surrogates stand for the bytes that spell nothing, one each
        for character in content.decode("utf-8", "surrogateescape"):
            size = len(character.encode("utf-8", "surrogateescape"))
            is_wrong = unicodedata.category(character) == "Cs"
            yield "\ufffd" if is_wrong else character, at, at + size
            at += size
