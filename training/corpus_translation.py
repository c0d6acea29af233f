"""Translate many texts with a Keras model: for evaluation, and for BLEU during training."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from attention_zoo.sorted_batches import padded, sorted_batches

if TYPE_CHECKING:
    from attention_zoo.seq2seq import Seq2Seq
    from attention_zoo.tokenizer import TokenizerPair

# positions of sources (times beams) that a batch holds at most
_MAX_POSITIONS = 16_384

Progress = Callable[[int, int], None]
"""Called with how many texts are done and how many there are."""


@dataclass(frozen=True)
class Beam:
    """A beam search: how many beginnings it keeps, and how much it favours long answers.

    `length_penalty` is the exponent of `Seq2Seq.beam_search`; 0 = none.
    """

    width: int = 4
    length_penalty: float = 1.0


def translate_corpus(
    model: Seq2Seq,
    tokenizers: TokenizerPair,
    texts: Sequence[str],
    *,
    beam: Beam | None = None,
    batch_size: int = 128,
    progress: Progress | None = None,
) -> list[str]:
    """Translate texts in batches of like length, and give the answers in the order of the texts.

    Args:
        model: a trained model.
        tokenizers: those that it was trained with.
        texts: one sentence each; a blank one is answered by an empty text.
        beam: a beam search; greedy decoding if None.
        batch_size: texts at a time; fewer where they are very long.
        progress: told after each batch how far the work is.

    Raises:
        ValueError: `batch_size` below 1, tokenizers that have another number of pieces than the
            model, or a beam that makes no sense.
    """
    if batch_size < 1:
        raise ValueError(f"translate_corpus: batch_size must be at least 1, got {batch_size}.")
    check_vocabularies(model, tokenizers)
    answers = [""] * len(texts)
    rows = [row for row, text in enumerate(texts) if text.strip()]
    sources = tokenizers.source.encode_batch([texts[row] for row in rows])
    done = len(texts) - len(rows)
    room = _MAX_POSITIONS // (beam.width if beam is not None else 1)
    for batch in sorted_batches([len(source) for source in sources], batch_size, room):
        tokens = _search(model, padded([sources[index] for index in batch]), beam)
        for index, ids in zip(batch, tokens, strict=True):
            answers[rows[index]] = tokenizers.target.decode([int(token) for token in ids])
        done += len(batch)
        if progress is not None:
            progress(done, len(texts))
    return answers


def check_vocabularies(model: Seq2Seq, tokenizers: TokenizerPair) -> None:
    """Refuse tokenizers that are not this model's."""
    sizes = {
        "source": (model.config.vocab_source, tokenizers.source.vocab_size),
        "target": (model.config.vocab_target, tokenizers.target.vocab_size),
    }
    for side, (wanted, found) in sizes.items():
        if wanted != found:
            raise ValueError(
                f"{model.name}: the {side} tokenizer must have {wanted} pieces "
                f"(vocab_{side}), it has {found}. Fix: use the tokenizer files of this model."
            )


def _search(model: Seq2Seq, source: np.ndarray, beam: Beam | None) -> np.ndarray:
    """The tokens of the best answers, (batch, T_dec)."""
    if beam is None:
        return np.asarray(model.greedy(source)["tokens"])
    found = model.beam_search(
        source, beam_width=beam.width, length_penalty=beam.length_penalty, n_best=1
    )
    return np.asarray(found["tokens"])[:, 0]
