"""Attention before the step: the order of Bahdanau et al. (2014)."""

import keras

from attention_zoo.layers.attention_cell import AttentionCell


@keras.saving.register_keras_serializable(package="attention_zoo")
class BahdanauCell(AttentionCell):
    """Look first, then step: the query is **s_{t-1}** (Bahdanau et al. 2014, A.2.2).

        a_t = softmax(score(s_{t-1}, h_i)),  c_t = sum_i a_{t,i} h_i
        s_t = RNN(s_{t-1}, [y_{t-1}; c_t])

    The output is s_t. Differs from the paper in that the cell is Keras' (its GRU applies the reset
    gate after the matrix product), and in that any mechanism and any cell may stand here. With
    `StackedRNNCells` the query is the state of the top layer and the context enters the first.

    Args:
        cell: any Keras RNN cell.
        mechanism: an `AttentionMechanism`.
    """

    def extra_width(self, memory_shape):
        return memory_shape[-1]

    def step(self, projected, states, prepared, weights=None, training=False):
        own, _, carried = self.split_states(states)
        query = self.decoder_state(own)  # s_{t-1}: (batch, d_s)
        context, alignments, carried = self.attend(query, prepared, carried, training)
        output, own = self.advance(projected, context, own, weights, training)
        return (output, context, alignments), [*own, *carried]
