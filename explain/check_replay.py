"""The steps of one translation, to be run again with other attention weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import tensorflow as tf

from attention_zoo.source_batch import source_batch
from attention_zoo.vocabulary import BOS, PAD

if TYPE_CHECKING:
    from attention_zoo.seq2seq import Seq2Seq

_MAX_ROWS = 1024
"""Rows decoded at a time; each has a distribution as wide as the vocabulary."""


@dataclass(frozen=True, eq=False)
class Replay:
    """A source, its target, and what the model did at each step of it, teacher forced.

    Step t is run again by `logits` with other weights; all that came before it stays as it was:
    the tokens y_1 ... y_{t-1} and the states that the model's own weights gave.

    Attributes:
        model: a `Seq2Seq` that attends.
        source: (1, T_enc) ids, no padding.
        target: (1, T_dec) ids, no padding.
        read: (T_dec,) the token before each step; bos at first.
        states: tensors (T_dec, width), the flat states before each step.
        memory: (T_enc, d_h) tensor, the encoder states that the weights read.
        weights: (T_dec, T_enc), the model's own.
        outputs: (T_dec, vocab_target), the model's own distribution at each step.
    """

    model: Seq2Seq
    source: np.ndarray
    target: np.ndarray
    read: np.ndarray
    states: list[Any]
    memory: Any
    weights: np.ndarray
    outputs: np.ndarray

    @property
    def n_steps(self) -> int:
        """T_dec."""
        return len(self.weights)

    @property
    def n_tokens(self) -> int:
        """T_enc."""
        return self.weights.shape[1]

    def logits(self, steps: Any, weights: Any) -> Any:
        """Some steps again, with these weights, as tensors that can be differentiated.

        Args:
            steps: (n,) int, which steps.
            weights: (n, T_enc), what stands in place of the model's own weights.

        Returns:
            logits (n, vocab_target).
        """
        context = tf.matmul(tf.cast(weights, self.memory.dtype), self.memory)  # (n, d_h)
        states = [tf.gather(state, steps) for state in self.states]
        tokens = tf.gather(tf.constant(self.read), steps)
        return step_from_context(self.model, tokens, states, context)[0]

    def outputs_with(self, steps: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """The distributions (n, vocab_target) of some steps with these weights (n, T_enc)."""
        parts = [
            tf.nn.softmax(self.logits(steps[i : i + _MAX_ROWS], weights[i : i + _MAX_ROWS])).numpy()
            for i in range(0, len(steps), _MAX_ROWS)
        ]
        return np.concatenate(parts)


def replay(model: Seq2Seq, source: Sequence[int], target: Sequence[int] | None = None) -> Replay:
    """Run a model over one source and its target, and keep what each step began with.

    Args:
        model: a `Seq2Seq` with attention, one head.
        source: ids, as the model was trained on: with eos at the end.
        target: ids with eos; the model's own greedy output if None.

    Raises:
        ValueError: a model without attention or with several heads, ids that are not the model's,
            padding among them, or none at all.
    """
    check_model(model)
    config = model.config
    read_source = _ids(source, config.vocab_source, f"{model.name}: source")
    if target is None:
        answer = model.greedy(read_source)
        target = answer["tokens"][0, : int(answer["lengths"][0])].tolist()
    read_target = _ids(target, config.vocab_target, f"{model.name}: target")
    read = np.concatenate([[BOS], read_target[0, :-1]]).astype(np.int32)
    before, rows, memory = _forced(model, read_source, read)
    states = [tf.concat([step[i] for step in before], axis=0) for i in range(len(before[0]))]
    weights = np.concatenate([row.numpy() for row in rows]).astype(np.float64)
    own = Replay(model, read_source, read_target, read, states, memory, weights, np.empty(0))
    # by the way that changed weights take, so that unchanged ones give the very same
    outputs = own.outputs_with(np.arange(len(weights)), weights)
    return Replay(model, read_source, read_target, read, states, memory, weights, outputs)


def check_model(model: Seq2Seq) -> None:
    """Refuse a model whose weights cannot be checked."""
    if model.config.attention == "none":
        raise ValueError(
            f"{model.name}: the model has no attention; expected one whose weights can be checked. "
            "Fix: choose a model such as bahdanau_gru or luong_general_gru."
        )
    if model.config.n_heads > 1:
        raise ValueError(
            f"{model.name}: the model has n_heads = {model.config.n_heads}; expected one head: the "
            "mean over heads, which alignments show, is not what such a model reads. "
            "Fix: check a model with n_heads=1."
        )


def step_from_context(model: Seq2Seq, tokens: Any, states: list[Any], context: Any) -> Any:
    """The model's own decode step, with the context given in place of the attention.

    A memory of one single state gets the weight exp(e) / exp(e) = 1 whatever its score: so the
    step reads c_t = context, and nothing of it is written a second time here.

    Args:
        model: a `Seq2Seq` that attends.
        tokens: (n,) the tokens before.
        states: flat states (n, width) before the step.
        context: (n, d_h).

    Returns:
        logits (n, vocab_target), the states after the step.
    """
    memory = tf.expand_dims(context, 1)  # (n, 1, d_h)
    prepared = model.decoder.cell.prepare(memory, tf.ones(tf.shape(memory)[:2], tf.bool))
    logits, _, states = model.decode_step(tokens, states, prepared, model.loop_weights())
    return logits, states


def _forced(model: Seq2Seq, source: np.ndarray, read: np.ndarray) -> tuple[list, list, Any]:
    """(states before each step, weights (1, T_enc) of each step, memory (T_enc, d_h))."""
    states, prepared = model.start(tf.constant(source))
    cell = model.decoder.cell
    if len(states) > len(cell.state_size + cell.own_widths):
        raise ValueError(
            f"{model.name}: its mechanism {cell.mechanism.name} carries states from step to step; "
            "expected weights that depend on the query alone. Fix: check a model of the zoo."
        )
    before, rows = [], []
    for token in read:
        before.append(states)
        _, weights, states = model.decode_step(tf.constant([token]), states, prepared)
        rows.append(weights)
    return before, rows, prepared["memory"][0]


def _ids(given: Sequence[int], size: int, owner: str) -> np.ndarray:
    """(1, T) checked ids without padding."""
    ids = source_batch([list(given)], size, owner)
    if PAD in ids:
        raise ValueError(
            f"{owner} has padding (id {PAD}) among its ids {ids[0].tolist()}; expected the real "
            "tokens of one sentence. Fix: cut the padding off."
        )
    return ids
