"""Attention after the step: the order of Luong et al. (2015)."""

import keras
from keras import ops

from attention_zoo.layers.attention_cell import AttentionCell


@keras.saving.register_keras_serializable(package="attention_zoo")
class LuongCell(AttentionCell):
    """Step first, then look: the query is **s_t** (Luong et al. 2015, section 3, equation 5).

        s_t = RNN(s_{t-1}, y_{t-1})      with input feeding: RNN(s_{t-1}, [y_{t-1}; s~_{t-1}])
        c_t = sum_i a_{t,i} h_i,         a_t = softmax(score(s_t, h_i))
        s~_t = tanh(W_c [c_t; s_t])

    The output is the attentional state s~_t. Without input feeding (section 3.3) no state depends
    on the attention, so that `AttentionDecoder` computes it for all target steps at once.

    Args:
        cell: any Keras RNN cell.
        mechanism: an `AttentionMechanism`.
        units: width of s~_t; d_s if not given.
        input_feeding: whether s~_{t-1} is part of the next input; s~_0 = 0.
    """

    def __init__(self, cell, mechanism, units=None, input_feeding=False, **kwargs):
        super().__init__(cell, mechanism, **kwargs)
        if units is not None and (not isinstance(units, int) or units < 1):
            raise ValueError(
                f"LuongCell: units is {units!r}; expected a whole number of at least 1, the width "
                "of the attentional state. Fix: leave units out for d_s."
            )
        self.units = units
        self.input_feeding = input_feeding

    @property
    def output_width(self):
        return self.units or self.d_s

    @property
    def own_widths(self):
        return [self.output_width] if self.input_feeding else []

    def extra_width(self, memory_shape):
        return self.output_width if self.input_feeding else 0

    def build_rest(self, memory_shape):
        super().build_rest(memory_shape)
        self.W_c = self.add_weight(
            shape=(self.d_h + self.d_s, self.output_width),
            initializer="glorot_uniform",
            name="W_c",
        )

    def own_states(self, prepared):
        if not self.input_feeding:
            return []
        batch = ops.shape(prepared["memory"])[0]
        return [ops.zeros((batch, self.output_width), dtype=self.compute_dtype)]

    def step(self, projected, states, prepared, weights=None, training=False):
        own, fed, carried = self.split_states(states, int(self.input_feeding))
        output, own = self.advance(projected, fed[0] if fed else None, own, weights, training)
        context, alignments, carried = self.attend(output, prepared, carried, training)
        attentional = self.combine(context, output)
        fed = [attentional] if self.input_feeding else []
        return (attentional, context, alignments), [*own, *fed, *carried]

    def combine(self, context, output):
        """s~ = tanh(W_c [c; s]): (batch[, T_dec], d_h), (batch[, T_dec], d_s) -> (..., units)."""
        joined = ops.concatenate([context, output], axis=-1)
        return ops.tanh(ops.matmul(joined, ops.cast(self.W_c, self.compute_dtype)))

    def attends_after_loop(self, states):
        """Whether the attention of all steps can be computed after the loop."""
        _, _, carried = self.split_states(states, int(self.input_feeding))
        return not self.input_feeding and not carried

    def finish(self, outputs, prepared, training=False):
        """(batch, T_dec, d_s) -> s~, contexts, alignments of all steps at once."""
        context, alignments, _ = self.attend(outputs, prepared, (), training)
        return self.combine(context, outputs), context, alignments

    def get_config(self):
        return {
            **super().get_config(),
            "units": self.units,
            "input_feeding": self.input_feeding,
        }
