"""Words split into pieces in a new way each time: BPE-dropout."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import sentencepiece

from attention_zoo.training.encoded_texts import EncodedTexts, ranges
from attention_zoo.vocabulary import EOS

if TYPE_CHECKING:
    from attention_zoo.tokenizer import Tokenizer

DRAWS = 32
"""Splits drawn of one word in one go at most; a word that comes more often takes them in turns."""

_WORD = re.compile("▁?[^▁]+|▁")
_CHECKED = 100  # texts whose split without dropout is compared with the tokenizer's


class SubwordDropout:
    """Texts, and splits of them into a tokenizer's pieces with merges left out at random.

    Algorithm 1 of Provilkov et al. (2020): from single characters on, again and again the best
    merge that is possible in a word is made, where each possible one is passed over with chance
    `dropout` each time; a word is done when none is left or all are passed over. Differs from the
    paper in that a word that comes often in the texts shares `DRAWS` splits among its places.
    All words are worked on at once, in NumPy; SentencePiece has a BPE-dropout of its own, whose
    draws no seed repeats in another process.

    Args:
        tokenizer: of byte-pair merges.
        texts: to split.

    Raises:
        ValueError: the tokenizer splits by something else than merges ("unigram").
    """

    def __init__(self, tokenizer: Tokenizer, texts: Sequence[str]) -> None:
        self._merges = _Merges(sentencepiece.SentencePieceProcessor(model_proto=tokenizer.content))
        numbers: dict[str, int] = {}
        rows = [
            [numbers.setdefault(word, len(numbers)) for word in self._merges.words(text)]
            for text in texts
        ]
        self._n_texts = len(rows)
        self._text = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
        self._word = np.fromiter((number for row in rows for number in row), np.int64)
        self._characters = EncodedTexts.of_rows([self._merges.characters(w) for w in numbers])
        self._counts = np.bincount(self._word, minlength=len(numbers))
        self._check(tokenizer, texts)

    def sample(self, dropout: float, generator: np.random.Generator) -> EncodedTexts:
        """The texts in one new split each, eos at the end of each."""
        copies = np.minimum(self._counts, DRAWS)
        drawn = self._split(np.repeat(np.arange(len(copies)), copies), dropout, generator)
        first = np.cumsum(copies) - copies
        place = generator.random(len(self._word)) * copies[self._word]
        return self._joined(drawn, first[self._word] + place.astype(np.int64))

    def _joined(self, splits: EncodedTexts, chosen: np.ndarray) -> EncodedTexts:
        """The texts, from the split that is chosen for each word in them."""
        sizes = splits.lengths[chosen]
        ids = splits.ids[ranges(splits.starts[chosen], sizes)]
        lengths = np.bincount(self._text, sizes, self._n_texts).astype(np.int64)
        return EncodedTexts(np.insert(ids, np.cumsum(lengths), np.int32(EOS)), lengths + 1)

    def _split(
        self, words: np.ndarray, dropout: float, generator: np.random.Generator
    ) -> EncodedTexts:
        """The words with these numbers in pieces."""
        sizes = self._characters.lengths[words]
        ids = self._characters.ids[ranges(self._characters.starts[words], sizes)]
        word = np.repeat(np.arange(len(words)), sizes)
        ranks = self._merges.ranks(ids, word, np.arange(len(ids)))
        none = self._merges.none
        done = []
        while len(ids):
            passed_over = generator.random(len(ids)) < dropout
            n = len(ids)
            starts = np.flatnonzero(np.diff(word, prepend=-1))
            # the best rank of each word, and the first place that has it
            keyed = np.where(passed_over, none, ranks) * n + np.arange(n)
            rank, place = np.divmod(np.minimum.reduceat(keyed, starts), n)
            goes_on = rank < none
            kept = np.repeat(goes_on, np.diff(starts, append=n))
            done.append((word[~kept], ids[~kept]))
            rank, place = rank[goes_on], place[goes_on]
            ids[place] = self._merges.merged[rank]
            kept[place + 1] = False
            ids, word, ranks = ids[kept], word[kept], ranks[kept]
            # only the pairs that the new piece is part of have a new rank
            place = np.cumsum(kept)[place] - 1
            changed = np.concatenate([place, place[place > 0] - 1])
            ranks[changed] = self._merges.ranks(ids, word, changed)
        in_word = np.concatenate([np.empty(0, np.int64), *(pair[0] for pair in done)])
        pieces = np.concatenate([np.empty(0, np.int32), *(pair[1] for pair in done)])
        order = np.argsort(in_word, kind="stable")
        return EncodedTexts(pieces[order], np.bincount(in_word, minlength=len(words)))

    def _check(self, tokenizer: Tokenizer, texts: Sequence[str]) -> None:
        """Without dropout the splits must be the tokenizer's."""
        all_words = np.arange(len(self._counts))
        usual = self._joined(self._split(all_words, 0.0, np.random.default_rng(0)), self._word)
        for number, expected in enumerate(tokenizer.encode_batch(texts[:_CHECKED])):
            got = usual.row(number).tolist()
            if got != expected:
                raise ValueError(
                    "SubwordDropout: expected a tokenizer of byte-pair merges, got one that splits "
                    f"{texts[number]!r} into {tokenizer.pieces(expected)}, where merges give "
                    f'{tokenizer.pieces(got)}. Fix: train_tokenizer(model_type="bpe"), or no '
                    "subword_dropout."
                )


class _Merges:
    """The merges of a SentencePiece model: pairs of pieces that together are a piece."""

    def __init__(self, processor: sentencepiece.SentencePieceProcessor) -> None:
        self._processor = processor
        self._vocab_size = processor.vocab_size()
        special = (processor.is_control, processor.is_unknown, processor.is_byte)
        normal = {
            processor.id_to_piece(number): number
            for number in range(self._vocab_size)
            if not any(is_one(number) for is_one in special)
        }
        self._pieces = normal
        long = [(piece, number) for piece, number in normal.items() if len(piece) > 1]
        long.sort(key=lambda entry: (-processor.get_score(entry[1]), entry[1]))
        self.none = len(long)
        """The rank of a pair that is no piece."""
        self.merged = np.array([number for _, number in long], np.int32)
        """Rank of a merge -> id of the piece that it makes."""
        ranked = sorted(
            (normal[piece[:cut]] * self._vocab_size + normal[piece[cut:]], rank)
            for rank, (piece, _) in enumerate(long)
            for cut in range(1, len(piece))
            if piece[:cut] in normal and piece[cut:] in normal
        )
        # one entry more, so that a search never ends outside
        self._keys = np.array([*(key for key, _ in ranked), -1], np.int64)
        self._ranks = np.array([*(rank for _, rank in ranked), self.none], np.int64)

    def words(self, text: str) -> list[str]:
        """The text normalised and cut before each space, over which no piece goes."""
        text = text.encode("utf-8", "replace").decode("utf-8")  # as Tokenizer.encode
        return _WORD.findall(self._processor.normalize(text))

    def characters(self, word: str) -> list[int]:
        """The ids of a word's characters; the bytes of those that are no piece."""
        ids = []
        for character in word:
            if character in self._pieces:
                ids.append(self._pieces[character])
            else:
                names = [f"<0x{byte:02X}>" for byte in character.encode()]
                ids += [self._processor.piece_to_id(name) for name in names]
        return ids

    def ranks(self, ids: np.ndarray, word: np.ndarray, places: np.ndarray) -> np.ndarray:
        """For each place, how early the merge of its piece and the next one comes in the model."""
        following = np.minimum(places + 1, len(ids) - 1)
        keys = ids[places].astype(np.int64) * self._vocab_size + ids[following]
        found = np.searchsorted(self._keys[:-1], keys)
        is_pair = (word[places] == word[following]) & (places != following)
        return np.where(is_pair & (self._keys[found] == keys), self._ranks[found], self.none)
