"""Cross entropy over the real tokens of a padded batch."""

from __future__ import annotations

from typing import Any

import keras
import tensorflow as tf
from keras import ops

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
    (1 - e) nll_t + e/V sum_v (logsumexp(z_t) - z_t[v]) = nll_t + e (z_t[y_t] - mean_v z_t[v]).
    Computed in float32 whatever the dtype of the logits: in float16 the sum of exponentials
    overflows from scores of about 11 on.
    """
    target = ops.cast(target, "int32")
    logits = ops.cast(logits, "float32")  # (batch, T_dec, vocab_target)
    if label_smoothing == 0.0:
        return ops.sparse_categorical_crossentropy(target, logits, from_logits=True)
    return _smoothed_cross_entropy(target, logits, label_smoothing)


def _smoothed_cross_entropy(target: Any, logits: Any, label_smoothing: float) -> Any:
    """As above with e > 0, and its gradient in two passes over the logits.

    d loss_t / d z_t[v] = softmax(z_t)[v] - (1 - e) [v = y_t] - e/V. The logits are the largest
    tensor of a training step: what autodiff makes of the formula takes three times as long.
    """
    vocab = logits.shape[-1]

    @tf.custom_gradient
    def loss_of(logits: Any) -> tuple[Any, Any]:
        flat = tf.reshape(logits, (-1, vocab))  # (batch x T_dec, vocab_target)
        ids = tf.reshape(target, (-1,))
        # the operation also gives softmax(z) - onehot(y)
        nll, slope = tf.raw_ops.SparseSoftmaxCrossEntropyWithLogits(features=flat, labels=ids)
        right = tf.gather(flat, ids, batch_dims=1)  # z[y]
        loss = nll + label_smoothing * (right - tf.reduce_mean(flat, axis=-1))

        def gradient(upstream: Any) -> Any:
            upstream = tf.reshape(upstream, (-1, 1))
            rows = tf.stack([tf.range(tf.size(ids)), ids], axis=1)
            flat = (slope - label_smoothing / vocab) * upstream
            flat = tf.tensor_scatter_nd_add(flat, rows, label_smoothing * upstream[:, 0])
            return tf.reshape(flat, tf.shape(logits))

        return tf.reshape(loss, tf.shape(target)), gradient

    return loss_of(logits)


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
