"""Whether a file's answer, which is not that of Keras, is as good: the near-ties of a search.

Where two candidates are as good as equally likely, a last bit decides which of them is taken, and
from there on the answers part. Which bit, the processor decides: the same file may agree with Keras
on one machine and not on another, and that says nothing against it. So another answer is accepted,
and counted, where Keras itself finds the choices of the file as good as its own, to `TOLERANCE`:

    greedy  Keras follows the file's tokens and finds no likelier one, by more than that, at any
            step.
    beam    the answers of a row are ones that Keras' own search may keep, and hold all that it
            keeps in any case (see `beam_choices`); no answer stands there twice; Keras' scores of
            them do not rise, by more than that, from one to the next. The scores may be others
            than those of Keras' answers: what is dropped early for a last bit may have ended
            better, or worse.

In both, scores and alignments have to be those that Keras gives to the file's tokens.
"""

from __future__ import annotations

import numpy as np

from attention_zoo.export.beam_choices import beam_choices
from attention_zoo.export.keras_reference import KerasReference, Outputs, length_norm
from attention_zoo.greedy import IMPOSSIBLE
from attention_zoo.vocabulary import EOS, PAD

TOLERANCE = 1e-4


def near_tie(reference: KerasReference, source: np.ndarray, got: Outputs) -> Outputs | None:
    """What Keras makes of the file's tokens, if they are as good as its own; otherwise None.

    Args:
        reference: the model in Keras.
        source: (T_enc,), the row that was answered.
        got: the answer to it: tokens (T_dec,), or with a beam axis (beam, T_dec) before it.
    """
    tokens = got["tokens"]
    if tokens.ndim == 1:
        return _greedy(reference, source, tokens)
    return _beam(reference, source, tokens)


def _greedy(reference: KerasReference, source: np.ndarray, tokens: np.ndarray) -> Outputs | None:
    length = _length(tokens, reference.model.config.vocab_target)
    if not length:
        return None
    forced = reference.forced(source[None], tokens)
    if forced["gaps"].max() > TOLERANCE:
        return None
    return _outputs(tokens, length, forced["log_probs"].sum(dtype=np.float64), forced["alignments"])


def _beam(reference: KerasReference, source: np.ndarray, tokens: np.ndarray) -> Outputs | None:
    size = reference.model.config.vocab_target
    lengths = [_length(one, size) for one in tokens]
    if None in lengths:
        return None
    choices = beam_choices(reference, source[None], TOLERANCE)
    answers = [tuple(one[:n].tolist()) for one, n in zip(tokens, lengths, strict=True) if n]
    if choices is None or not choices.sure <= set(answers) <= choices.possible:
        return None
    followed = [_followed(reference, source, one) for one in tokens]
    scores = np.array([one["scores"] for one in followed])
    wanted = min(len(tokens), len(choices.possible))
    if len(set(answers)) != wanted or len(answers) != wanted or (np.diff(scores) > TOLERANCE).any():
        return None
    return {name: np.stack([one[name] for one in followed]) for name in followed[0]}


def _followed(reference: KerasReference, source: np.ndarray, tokens: np.ndarray) -> Outputs:
    """Keras' own outputs for one answer of a beam; one of length 0 stands for none."""
    length = int((tokens != PAD).sum())
    if not length:
        nothing = np.zeros((len(tokens), len(source)), np.float32)
        return _outputs(tokens, 0, IMPOSSIBLE, nothing)
    forced = reference.forced(source[None], tokens)
    norm = length_norm(length, reference.settings.length_penalty)
    score = forced["log_probs"].sum(dtype=np.float64) / norm
    return _outputs(tokens, length, score, forced["alignments"])


def _outputs(tokens: np.ndarray, length: int, score: float, alignments: np.ndarray) -> Outputs:
    return {
        "tokens": tokens,
        "lengths": np.asarray(length, np.int32),
        "scores": np.asarray(score, np.float32),
        "alignments": alignments,
    }


def _length(tokens: np.ndarray, vocab_target: int) -> int | None:
    """How many tokens stand before the padding; None if no search writes such a row."""
    ended = np.flatnonzero(tokens == EOS)
    length = int(ended[0]) + 1 if ended.size else len(tokens)
    if not tokens.any():
        return 0
    if tokens[length:].any() or tokens.min() < 0 or tokens.max() >= vocab_target:
        return None
    return None if (tokens[:length] == PAD).any() else length
