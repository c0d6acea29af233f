"""Beam search as one graph."""

import tensorflow as tf

from attention_zoo.greedy import IMPOSSIBLE, axis_sizes, count_tokens, never_written
from attention_zoo.vocabulary import BOS, EOS, PAD


def beam_decode(model, source, max_length, beam_width=4, length_penalty=1.0, n_best=None):
    """Keep the ``beam_width`` likeliest beginnings in each step.

    One list of beginnings: a finished one stays in it, with its score, and competes with those
    that go on; all are compared by ``log p / ((5 + length) / 6) ** length_penalty`` with their own
    length. The loop ends when the whole list is finished. A width of 1 is greedy search.

    Args:
        model: a `Seq2Seq`.
        source: (batch, T_enc) int32 tensor; either axis may be unknown.
        max_length: T_dec.
        beam_width: k.
        length_penalty: exponent; 0 = none.
        n_best: answers to return; all k if None.

    Returns:
        Dict of tokens (batch, n_best, T_dec) int32, lengths (batch, n_best) int32, scores
        (batch, n_best) float32, alignments (batch, n_best, T_dec, T_enc) float32, best first.
        Where fewer answers exist, the rest have length 0 and score -1e9.
    """
    k, vocab = beam_width, model.config.vocab_target
    states, prepared = model.start(source)
    prepared = {name: _repeat(x, k) for name, x in prepared.items()}
    weights = model.loop_weights()
    only_pad = tf.where(tf.equal(tf.range(vocab), PAD), 0.0, IMPOSSIBLE)
    forbidden = never_written(vocab)
    batch, steps = axis_sizes(source)

    def going_on(t, token, finished, *_):
        return tf.logical_and(t < max_length, tf.logical_not(tf.reduce_all(finished)))

    def step(t, token, finished, states, log_p, ranks, tokens, alignments):
        logits, alignment, states = model.decode_step(
            tf.reshape(token, (-1,)), states, prepared, weights
        )
        next_log_p = tf.reshape(tf.nn.log_softmax(logits) + forbidden, (batch, k, vocab))
        next_log_p = tf.where(tf.expand_dims(finished, -1), only_pad, next_log_p)
        length = count_tokens(tokens) + tf.cast(tf.logical_not(finished), tf.int32)
        penalty = tf.expand_dims(_penalty(length, length_penalty), -1)
        total = tf.expand_dims(log_p, -1) + next_log_p  # (batch, k, vocab)
        ranks, log_p, parent, token = _choose(total, penalty, k, vocab)

        def follow(x):
            return tf.gather(x, parent, batch_dims=1)  # (batch, k, ...) of the beams that go on

        alive = tf.logical_not(follow(finished))
        here = tf.cast(tf.equal(tf.range(max_length), t), tf.int32)  # (T_dec,)
        tokens = follow(tokens) + tf.expand_dims(token, -1) * here
        alignment = follow(tf.reshape(alignment, (batch, k, steps)))
        alignment *= tf.expand_dims(tf.cast(alive, tf.float32), -1)
        column = tf.expand_dims(tf.cast(here, tf.float32), -1)  # (T_dec, 1)
        alignments = follow(alignments) + tf.expand_dims(alignment, 2) * column
        states = [_follow(state, parent, batch, k) for state in states]
        finished = tf.logical_or(tf.logical_not(alive), tf.equal(token, EOS))
        return t + 1, token, finished, states, log_p, ranks, tokens, alignments

    first = tf.one_hot(tf.zeros((batch,), tf.int32), k, on_value=0.0, off_value=IMPOSSIBLE)
    start = (
        tf.constant(0),
        tf.fill((batch, k), BOS),
        tf.fill((batch, k), False),
        [_repeat(state, k) for state in states],
        first,
        first,
        tf.zeros((batch, k, max_length), tf.int32),
        tf.zeros((batch, k, max_length, steps), tf.float32),
    )
    *_, log_p, ranks, tokens, alignments = tf.while_loop(
        going_on, step, start, maximum_iterations=max_length
    )
    return _best(n_best or k, log_p, ranks, tokens, alignments)


def _choose(total, penalty, k, vocab):
    """Of all continuations (batch, k, vocab) the k best: rank, log p, parent, token, (batch, k)."""
    rank = total / penalty
    # a large penalty would bring an impossible answer near 0, before those that are possible
    rank = tf.where(total > IMPOSSIBLE / 2, rank, total)
    batch = total.shape[0] if total.shape[0] is not None else tf.shape(total)[0]
    ranks, index = tf.math.top_k(tf.reshape(rank, (batch, k * vocab)), k)
    log_p = tf.gather(tf.reshape(total, (batch, k * vocab)), index, batch_dims=1)
    return ranks, log_p, index // vocab, index % vocab


def _best(n_best, log_p, ranks, tokens, alignments):
    """The first answers; those that stand for nothing are emptied."""
    real = log_p > IMPOSSIBLE / 2  # (batch, k)
    tokens = tokens * tf.cast(tf.expand_dims(real, -1), tf.int32)
    alignments *= tf.cast(tf.expand_dims(tf.expand_dims(real, -1), -1), tf.float32)
    ranks = tf.where(real, ranks, IMPOSSIBLE)
    tokens = tokens[:, :n_best]
    return {
        "tokens": tokens,
        "lengths": count_tokens(tokens),
        "scores": ranks[:, :n_best],
        "alignments": alignments[:, :n_best],
    }


def _penalty(length, exponent):
    """((5 + length) / 6) ** exponent (Wu et al. 2016, section 7)."""
    return tf.pow((5.0 + tf.cast(length, tf.float32)) / 6.0, exponent)


def _repeat(x, k):
    """(batch, ...) -> (batch * k, ...), each row k times in succession."""
    rest = [size if size is not None else tf.shape(x)[i] for i, size in enumerate(x.shape)][1:]
    tiled = tf.tile(tf.expand_dims(x, 1), [1, k] + [1] * len(rest))
    batch = x.shape[0]
    return tf.reshape(tiled, [batch * k if batch is not None else -1, *rest])


def _follow(state, parent, batch, k):
    """Rows of a state (batch * k, width) in the order of the beams that go on."""
    shape = state.shape
    width = shape[1:]
    if any(size is None for size in width):
        width = [s if s is not None else tf.shape(state)[i + 1] for i, s in enumerate(width)]
    chosen = tf.gather(tf.reshape(state, [batch, k, *width]), parent, batch_dims=1)
    chosen = tf.reshape(chosen, [-1, *width])
    chosen.set_shape(shape)
    return chosen


def check_beam(owner, beam_width, length_penalty, n_best):
    """Refuse arguments of a beam search that make no sense."""
    for name, value in (("beam_width", beam_width), ("n_best", n_best)):
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise ValueError(
                f"{owner}: {name} is {value!r}; expected a whole number of at least 1. "
                f"Fix: {name}=1 is the least."
            )
    if n_best > beam_width:
        raise ValueError(
            f"{owner}: n_best is {n_best} and beam_width is {beam_width}; expected n_best of at "
            f"most beam_width. Fix: beam_width={n_best}."
        )
    number = isinstance(length_penalty, (int, float)) and not isinstance(length_penalty, bool)
    if not number or not 0.0 <= length_penalty < float("inf"):
        raise ValueError(
            f"{owner}: length_penalty is {length_penalty!r}; expected a number of at least 0. "
            "Fix: length_penalty=1.0, or 0 for none."
        )
