"""Adam in one pass over each weight."""

from __future__ import annotations

from typing import Any

import keras
import tensorflow as tf


@keras.saving.register_keras_serializable(package="attention_zoo")
class FusedAdam(keras.optimizers.Adam):
    """`keras.optimizers.Adam` (Kingma and Ba 2015, algorithm 1), computed by TensorFlow's kernel.

    The formula, the arguments and the saved state are those of Keras' Adam; Keras computes it in
    ten passes over weight, moments and gradient, the kernel in one. ``epsilon`` stands outside the
    bias correction, as in Keras. Sparse gradients (of an embedding) are made dense: rows without a
    gradient move by their momentum, as in Keras, and where a row comes several times in a batch its
    gradients are summed before they are squared, as in the formula (Keras sums the squares).

    With ``use_ema`` the average of the weights, a_k = m_k a_{k-1} + (1 - m_k) w_k, forgets the
    weights that training began with: m_k = min(ema_momentum, (k - 1) / (k + 8)) at step k = 1, 2,
    ..., so that a_1 = w_1, where Keras has ema_momentum from the second step on.
    """

    def update_step(self, gradient: Any, variable: Any, learning_rate: Any) -> None:
        """One step of one weight; with ``amsgrad`` that of Keras, the kernel has none."""
        if self.amsgrad or keras.backend.standardize_dtype(variable.dtype) != "float32":
            super().update_step(gradient, variable, learning_rate)
            return
        index = self._get_variable_index(variable)
        step = tf.cast(self.iterations + 1, tf.float32)
        beta_1 = tf.constant(self.beta_1, tf.float32)
        beta_2 = tf.constant(self.beta_2, tf.float32)
        tf.raw_ops.ResourceApplyAdam(
            var=variable.handle,
            m=self._momentums[index].value.handle,
            v=self._velocities[index].value.handle,
            beta1_power=tf.pow(beta_1, step),
            beta2_power=tf.pow(beta_2, step),
            lr=tf.cast(learning_rate, tf.float32),
            beta1=beta_1,
            beta2=beta_2,
            epsilon=tf.constant(self.epsilon, tf.float32),
            grad=tf.convert_to_tensor(tf.cast(gradient, tf.float32)),
        )

    def _update_model_variables_moving_average(self, trainable_variables: Any) -> None:
        if not self.use_ema:
            return
        done = tf.cast(self.iterations, tf.float32)  # k - 1: counted up after this
        momentum = tf.minimum(tf.constant(self.ema_momentum), done / (done + 9.0))
        averages = self._model_variables_moving_average
        for variable, average in zip(trainable_variables, averages, strict=True):
            value = tf.convert_to_tensor(variable)
            average.assign_add((1.0 - momentum) * (value - tf.convert_to_tensor(average)))
