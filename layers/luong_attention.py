"""The multiplicative scores, and "concat", of Luong, Pham and Manning (2015)."""

import keras
from keras import ops

from attention_zoo.layers.attention_mechanism import (
    AttentionMechanism,
    shapes_of,
    vector_initializer,
)

SCORES = ("dot", "general", "concat")


@keras.saving.register_keras_serializable(package="attention_zoo")
class LuongAttention(AttentionMechanism):
    """Global attention of Luong et al. (2015, section 3.1, equation 8).

    | score   | formula                     | weights                                   |
    |---------|-----------------------------|-------------------------------------------|
    | dot     | s^T h_i, needs d_s = d_h    | none                                      |
    | general | s^T W_a h_i                 | W_a (d_s, d_h)                            |
    | concat  | v_a^T tanh(W_a [s; h_i])    | W_a (d_s + d_h, d_attn), v_a (d_attn,)    |

    With ``n_heads`` the width d_h is split into as many groups, each with a score of its own, and
    the contexts are concatenated; ``n_heads=1`` is the paper's formula. The heads are not in the
    paper. Against `keras.layers.Attention`: that one has no "general" score.

    Args:
        score: "dot", "general" or "concat".
        units: d_attn, for "concat" alone; d_s if not given.
        n_heads: how many groups, for "dot" and "general"; must divide d_h.
        dropout: share of the weights dropped in training.
        seed: of the dropout and of the initial weights.
    """

    def __init__(self, score="general", units=None, n_heads=1, dropout=0.0, seed=None, **kwargs):
        super().__init__(dropout=dropout, seed=seed, **kwargs)
        if score not in SCORES:
            raise ValueError(
                f"LuongAttention: score is {score!r}; expected one of {', '.join(SCORES)}. "
                'Fix: LuongAttention(score="general").'
            )
        for name, value in (("units", units), ("n_heads", n_heads)):
            whole = isinstance(value, int) and not isinstance(value, bool) and value >= 1
            if not whole and not (name == "units" and value is None):
                raise ValueError(
                    f"LuongAttention: {name} is {value!r}; expected a whole number of at least 1. "
                    f"Fix: leave {name} out for its default."
                )
        if units is not None and score != "concat":
            raise ValueError(
                f'LuongAttention: units is {units} with score "{score}"; expected units for '
                '"concat" alone, the other scores have no hidden layer. Fix: leave units out.'
            )
        if n_heads > 1 and score == "concat":
            raise ValueError(
                f'LuongAttention: n_heads is {n_heads} with score "concat"; expected 1, since '
                'heads split a product of query and key. Fix: score="general", or n_heads=1.'
            )
        self.score_name = score
        self.units = units
        self.n_heads = n_heads

    def build(self, input_shape):
        if self.built:
            return
        query, value, keys = shapes_of(input_shape, self.name)
        self.d_s, self.d_h, self.d_v = query[-1], keys[-1], value[-1]
        self._check_widths()
        glorot = keras.initializers.GlorotUniform(self.seed)
        if self.score_name == "general":
            self.W_a = self.add_weight(shape=(self.d_s, self.d_h), initializer=glorot, name="W_a")
        elif self.score_name == "concat":
            units = self.units or self.d_s
            self.W_a = self.add_weight(
                shape=(self.d_s + self.d_h, units), initializer=glorot, name="W_a"
            )
            seed = None if self.seed is None else self.seed + 1
            self.v_a = self.add_weight(
                shape=(units,), initializer=vector_initializer(units, seed), name="v_a"
            )
        self.built = True

    def _check_widths(self):
        if self.score_name == "dot" and self.d_s != self.d_h:
            both = (
                " (a bidirectional encoder has d_h = 2 x units)" if self.d_h == 2 * self.d_s else ""
            )
            raise ValueError(
                f'{self.name}: score "dot" got queries of width d_s = {self.d_s} and keys of width '
                f"d_h = {self.d_h}{both}; expected d_s = d_h. "
                'Fix: score="general", or give the decoder the width of the memory.'
            )
        for name, width in (("keys (d_h)", self.d_h), ("memory (d_h)", self.d_v)):
            if width % self.n_heads:
                raise ValueError(
                    f"{self.name}: {name} have width {width}; expected a multiple of n_heads = "
                    f"{self.n_heads}. Fix: choose n_heads among the divisors of {width}."
                )

    def axes_of_scores(self):
        return 1 if self.n_heads > 1 else 0

    def project(self, keys):
        if self.score_name == "concat":
            return ops.matmul(keys, self.cast(self.W_a)[self.d_s :])  # (batch, T_enc, d_attn)
        return self.split_values(keys)

    def split_values(self, values):
        """(batch, T, width) -> (batch, n_heads, T, width / n_heads), if there are several heads."""
        if self.n_heads == 1:
            return values
        batch, steps = ops.shape(values)[0], ops.shape(values)[1]
        width = values.shape[-1] // self.n_heads
        return ops.transpose(ops.reshape(values, (batch, steps, self.n_heads, width)), (0, 2, 1, 3))

    def score(self, query, keys, state):
        one = len(query.shape) == 2
        if self.score_name == "concat":
            projected = ops.matmul(query, self.cast(self.W_a)[: self.d_s])
            if not one:
                keys = ops.expand_dims(keys, 1)  # (batch, 1, T_enc, d_attn)
            hidden = ops.tanh(ops.expand_dims(projected, -2) + keys)
            return ops.sum(hidden * self.cast(self.v_a), axis=-1)
        if self.score_name == "general":
            query = ops.matmul(query, self.cast(self.W_a))  # (batch[, T_dec], d_h)
        if one:
            # (batch, [n_heads,] T_enc, d) x (batch, [n_heads,] d, 1): nothing is transposed
            column = ops.expand_dims(self._split_one(query), -1)
            return ops.squeeze(ops.matmul(keys, column), -1)
        # (batch, [n_heads,] T_dec, d) x (batch, [n_heads,] d, T_enc)
        return ops.matmul(self.split_values(query), ops.swapaxes(keys, -1, -2))

    def _split_one(self, query):
        """(batch, d_h) -> (batch, n_heads, d_h / n_heads), if there are several heads."""
        if self.n_heads == 1:
            return query
        return ops.reshape(query, (ops.shape(query)[0], self.n_heads, self.d_h // self.n_heads))

    def read(self, weights, values, query):
        if self.n_heads == 1:
            return super().read(weights, values, query)
        one = len(query.shape) == 2
        if one:
            weights = ops.expand_dims(weights, 2)  # (batch, n_heads, 1, T_enc)
        heads = ops.transpose(ops.matmul(weights, values), (0, 2, 1, 3))
        batch, steps = ops.shape(heads)[0], ops.shape(heads)[1]
        context = ops.reshape(heads, (batch, steps, self.d_v))
        return ops.squeeze(context, 1) if one else context

    def _widths(self):
        return {"d_s": self.d_s, "d_h": self.d_h, "d_v": self.d_v}

    def get_config(self):
        return {
            **super().get_config(),
            "score": self.score_name,
            "units": self.units,
            "n_heads": self.n_heads,
        }
