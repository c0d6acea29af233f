"""How likely a model finds given translations: log-probability and perplexity, teacher forced."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from attention_zoo.sorted_batches import padded, sorted_batches
from attention_zoo.training.corpus_translation import Progress, check_vocabularies
from attention_zoo.training.sentence_pairs import SentencePair
from attention_zoo.vocabulary import PAD

if TYPE_CHECKING:
    from attention_zoo.seq2seq import Seq2Seq
    from attention_zoo.tokenizer import TokenizerPair

# target positions of a batch; each has a row of logits as wide as the vocabulary
_MAX_POSITIONS = 4096


@dataclass(frozen=True)
class PairScore:
    """What a model says of one translation.

    Attributes:
        log_probability: natural logarithm of the probability of the target's tokens and its eos,
            given the source.
        tokens: how many tokens that are, eos counted.
    """

    log_probability: float
    tokens: int

    @property
    def perplexity(self) -> float:
        """exp(-log_probability / tokens)."""
        return _perplexity(self.log_probability, self.tokens)


def score_pairs(
    model: Seq2Seq,
    tokenizers: TokenizerPair,
    pairs: Sequence[SentencePair],
    *,
    batch_size: int = 64,
    progress: Progress | None = None,
) -> list[PairScore]:
    """The score of each pair, in their order.

    The model reads the true tokens before each one (teacher forcing), so a score does not depend
    on what a search finds.

    Args:
        model: a trained model.
        tokenizers: those that it was trained with.
        pairs: sources and the translations to score.
        batch_size: pairs at a time; fewer where they are long.
        progress: told after each batch how far the work is.

    Raises:
        ValueError: `batch_size` below 1, or tokenizers of another model.
    """
    if batch_size < 1:
        raise ValueError(f"score_pairs: batch_size must be at least 1, got {batch_size}.")
    check_vocabularies(model, tokenizers)
    sources = tokenizers.source.encode_batch([pair.source for pair in pairs])
    targets = tokenizers.target.encode_batch([pair.target for pair in pairs])
    lengths = [
        max(len(source), len(target)) for source, target in zip(sources, targets, strict=True)
    ]
    log_probabilities = np.zeros(len(pairs))
    score = _scorer(model)
    done = 0
    for batch in sorted_batches(lengths, batch_size, _MAX_POSITIONS):
        found = score(
            padded([sources[index] for index in batch]), padded([targets[index] for index in batch])
        )
        log_probabilities[batch] = np.asarray(found, np.float64)
        done += len(batch)
        if progress is not None:
            progress(done, len(pairs))
    return [
        PairScore(float(value), len(target))
        for value, target in zip(log_probabilities, targets, strict=True)
    ]


def corpus_perplexity(scores: Sequence[PairScore]) -> float:
    """exp of the mean negative log-probability of all tokens; long pairs count for more."""
    if not scores:
        raise ValueError("corpus_perplexity: expected at least one score, got none.")
    return _perplexity(
        sum(score.log_probability for score in scores), sum(score.tokens for score in scores)
    )


def _perplexity(log_probability: float, tokens: int) -> float:
    try:
        return math.exp(-log_probability / tokens)
    except OverflowError:
        return math.inf


def _scorer(model: Seq2Seq) -> Callable[[np.ndarray, np.ndarray], Any]:
    """A function (source, target) -> log-probability of each row, (batch,), as one graph."""
    import tensorflow as tf

    ids = tf.TensorSpec((None, None), tf.int32)

    @tf.function(input_signature=[ids, ids])
    def score(source: Any, target: Any) -> Any:
        logits = model({"source": source, "target": target}, training=False)  # (B, T_dec, V)
        nll = tf.nn.sparse_softmax_cross_entropy_with_logits(target, tf.cast(logits, tf.float32))
        return -tf.reduce_sum(tf.where(tf.equal(target, PAD), 0.0, nll), axis=1)

    return score
