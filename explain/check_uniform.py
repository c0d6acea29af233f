"""Fifth check: would weights that point nowhere do as well?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import tensorflow as tf

from attention_zoo.explain.check_distances import total_variation
from attention_zoo.explain.check_replay import Replay, step_from_context


@dataclass(frozen=True)
class Uniform:
    """What frozen weights 1 / T_enc do to each step.

    Attributes:
        change: total variation of each step's output.
        kept: whether the likeliest token stays the same.
    """

    change: tuple[float, ...]
    kept: tuple[bool, ...]

    @property
    def share_of_changed_tokens(self) -> float:
        """Share of the steps whose likeliest token is another."""
        return float(1.0 - np.mean(self.kept))


def check_uniform(replay: Replay) -> Uniform:
    """Decode with all weights 1 / T_enc, in every step, the tokens before each step given.

    Wiegreffe and Pinter (2019, section 3.2) freeze them in training too: that is the model
    ``attention="uniform"``. Frozen at decode time alone, the rest of the model still expects the
    weights that it learned with, so that a change here is the weaker evidence of the two; no
    change is evidence against the weights.
    """
    states, prepared = replay.model.start(tf.constant(replay.source))
    context = tf.reduce_mean(prepared["memory"], axis=1)  # (1, d_h)
    rows = []
    for token in replay.read:
        logits, states = step_from_context(replay.model, tf.constant([token]), states, context)
        rows.append(tf.nn.softmax(logits).numpy())
    outputs = np.concatenate(rows)  # (T_dec, vocab_target)
    change = total_variation(outputs, replay.outputs)
    kept = outputs.argmax(axis=1) == replay.outputs.argmax(axis=1)
    return Uniform(tuple(change.tolist()), tuple(kept.tolist()))
