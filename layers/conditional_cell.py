"""Attention between two cells: the conditional GRU of Nematus."""

import keras

from attention_zoo.layers.attention_cell import AttentionCell
from attention_zoo.layers.paired_step import PairedStep


@keras.saving.register_keras_serializable(package="attention_zoo")
class ConditionalCell(AttentionCell):
    """Step, look, step: the query is **s'_t**, between the two (Sennrich et al. 2017, section 2).

        s'_t = RNN_1(s_{t-1}, y_{t-1})
        a_t = softmax(score(s'_t, h_i)),  c_t = sum_i a_{t,i} h_i
        s_t = RNN_2(s'_t, c_t)

    The output is s_t. Against `BahdanauCell` the query knows y_{t-1} already, and the context
    enters a step of its own. Differs from the paper in that the cells are Keras' (its GRU applies
    the reset gate after the matrix product), and in that any mechanism may stand here. With an LSTM
    both h and c go through both cells.

    Args:
        cell: the first cell, a `GRUCell` or `LSTMCell` of Keras.
        second: one of the same kind and width.
        mechanism: an `AttentionMechanism`.
    """

    def __init__(self, cell, second, mechanism, **kwargs):
        super().__init__(cell, mechanism, **kwargs)
        if type(second) is not type(cell) or second.state_size != cell.state_size:
            raise ValueError(
                f"ConditionalCell: second is {_described(second)}; expected the kind and the width "
                f"of cell, {_described(cell)}, whose states it goes on with. Fix: make both alike."
            )
        self.second = second
        self._steps = (PairedStep(cell, second),)
        if not self.first_step.is_split:
            raise ValueError(
                f"ConditionalCell: cell is {_described(cell)}; expected a keras.layers.GRUCell or "
                "LSTMCell as they are, or with other units. Fix: leave out dropout and "
                "reset_after, and drop what the cell reads instead (keras.layers.Dropout)."
            )

    def build_rest(self, memory_shape):
        super().build_rest(memory_shape)
        if not self.second.built:
            self.second.build((None, self.d_h))

    def step(self, projected, states, prepared, weights=None, training=False):
        own, _, carried = self.split_states(states)
        weights = self.loop_weights() if weights is None else weights
        between, own, x = self.first_step.before(projected, own, weights)  # s'_t: (batch, d_s)
        context, alignments, carried = self.attend(between, prepared, carried, training)
        output, own = self.first_step.after(x, context, own, weights)
        return (output, context, alignments), [*own, *carried]

    def get_config(self):
        return {**super().get_config(), "second": keras.saving.serialize_keras_object(self.second)}


def _described(cell):
    """A cell in the words of an error."""
    return f"{type(cell).__name__} with states of {getattr(cell, 'state_size', 'no width')}"
