"""Cross entropy over the real tokens of a padded batch."""

from __future__ import annotations

from typing import Any

import keras
import tensorflow as tf
from keras import ops

from attention_zoo.layers.run_time_checks import check_ids
from attention_zoo.layers.shapes import check_axes
from attention_zoo.vocabulary import PAD


def check_target_and_logits(owner: str, target: Any, logits: Any) -> None:
    """Raise `ShapeError` unless target is (batch, T_dec), logits (batch, T_dec, vocab_target)."""
    check_axes(
        owner,
        {
            "target": (tuple(target.shape), ("batch", "T_dec")),
            "logits": (tuple(logits.shape), ("batch", "T_dec", "vocab_target")),
        },
        fixes={
            "target": "give token ids, (batch, T_dec), padded with 0: no one-hot vectors",
            "logits": "give the unnormalised scores of every target position",
        },
    )


def token_weights(owner: str, target: Any, sample_weight: Any = None) -> Any:
    """Weight of each target position, float32 (batch, T_dec): 0 on padding, else its sample weight.

    `sample_weight` may be (batch,), one weight a sequence, or (batch, T_dec), one a token.

    Raises:
        ShapeError: `sample_weight` has another shape; it is never broadcast along T_dec.
    """
    real = ops.cast(ops.not_equal(target, PAD), "float32")  # (batch, T_dec)
    if sample_weight is None:
        return real
    sample_weight = ops.cast(ops.convert_to_tensor(sample_weight), "float32")
    axes = ("batch",) if len(sample_weight.shape) == 1 else ("batch", "T_dec")
    check_axes(
        owner,
        {
            "target": (tuple(target.shape), ("batch", "T_dec")),
            "sample_weight": (tuple(sample_weight.shape), axes),
        },
        fixes={"sample_weight": "give one weight a sequence, (batch,), or a token, (batch, T_dec)"},
    )
    if len(axes) == 1:
        sample_weight = ops.expand_dims(sample_weight, -1)  # (batch, 1)
    return real * sample_weight


def token_cross_entropy(target: Any, logits: Any, label_smoothing: float = 0.0) -> Any:
    """Negative log-likelihood of each target token, float32 (batch, T_dec), padding included.

    nll_t = logsumexp(z_t) - z_t[y_t]; with label smoothing e over a vocabulary of V,
    (1 - e) nll_t + e/V sum_v (logsumexp(z_t) - z_t[v])
    = logsumexp(z_t) - (1 - e) z_t[y_t] - e mean_v z_t[v].
    Computed in float32 whatever the dtype of the logits: in float16 the sum of exponentials
    overflows from scores of about 11 on. A target outside the vocabulary is an error when it runs.
    """
    logits = ops.cast(logits, "float32")  # (batch, T_dec, vocab_target)
    vocab = logits.shape[-1]
    target = check_ids("token_cross_entropy", "target", ops.cast(target, "int32"), vocab, "logits")
    is_large = vocab >= _LARGE
    forward, backward = (_fused_loss, _fused_slope) if is_large else (_loss, _slope)

    @tf.custom_gradient
    def cross_entropy(logits: Any) -> tuple[Any, Any]:
        flat, ids = tf.reshape(logits, (-1, vocab)), tf.reshape(target, (-1,))
        loss, total = forward(flat, ids, label_smoothing)

        def gradient(upstream: Any) -> Any:
            slope = backward(flat, ids, total, tf.reshape(upstream, (-1,)), label_smoothing)
            return tf.reshape(slope, tf.shape(logits))

        return tf.reshape(loss, tf.shape(target)), gradient

    return cross_entropy(logits)


def _loss(logits: Any, ids: Any, e: float) -> tuple[Any, Any]:
    """(n, V), (n,) -> the cross entropy and logsumexp of each row, (n,)."""
    largest = tf.stop_gradient(tf.reduce_max(logits, axis=-1, keepdims=True))
    total = tf.math.log(tf.reduce_sum(tf.exp(logits - largest), axis=-1)) + largest[:, 0]
    right = tf.gather(logits, ids, batch_dims=1)  # z[y]
    return total - (1.0 - e) * right - e * tf.reduce_mean(logits, axis=-1), total


def _slope(logits: Any, ids: Any, total: Any, upstream: Any, e: float) -> Any:
    """d loss / d z = softmax(z) - (1 - e) onehot(y) - e/V, times the gradient of each row."""
    vocab = logits.shape[-1]
    is_right = tf.equal(tf.range(vocab)[None, :], ids[:, None])
    slope = tf.exp(logits - total[:, None]) - e / vocab
    return tf.where(is_right, slope - (1.0 - e), slope) * upstream[:, None]


# The logits are the largest tensor of a training step. TensorFlow's own operation takes 93 ms for
# both directions over 1536 x 6000, XLA's one pass each 25 ms; it compiles once for each shape,
# which a small vocabulary does not win back.
_LARGE = 1024
_fused_loss = tf.function(_loss, jit_compile=True)
_fused_slope = tf.function(_slope, jit_compile=True)


@keras.saving.register_keras_serializable(package="attention_zoo")
class MaskedCrossEntropy(keras.losses.Loss):
    """Mean cross entropy over the tokens of a batch that are not padding.

    loss = sum_{b,t} w_{b,t} nll_{b,t} / sum_{b,t} w_{b,t}, with w = 0 where target is 0 (padding),
    else the sample weight (1 if there is none). Every token counts the same, whether its sequence
    is long or short; a batch of padding alone costs 0.

    `y_true`: token ids (batch, T_dec). `y_pred`: logits (batch, T_dec, vocab_target), of any float
    dtype; the loss is computed and returned in float32. `sample_weight`: (batch,) or
    (batch, T_dec).

    Args:
        label_smoothing: share of the probability spread evenly over the vocabulary, in [0, 1).
        reduction: as in Keras; the default divides by the sum of the weights.
        name: name of the loss.

    Raises:
        ValueError: `label_smoothing` outside [0, 1).
        ShapeError: target, logits and weights that do not belong together.
    """

    def __init__(
        self,
        label_smoothing: float = 0.0,
        reduction: str = "mean_with_sample_weight",
        name: str = "masked_cross_entropy",
    ) -> None:
        if not 0.0 <= label_smoothing < 1.0:
            raise ValueError(
                "MaskedCrossEntropy: label_smoothing must be in [0, 1), "
                f"got {label_smoothing!r}. Fix: 0.0 for none, 0.1 is usual for translation."
            )
        super().__init__(name=name, reduction=reduction, dtype="float32")
        self.label_smoothing = label_smoothing

    def __call__(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:
        y_true = ops.convert_to_tensor(y_true)
        y_pred = ops.convert_to_tensor(y_pred)
        check_target_and_logits(self.name, y_true, y_pred)
        # The base class multiplies by whatever it is given: one weight a token keeps it exact.
        weights = token_weights(self.name, y_true, sample_weight)
        return super().__call__(y_true, y_pred, sample_weight=weights)

    def call(self, y_true: Any, y_pred: Any) -> Any:
        return token_cross_entropy(y_true, y_pred, self.label_smoothing)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "label_smoothing": self.label_smoothing}
