"""The additive score of Bahdanau, Cho and Bengio (2014)."""

import keras
from keras import ops

from attention_zoo.layers.attention_mechanism import (
    AttentionMechanism,
    shapes_of,
    vector_initializer,
)


@keras.saving.register_keras_serializable(package="attention_zoo")
class BahdanauAttention(AttentionMechanism):
    """``e_i = v_a^T tanh(W_a s + U_a h_i)`` (Bahdanau et al. 2014, section 3.1 and A.1.2).

    Weights: W_a (d_s, d_attn), U_a (d_h, d_attn), v_a (d_attn,), no bias, as in the paper. Against
    `keras.layers.AdditiveAttention`: that one has no W_a and U_a, so that its queries and keys must
    have one width.

    Args:
        units: d_attn, the width of the hidden layer that compares query and key.
        dropout: share of the weights dropped in training.
        seed: of the dropout and of the initial weights.

    Example:
        >>> attention = BahdanauAttention(units=7)                          # doctest: +SKIP
        >>> context, weights = attention(                                   # doctest: +SKIP
        ...     [state, memory], mask=[None, mask], return_attention_scores=True
        ... )
    """

    def __init__(self, units, dropout=0.0, seed=None, **kwargs):
        super().__init__(dropout=dropout, seed=seed, **kwargs)
        if not isinstance(units, int) or isinstance(units, bool) or units < 1:
            raise ValueError(
                f"BahdanauAttention: units (d_attn) is {units!r}; expected a whole number of at "
                "least 1. Fix: BahdanauAttention(units=128)."
            )
        self.units = units

    def build(self, input_shape):
        if self.built:
            return
        query, _, keys = shapes_of(input_shape, self.name)
        glorot = keras.initializers.GlorotUniform
        self.W_a = self.add_weight(
            shape=(query[-1], self.units), initializer=glorot(self._seed(0)), name="W_a"
        )
        self.U_a = self.add_weight(
            shape=(keys[-1], self.units), initializer=glorot(self._seed(1)), name="U_a"
        )
        self.v_a = self.add_weight(
            shape=(self.units,),
            initializer=vector_initializer(self.units, self._seed(2)),
            name="v_a",
        )
        self.built = True

    def project(self, keys):
        # float32 for what the score does with them: a CPU's tanh, and sums, are slower in bfloat16
        return ops.cast(ops.matmul(keys, self.cast(self.U_a)), "float32")  # (batch, T_enc, d_attn)

    def query_weight(self):
        # a subclass may have a score of its own
        return self.cast(self.W_a) if type(self).score is BahdanauAttention.score else None

    def score(self, query, keys, state):
        return self.compare(ops.matmul(query, self.cast(self.W_a)), keys)

    def compare(self, projected, keys):
        projected = ops.cast(projected, keys.dtype)  # (batch[, T_dec], d_attn)
        if len(projected.shape) == 3:
            keys = ops.expand_dims(keys, 1)  # (batch, 1, T_enc, d_attn)
        hidden = ops.tanh(ops.expand_dims(projected, -2) + keys)
        # as a product: one pass over hidden in place of two
        scores = ops.matmul(hidden, ops.expand_dims(ops.cast(self.v_a, keys.dtype), -1))
        return ops.squeeze(scores, -1)  # (batch[, T_dec], T_enc)

    def _widths(self):
        return {"d_s": self.W_a.shape[0], "d_h": self.U_a.shape[0]}

    def _seed(self, offset):
        return None if self.seed is None else self.seed + offset

    def get_config(self):
        return {**super().get_config(), "units": self.units}
