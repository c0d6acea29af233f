"""Train SentencePiece tokenizers on the sentences of a training split."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import sentencepiece

from attention_zoo.tokenizer import (
    JOINT_FILE,
    SOURCE_FILE,
    TARGET_FILE,
    Tokenizer,
    TokenizerError,
    TokenizerPair,
)
from attention_zoo.training.sentence_pairs import SentencePair
from attention_zoo.vocabulary import BOS, EOS, PAD, UNK

MODEL_TYPES = ("bpe", "unigram")
LONGEST_SENTENCE = 100_000  # bytes; SentencePiece leaves out longer ones without a word


def train_tokenizer(
    sentences: Iterable[str],
    path: str | Path,
    vocab_size: int,
    *,
    model_type: str = "bpe",
    allow_smaller: bool = False,
) -> Tokenizer:
    """Train a tokenizer with byte fallback and write it to `path`.

    The same sentences in the same order give the same bytes: no part of it is drawn at random.

    Args:
        sentences: text, one sentence each.
        path: of the file to write.
        vocab_size: ids in all: 4 special ones, 256 bytes, characters and merged pieces.
        model_type: "bpe", or "unigram", which takes several times as long.
        allow_smaller: take what the sentences give where they do not give `vocab_size` pieces.

    Raises:
        TokenizerError: no text, or a `vocab_size` that is too small or too large for it.
    """
    if model_type not in MODEL_TYPES:
        raise TokenizerError(
            f"train_tokenizer: model_type must be one of {', '.join(MODEL_TYPES)}, "
            f"got {model_type!r}."
        )
    written = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=(line for line in sentences if line.strip()),
            model_writer=written,
            vocab_size=vocab_size,
            model_type=model_type,
            hard_vocab_limit=not allow_smaller,
            byte_fallback=True,
            pad_id=PAD,
            bos_id=BOS,
            eos_id=EOS,
            unk_id=UNK,
            max_sentence_length=LONGEST_SENTENCE,
            minloglevel=3,  # what goes wrong is raised
        )
    except RuntimeError as error:
        raise _explained(str(error), vocab_size) from error
    tokenizer = Tokenizer(written.getvalue(), path)
    tokenizer.save(path)
    return tokenizer


def train_tokenizers(
    pairs: Sequence[SentencePair],
    folder: str | Path,
    vocab_size: int,
    joint: bool = True,
    *,
    model_type: str = "bpe",
    allow_smaller: bool = False,
) -> TokenizerPair:
    """Train the tokenizers of a translation model on its training pairs, into its folder.

    Joint: one vocabulary of `vocab_size` for both sides, so that names and cognates are one piece.
    Else one of `vocab_size` a side.

    Raises:
        TokenizerError: as `train_tokenizer`.
    """
    folder = Path(folder)
    sources = [pair.source for pair in pairs]
    targets = [pair.target for pair in pairs]

    def train(sentences: list[str], name: str) -> Tokenizer:
        return train_tokenizer(
            sentences,
            folder / name,
            vocab_size,
            model_type=model_type,
            allow_smaller=allow_smaller,
        )

    if joint:
        both = train([*sources, *targets], JOINT_FILE)
        pair = TokenizerPair(both, both)
    else:
        pair = TokenizerPair(train(sources, SOURCE_FILE), train(targets, TARGET_FILE))
    pair.save(folder)  # removes a file of the other kind
    return pair


def _explained(message: str, vocab_size: int) -> TokenizerError:
    """What SentencePiece said, with what to do about it."""
    too_high = re.search(r"Vocabulary size too high .*<= (\d+)", message)
    too_low = re.search(r"smaller than required_chars\. \d+ vs (\d+)", message)
    if too_high:
        fix = (
            f"the sentences give at most {too_high[1]} pieces. Fix: a vocab_size of {too_high[1]} "
            "or less, allow_smaller, or more data."
        )
    elif too_low:
        fix = (
            f"the special ids, bytes and characters alone are {too_low[1]}. "
            f"Fix: a vocab_size above {too_low[1]}."
        )
    else:
        fix = f"SentencePiece said: {message}. Fix: sentences with some text in them."
    return TokenizerError(f"train_tokenizer: vocab_size is {vocab_size}, but {fix}")
