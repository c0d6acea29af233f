"""Greedy search as one graph."""

import tensorflow as tf

from attention_zoo.vocabulary import BOS, EOS, PAD

IMPOSSIBLE = -1e9
"""Stands for log 0: finite, so that no format turns it into NaN."""


def greedy_decode(model, source, max_length):
    """Take the likeliest token in each step, until all rows have ended.

    pad and bos are never written. The results stand in tensors of a fixed T_dec that each step
    fills at its place by a one-hot mask: a TensorArray, or a shape that depends on when the loop
    ends, does not survive every converter (nor does tf.one_hot of a scalar survive tf2onnx).

    Args:
        model: a `Seq2Seq`.
        source: (batch, T_enc) int32 tensor; either axis may be unknown.
        max_length: T_dec.

    Returns:
        Dict of tokens (batch, T_dec) int32, lengths (batch,) int32, scores (batch,) float32,
        alignments (batch, T_dec, T_enc) float32.
    """
    states, prepared = model.start(source)
    weights = model.loop_weights()
    forbidden = never_written(model.config.vocab_target)
    batch, steps = axis_sizes(source)

    def going_on(t, token, finished, *_):
        return tf.logical_and(t < max_length, tf.logical_not(tf.reduce_all(finished)))

    def step(t, token, finished, states, tokens, scores, alignments):
        logits, alignment, states = model.decode_step(token, states, prepared, weights)
        log_p = tf.nn.log_softmax(logits) + forbidden  # (batch, vocab_target)
        alive = tf.logical_not(finished)
        token = tf.where(alive, tf.argmax(log_p, axis=-1, output_type=tf.int32), PAD)
        scores += tf.where(alive, tf.reduce_max(log_p, axis=-1), 0.0)
        here = tf.cast(tf.equal(tf.range(max_length), t), tf.int32)  # (T_dec,)
        tokens += tf.expand_dims(token, 1) * here
        alignment *= tf.expand_dims(tf.cast(alive, tf.float32), 1)
        column = tf.expand_dims(tf.cast(here, tf.float32), 1)  # (T_dec, 1)
        alignments += tf.expand_dims(alignment, 1) * column
        finished = tf.logical_or(finished, tf.equal(token, EOS))
        return t + 1, token, finished, states, tokens, scores, alignments

    start = (
        tf.constant(0),
        tf.fill((batch,), BOS),
        tf.fill((batch,), False),
        states,
        tf.zeros((batch, max_length), tf.int32),
        tf.zeros((batch,), tf.float32),
        tf.zeros((batch, max_length, steps), tf.float32),
    )
    *_, tokens, scores, alignments = tf.while_loop(
        going_on, step, start, maximum_iterations=max_length
    )
    return {
        "tokens": tokens,
        "lengths": count_tokens(tokens),
        "scores": scores,
        "alignments": alignments,
    }


def axis_sizes(source):
    """batch and T_enc, as numbers where they are known."""
    dynamic = tf.shape(source)
    return [size if size is not None else dynamic[i] for i, size in enumerate(source.shape)]


def never_written(vocab_target):
    """(vocab_target,): 0, and log 0 for pad and bos."""
    ids = tf.range(vocab_target)
    banned = tf.logical_or(tf.equal(ids, PAD), tf.equal(ids, BOS))
    return tf.where(banned, IMPOSSIBLE, 0.0)


def count_tokens(tokens):
    """(..., T_dec) -> (...,): how many are not padding."""
    return tf.reduce_sum(tf.cast(tf.not_equal(tokens, PAD), tf.int32), axis=-1)
