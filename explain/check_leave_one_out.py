"""Second check: does the output hang on the tokens that the weights point at?"""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from attention_zoo.explain.check_agreement import Agreement, agreement
from attention_zoo.explain.check_distances import total_variation
from attention_zoo.explain.check_replay import Replay
from attention_zoo.vocabulary import PAD

_MAX_POSITIONS = 1024
"""Target positions at a time; each has a distribution as wide as the vocabulary."""


def leave_one_out(replay: Replay) -> Agreement:
    """Mask each source token in turn, read the rest anew, and compare the change of the output.

    The importance of token i at step t is ``TV(p(y_t | y_<t, x), p(y_t | y_<t, x without x_i))``
    (Jain and Wallace 2019, section 4.1). The token is masked in the *source*: the encoder steps
    over it and the attention cannot see it, so that nothing of it is left. Taking it out of the
    attention alone (`drop_from_attention`) leaves its traces in its neighbours' encoder states,
    and its change grows with the weight by construction. The target tokens before y_t stay; the
    states are those that the shorter source gives.
    """
    n = replay.n_tokens
    source = np.repeat(replay.source, n, axis=0)  # (T_enc, T_enc), a row without each token
    np.fill_diagonal(source, PAD)
    at_a_time = max(1, _MAX_POSITIONS // replay.n_steps)
    changes = []
    for i in range(0, n, at_a_time):
        part = source[i : i + at_a_time]
        target = np.repeat(replay.target, len(part), axis=0)
        logits = replay.model({"source": part, "target": target}, training=False)
        changes.append(total_variation(tf.nn.softmax(logits).numpy(), replay.outputs[None]))
    return agreement(replay.weights, np.concatenate(changes).T)  # (T_dec, T_enc)


def drop_from_attention(replay: Replay) -> Agreement:
    """Take each token's weight away at one step and share it out among the others.

    ``a'_j = a_j / (1 - a_i)`` for j != i, and 0 for i (Serrano and Smith 2019, section 3): the
    encoder states stay. Where this agrees with the weights and `leave_one_out` does not, what the
    model knows of a token goes around the attention. Where all weight is on one token, the rest
    share it equally.
    """
    n = replay.n_tokens
    steps = np.repeat(np.arange(replay.n_steps), n)
    dropped = np.repeat(replay.weights, n, axis=0).reshape(replay.n_steps, n, n)
    others = ~np.eye(n, dtype=bool)
    dropped = np.where(others, dropped, 0.0)
    left = dropped.sum(axis=-1, keepdims=True)
    equal = others / max(n - 1, 1)
    dropped = np.where(left > 0, dropped / np.where(left > 0, left, 1.0), equal)
    outputs = replay.outputs_with(steps, dropped.reshape(-1, n))
    change = total_variation(outputs, replay.outputs[steps]).reshape(replay.n_steps, n)
    return agreement(replay.weights, change)
