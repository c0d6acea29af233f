"""Attention weights of given targets: the model writes what it is told, and is watched."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from attention_zoo.sorted_batches import padded, sorted_batches

if TYPE_CHECKING:
    from attention_zoo.seq2seq import Seq2Seq

# positions (rows times the longest side) of a batch
_MAX_POSITIONS = 4096


def forced_alignments(
    model: Seq2Seq,
    sources: Sequence[Sequence[int]],
    targets: Sequence[Sequence[int]],
    *,
    batch_size: int = 64,
    progress: Callable[[int, int], None] | None = None,
) -> list[np.ndarray]:
    """The weights of each pair, in their order, with the target as the answer (teacher forced).

    Row t holds a_t, with which target token t is written after the true tokens before it. If the
    target is the model's own greedy answer, these are the weights of greedy decoding.

    Args:
        model: a model with attention.
        sources, targets: ids of each pair, with the eos that the model was trained with.
        batch_size: pairs at a time, of like length; fewer where they are long.
        progress: told after each batch how many pairs are done, of how many.

    Returns:
        For each pair (T_dec, T_enc) float32, without padding.

    Raises:
        ValueError: a model without attention, other numbers of sources and targets, an empty
            sequence, or ids that are not the model's.
    """
    _check(model, sources, targets, batch_size)
    aligned: list[np.ndarray] = [np.zeros((0, 0), np.float32)] * len(sources)
    weights_of = _graph(model)
    lengths = [max(len(source), len(it)) for source, it in zip(sources, targets, strict=True)]
    done = 0
    for batch in sorted_batches(lengths, batch_size, _MAX_POSITIONS):
        weights = np.asarray(
            weights_of(padded([sources[it] for it in batch]), padded([targets[it] for it in batch]))
        )
        for row, index in enumerate(batch):
            aligned[index] = weights[row, : len(targets[index]), : len(sources[index])].copy()
        done += len(batch)
        if progress is not None:
            progress(done, len(sources))
    return aligned


def forced_score(model: Seq2Seq, source: Sequence[int], target: Sequence[int]) -> float:
    """log p(target | source), natural logarithm, summed over the target's tokens."""
    from keras import ops

    _check(model, [source], [target], 1, attends=False)
    ids = np.asarray([target], np.int32)
    logits = model({"source": np.asarray([source], np.int32), "target": ids}, training=False)
    log_probabilities = np.asarray(ops.log_softmax(ops.cast(logits, "float32")))  # (1, T_dec, V)
    taken = np.take_along_axis(log_probabilities, ids[..., None], axis=-1)
    return float(taken.sum(dtype=np.float64))


def check_attends(model: Seq2Seq) -> None:
    """Refuse a model that has no weights to show."""
    if model.config.attention == "none":
        raise ValueError(
            f"{model.name}: a model without attention; expected one with attention weights. "
            "Fix: another model, such as bahdanau_gru or luong_general_gru."
        )


def _check(
    model: Seq2Seq,
    sources: Sequence[Sequence[int]],
    targets: Sequence[Sequence[int]],
    batch_size: int,
    attends: bool = True,
) -> None:
    if attends:
        check_attends(model)
    if batch_size < 1:
        raise ValueError(f"forced_alignments: batch_size must be at least 1, got {batch_size}.")
    if len(sources) != len(targets):
        raise ValueError(
            f"forced_alignments: expected as many targets as sources, got {len(targets)} and "
            f"{len(sources)}. Fix: one target for each source."
        )
    for name, rows in (("source", sources), ("target", targets)):
        for index, row in enumerate(rows):
            if not len(row):
                raise ValueError(
                    f"forced_alignments: {name} {index} is empty; expected ids, the last of them "
                    "eos. Fix: leave the pair out."
                )


def _graph(model: Seq2Seq) -> Callable[[np.ndarray, np.ndarray], Any]:
    """(source, target) -> alignments (batch, T_dec, T_enc), traced once."""
    import tensorflow as tf

    ids = tf.TensorSpec((None, None), tf.int32)

    @tf.function(input_signature=[ids, ids], autograph=False)
    def weights_of(source: Any, target: Any) -> Any:
        return model.alignments({"source": source, "target": target})

    def call(source: np.ndarray, target: np.ndarray) -> Any:
        return weights_of(tf.constant(source), tf.constant(target))

    return call
