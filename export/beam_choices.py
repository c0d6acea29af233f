"""Which answers a beam search may give where rounding decides between candidates."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from attention_zoo.export.keras_reference import KerasReference, length_norm
from attention_zoo.greedy import never_written
from attention_zoo.vocabulary import BOS, EOS, PAD

# beginnings that are followed at once, for each beam; more near-ties than that are no accident
_MOST = 16

Tokens = tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class BeamChoices:
    """What a search keeps however its near-ties are decided (`sure`), and what it may keep."""

    sure: frozenset[Tokens]
    possible: frozenset[Tokens]


@dataclasses.dataclass
class _Beginnings:
    """The beginnings that some search may have kept: their tokens, log p, and what is known."""

    tokens: list[Tokens]
    log_p: np.ndarray  # (n,)
    sure: np.ndarray  # (n,)

    @property
    def ended(self) -> np.ndarray:
        return np.array([bool(one) and one[-1] == EOS for one in self.tokens])


def beam_choices(
    reference: KerasReference, source: np.ndarray, tolerance: float
) -> BeamChoices | None:
    """The answers to `source` (1, T_enc) among which scores closer than `tolerance` decide.

    Two candidates of a step are near-tied if their ranks (log p / length norm) are closer than
    `tolerance`; either may be kept then. A search that went one of the ways so far has kept k
    beginnings: those that are sure, and some that are possible. A candidate of the next step

        is possible  unless, whichever they are, k of their candidates are better by more than
                     `tolerance`;
        is sure      if its beginning is, and, whichever they are, at most k of their candidates
                     are better than it or near-tied, itself included.

    So every search that decides its near-ties somehow keeps all that is sure, and nothing that is
    not possible; without near-ties both are what `beam_decode` keeps. (Not all that is possible is
    so together: these are bounds.)

    Returns None where so many are near-tied that they are not followed.
    """
    model, settings = reference.model, reference.settings
    states, prepared = model.start(tf.constant(source))
    forbidden = np.asarray(never_written(model.config.vocab_target))
    kept = _Beginnings([()], np.zeros(1), np.ones(1, bool))
    for _ in range(settings.max_length):
        if kept.ended.all():
            break
        last = [one[-1] if one else BOS for one in kept.tokens]
        repeated = {name: tf.repeat(x, len(last), axis=0) for name, x in prepared.items()}
        logits, _, states = model.decode_step(tf.constant(last), states, repeated)
        log_p = np.asarray(tf.nn.log_softmax(logits) + forbidden, np.float64)
        kept, parents = _chosen(kept, log_p, settings, tolerance)
        if len(parents) > _MOST * settings.beam_width:
            return None
        states = [tf.gather(state, parents) for state in states]
    sure = (tokens for tokens, is_sure in zip(kept.tokens, kept.sure, strict=True) if is_sure)
    return BeamChoices(frozenset(sure), frozenset(kept.tokens))


def _chosen(
    kept: _Beginnings, log_p: np.ndarray, settings: Any, tolerance: float
) -> tuple[_Beginnings, np.ndarray]:
    """The next beginnings, and of which each goes on; log_p is (n, vocab_target)."""
    k, ended = settings.beam_width, kept.ended
    only_pad = np.where(np.arange(log_p.shape[1]) == PAD, 0.0, -np.inf)
    log_p = np.where(log_p > -1e8, log_p, -np.inf)
    total = kept.log_p[:, None] + np.where(ended[:, None], only_pad, log_p)
    lengths = [len(one) + (not end) for one, end in zip(kept.tokens, ended, strict=True)]
    norms = np.array([length_norm(length, settings.length_penalty) for length in lengths])
    ranks = total / norms[:, None]  # (n, vocab_target)
    least = _reached(ranks, kept.sure, k, k, np.sort)
    better = _reached(ranks, kept.sure, k, k + 1, lambda counts: -np.sort(-counts))
    parents, tokens = np.nonzero(np.isfinite(ranks) & (ranks + tolerance >= least))
    sure = kept.sure[parents] & (ranks[parents, tokens] - tolerance > better)
    written = [
        kept.tokens[parent] + (() if token == PAD else (int(token),))
        for parent, token in zip(parents, tokens, strict=True)
    ]
    return _Beginnings(written, total[parents, tokens], sure), parents


def _reached(
    ranks: np.ndarray, sure: np.ndarray, k: int, n: int, order: Callable[[np.ndarray], np.ndarray]
) -> float:
    """The highest rank that n candidates of a search reach; -inf where there are fewer.

    It has kept what is sure, and so many others that they are k. `order` says which: it sorts how
    many candidates of each reach the rank, and those first in it are taken.
    """
    best = -np.sort(-ranks, axis=1)[:, :n]  # (beginnings, n): others do not count
    others = k - int(sure.sum())
    for rank in -np.sort(-best, axis=None):
        counts = (best >= rank).sum(axis=1)
        reach = counts[sure].sum() + order(counts[~sure])[:others].sum()
        if reach >= n:
            return float(rank)
    return -np.inf
