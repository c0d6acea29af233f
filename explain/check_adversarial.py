"""Fourth check: are there quite other weights that give the same output?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from attention_zoo.explain.check_distances import jensen_shannon, total_variation
from attention_zoo.explain.check_replay import Replay

SAME_OUTPUT = 0.05
"""Outputs within this total variation count as the same."""

RANDOM_STARTS = 4
_UPDATES = 60
_LEARNING_RATE = 0.3
_HALVINGS = 10
# price of each 0.01 of total variation too much: 0.05 of the divergence, whose range is 0.69
_PENALTY = 5.0
# the search keeps this far within the limit, so that rounding cannot carry a row across it
_MARGIN = 1e-4


@dataclass(frozen=True)
class Adversarial:
    """The weights furthest from the model's own that still give the same output, step by step.

    Attributes:
        weights: (T_dec, T_enc), the weights found; the model's own where there are no others.
        divergence: Jensen-Shannon divergence of weights and own weights, in [0, ln 2].
        change: total variation of the output, at most `SAME_OUTPUT`; of a pass of its own.
        limit: the largest divergence that any weights have from the model's own.
    """

    weights: np.ndarray
    divergence: tuple[float, ...]
    change: tuple[float, ...]
    limit: tuple[float, ...]

    @property
    def largest(self) -> float:
        """The largest divergence of all steps."""
        return max(self.divergence)

    def share_above(self, divergence: float) -> float:
        """Share of the steps for which weights with more than this divergence were found."""
        return float(np.mean(np.asarray(self.divergence) > divergence))


def check_adversarial(replay: Replay, seed: int = 0) -> Adversarial:
    """Look for ``argmax_a' JSD(a', a_t)`` with ``TV(p(a'), p(a_t)) <= 0.05``, each step alone.

    The aim of Jain and Wallace (2019, section 4.2.2), for each step of a decoder. The search is
    not theirs: a' = softmax(z), gradient ascent by Adam on ``JSD - 5 max(0, TV - 0.05)`` from
    random starts; then from each end point, and from all weight on each single token, the furthest
    point on the straight line to a_t that keeps the limit. JSD grows along that line (it is convex
    and 0 at a_t). What is found is a lower bound: others may lie further off.

    Args:
        replay: what is checked.
        seed: of the random starts.
    """
    ends = np.concatenate([_corners(replay), _ascend(replay, seed)], axis=1)
    found = _within_limit(replay, ends)  # (T_dec, n_ends, T_enc)
    divergence = jensen_shannon(found, replay.weights[:, None])
    best = found[np.arange(replay.n_steps), divergence.argmax(axis=1)]
    change = _change(replay, best[:, None])[:, 0]
    held = change <= SAME_OUTPUT
    best = np.where(held[:, None], best, replay.weights)
    change = np.where(held, change, 0.0)
    return Adversarial(
        best,
        tuple(jensen_shannon(best, replay.weights).tolist()),
        tuple(change.tolist()),
        # convex, so largest where all weight is on one token
        tuple(jensen_shannon(_corners(replay), replay.weights[:, None]).max(axis=1).tolist()),
    )


def _corners(replay: Replay) -> np.ndarray:
    """(T_dec, T_enc, T_enc): for each step, all weight on each token in turn."""
    n = replay.n_tokens
    return np.broadcast_to(np.eye(n), (replay.n_steps, n, n))


def _ascend(replay: Replay, seed: int) -> np.ndarray:
    """(T_dec, RANDOM_STARTS, T_enc): where the ascent ends."""
    shape = (replay.n_steps, RANDOM_STARTS, replay.n_tokens)
    drawn = np.random.default_rng([seed, 2]).normal(size=shape).reshape(-1, shape[-1])
    z = keras.Variable(drawn, dtype="float32")  # (T_dec x starts, T_enc)
    steps = np.repeat(np.arange(replay.n_steps), RANDOM_STARTS)
    own = tf.constant(replay.weights[steps], tf.float32)
    outputs = tf.constant(replay.outputs[steps], tf.float32)

    @tf.function
    def gradient() -> Any:
        with tf.GradientTape() as tape:
            weights = tf.nn.softmax(z.value)
            p = tf.nn.softmax(replay.logits(steps, weights))
            change = 0.5 * tf.reduce_sum(tf.abs(p - outputs), axis=-1)
            too_much = tf.maximum(change - SAME_OUTPUT, 0.0)
            gain = tf.reduce_sum(_divergence(weights, own) - _PENALTY * too_much)
            loss = -gain
        return tape.gradient(loss, z.value)

    optimizer = keras.optimizers.Adam(_LEARNING_RATE)
    for _ in range(_UPDATES):
        optimizer.apply([gradient()], [z])
    return tf.nn.softmax(z.value).numpy().astype(np.float64).reshape(shape)


def _divergence(p: Any, q: Any) -> Any:
    """`jensen_shannon` as tensors, with a finite gradient where a weight is 0."""
    p, q = tf.maximum(p, 1e-12), tf.maximum(q, 1e-12)
    middle = tf.math.log((p + q) / 2)
    return 0.5 * tf.reduce_sum(
        p * (tf.math.log(p) - middle) + q * (tf.math.log(q) - middle), axis=-1
    )


def _within_limit(replay: Replay, ends: np.ndarray) -> np.ndarray:
    """On the line from a_t to each end (T_dec, n, T_enc), the last point found to keep the limit.

    By halving, with the near side always within the limit; the end itself where it is.
    """
    own = replay.weights[:, None]
    near = np.zeros(ends.shape[:2])  # share of the way to the end
    far = np.ones(ends.shape[:2])
    share = far
    for _ in range(_HALVINGS + 1):
        inside = _change(replay, own + share[..., None] * (ends - own)) <= SAME_OUTPUT - _MARGIN
        near, far = np.where(inside, share, near), np.where(inside, far, share)
        share = np.where(near == 1.0, 1.0, (near + far) / 2)
    return own + near[..., None] * (ends - own)


def _change(replay: Replay, weights: np.ndarray) -> np.ndarray:
    """Total variation (T_dec, n) of the outputs with weights (T_dec, n, T_enc)."""
    count = weights.shape[1]
    steps = np.repeat(np.arange(replay.n_steps), count)
    outputs = replay.outputs_with(steps, weights.reshape(-1, replay.n_tokens))
    return total_variation(outputs, replay.outputs[steps]).reshape(replay.n_steps, count)
