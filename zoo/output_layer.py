"""Logits over the target vocabulary."""

import keras
import tensorflow as tf


@keras.saving.register_keras_serializable(package="attention_zoo")
class OutputLayer(keras.layers.Layer):
    """``logits = W_y x + b``, with a W_y of its own or that of a target embedding (tied).

    Args:
        vocab_target: number of target ids.
        tied: whether W_y is passed in each call.
    """

    def __init__(self, vocab_target, tied=False, **kwargs):
        super().__init__(**kwargs)
        self.vocab_target = vocab_target
        self.tied = tied

    def build(self, inputs_shape, **_):
        if self.built:
            return
        if not self.tied:
            self.W_y = self.add_weight(
                shape=(inputs_shape[-1], self.vocab_target),
                initializer="glorot_uniform",
                name="W_y",
            )
        self.b = self.add_weight(shape=(self.vocab_target,), initializer="zeros", name="b")
        self.built = True

    def call(self, inputs, embeddings=None):
        """(..., width) -> logits (..., vocab_target), float32 whatever the policy."""
        inputs = tf.cast(inputs, self.compute_dtype)
        weight = embeddings if self.tied else self.W_y
        weight = tf.cast(keras.ops.convert_to_tensor(weight), self.compute_dtype)
        if len(inputs.shape) == 2:
            logits = tf.matmul(inputs, weight, transpose_b=self.tied)
        else:
            # one product for all steps
            steps = tf.shape(inputs)[1]
            flat = tf.reshape(inputs, (-1, inputs.shape[-1]))
            logits = tf.matmul(flat, weight, transpose_b=self.tied)
            logits = tf.reshape(logits, (-1, steps, self.vocab_target))
        # bias_add and not +: the gradient of b takes a quarter of the time
        return tf.nn.bias_add(tf.cast(logits, "float32"), tf.cast(self.b, "float32"))

    def compute_output_shape(self, inputs_shape, **_):
        return (*inputs_shape[:-1], self.vocab_target)

    def get_config(self):
        return {**super().get_config(), "vocab_target": self.vocab_target, "tied": self.tied}
