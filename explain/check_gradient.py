"""Third check: do the weights agree with gradient times embedding?"""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from attention_zoo.explain.check_agreement import Agreement, agreement
from attention_zoo.explain.check_replay import Replay, step_from_context

_MAX_ROWS = 16
"""Steps differentiated at a time; each is a row that runs through all steps before it."""


def gradient_times_embedding(replay: Replay) -> Agreement:
    """``|x_i . d p(y_t) / d x_i|`` of each source token, the attention held fixed.

    x_i is the embedding of source token i, p(y_t) the probability of the token that was written.
    The weights are constants: the gradient goes through the encoder states, the decoder's first
    state and the contexts of all steps up to t, but not through the scores. Jain and Wallace (2019,
    section 4.1) take the gradient with respect to the one-hot input, which is the same number. A
    row is divided by its sum, so that it reads as weights do; a row of zeros stays one.
    """
    parts = [
        _gradients(replay, np.arange(i, min(i + _MAX_ROWS, replay.n_steps)))
        for i in range(0, replay.n_steps, _MAX_ROWS)
    ]
    size = np.abs(np.concatenate(parts)).astype(np.float64)  # (T_dec, T_enc)
    total = size.sum(axis=1, keepdims=True)
    return agreement(replay.weights, size / np.where(total > 0, total, 1.0))


def _gradients(replay: Replay, steps: np.ndarray) -> np.ndarray:
    """(n, T_enc): a row of the batch for each step, all differentiated at once."""
    model, n = replay.model, len(steps)
    source = tf.constant(np.repeat(replay.source, n, axis=0))
    embedded = model.embed_source(source)  # (n, T_enc, d_emb)
    with tf.GradientTape() as tape:
        tape.watch(embedded)
        states, prepared = model.start_embedded(embedded, tf.ones_like(source, tf.bool))
        total = tf.constant(0.0)
        for t in range(int(steps[-1]) + 1):
            context = _context(prepared["memory"], replay.weights[t])
            tokens = tf.fill((n,), int(replay.read[t]))
            logits, states = step_from_context(model, tokens, states, context)
            if t >= steps[0]:
                # rows do not mix: the sum's gradient in a row is that of the row's own step
                total += tf.nn.softmax(logits[t - int(steps[0])])[replay.target[0, t]]
    gradient = tape.gradient(total, embedded)
    return tf.reduce_sum(tf.cast(gradient * embedded, tf.float32), axis=-1).numpy()


def _context(memory: Any, weights: np.ndarray) -> Any:
    """(n, T_enc, d_h), (T_enc,) -> (n, d_h)."""
    return tf.einsum("nth,t->nh", memory, tf.constant(weights, memory.dtype))
