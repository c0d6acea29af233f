"""Softmax over the real encoder steps."""

from keras import ops


def masked_softmax(scores, mask=None):
    """Softmax over the last axis, with weight exactly 0 where ``mask`` is false.

    ``a_i = exp(e_i - m) / sum_j exp(e_j - m)`` over the unmasked ``i``, ``m`` the largest unmasked
    score. A row with no unmasked step gets weights 0 (not NaN, and not uniform as in
    ``keras.layers.Attention``), forward and in the gradient. Computed in float32 whatever the type
    of ``scores``, and returned in it.

    Args:
        scores: (..., T_enc).
        mask: bool, a shape that broadcasts to that of ``scores``; true = a real step.

    Returns:
        Weights of the shape and type of ``scores``.
    """
    dtype = scores.dtype
    scores = ops.cast(scores, "float32")
    if mask is None:
        return ops.cast(ops.softmax(scores, axis=-1), dtype)
    mask = ops.cast(mask, "bool")
    # the masked scores are replaced before exp and the powers after it, so that neither an
    # infinity nor its gradient (0 * inf) can arise
    largest = ops.max(ops.where(mask, scores, -1e30), axis=-1, keepdims=True)
    shifted = ops.where(mask, scores - ops.stop_gradient(largest), 0.0)
    powers = ops.where(mask, ops.exp(shifted), 0.0)
    total = ops.sum(powers, axis=-1, keepdims=True)
    return ops.cast(powers / ops.where(total > 0.0, total, 1.0), dtype)
