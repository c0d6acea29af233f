"""Attention that cannot choose: the ablation of Wiegreffe and Pinter (2019)."""

import keras
from keras import ops

from attention_zoo.layers.attention_mechanism import AttentionMechanism, shapes_of


@keras.saving.register_keras_serializable(package="attention_zoo")
class UniformAttention(AttentionMechanism):
    """``a_{t,i} = 1 / T_enc`` over the real steps, ``c_t`` their mean (section 3.2, "uniform").

    No weights, and the query is never read: s_{t-1} and s_t give the same context, so that the
    order of look and step is a matter of what stands around this layer. The models of the zoo have
    it in Bahdanau's order, where the context enters the step. A model that does as well with this
    as with a score of its own did not need to choose, and its weights explain little. Differs from
    the paper, which freezes the attention of a classifier, in having a decoder around it.

    Args:
        dropout: share of the weights dropped in training.
        seed: of the dropout.

    Example:
        >>> context, weights = UniformAttention()(                          # doctest: +SKIP
        ...     [state, memory], mask=[None, mask], return_attention_scores=True
        ... )
    """

    def build(self, input_shape):
        if self.built:
            return
        query, value, keys = shapes_of(input_shape, self.name)
        self.d_s, self.d_h, self.d_v = query[-1], keys[-1], value[-1]
        self.built = True

    def score(self, query, keys, state):
        # of the query and the keys nothing but their sizes
        scores = ops.zeros_like(ops.sum(keys, axis=-1))  # (batch, T_enc)
        if len(query.shape) == 2:
            return scores
        steps = ops.zeros_like(ops.sum(query, axis=-1, keepdims=True))  # (batch, T_dec, 1)
        return steps + ops.expand_dims(scores, 1)  # (batch, T_dec, T_enc)

    def _widths(self):
        # no product would fail with others: they are held to what the layer was built for
        return {"d_s": self.d_s, "d_h": self.d_h, "d_v": self.d_v}
