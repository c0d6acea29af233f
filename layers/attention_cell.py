"""What the two orders of attention share: a mechanism beside the cell, and its carried state."""

import keras
from keras import ops

from attention_zoo.layers.attention_mechanism import AttentionMechanism, without_padding
from attention_zoo.layers.decoder_cell import DecoderCell


class AttentionCell(DecoderCell):
    """Base of the cells that attend.

    Args:
        cell: any Keras RNN cell.
        mechanism: an `AttentionMechanism`, such as `BahdanauAttention` or `LuongAttention`.
    """

    def __init__(self, cell, mechanism, **kwargs):
        super().__init__(cell, **kwargs)
        if not isinstance(mechanism, AttentionMechanism):
            raise ValueError(
                f"{type(self).__name__}: mechanism is {mechanism!r}; expected an attention "
                "mechanism. Fix: pass BahdanauAttention(units) or LuongAttention(score)."
            )
        self.mechanism = mechanism

    def build(self, inputs_shape, memory_shape=None, **_):
        if memory_shape is None:
            raise ValueError(
                f"{self.name}: built without memory; expected memory (batch, T_enc, d_h), the "
                "states to attend to. Fix: pass memory=encoder_states."
            )
        super().build(inputs_shape, memory_shape)

    def build_rest(self, memory_shape):
        self.d_h = memory_shape[-1]
        if not self.mechanism.built:
            self.mechanism.build([(None, self.d_s), (None, None, self.d_h)])

    def prepare(self, memory=None, mask=None):
        if memory is None:
            raise ValueError(
                f"{self.name}: memory is None; expected (batch, T_enc, d_h), the states to attend "
                "to. Fix: pass memory=encoder_states."
            )
        memory = without_padding(memory, mask)
        prepared = {
            "keys": self.mechanism.project(memory),
            "memory": self.mechanism.split_values(memory),
        }
        if mask is not None:
            prepared["mask"] = ops.cast(mask, "bool")
        return prepared

    def initial_states(self, cell_states, prepared):
        carried = self.mechanism.initial_state(prepared["memory"], prepared.get("mask"))
        return [*cell_states, *self.own_states(prepared), *carried]

    def own_states(self, prepared):
        """States that the order itself adds, after those of the inner cell."""
        return []

    def attend(self, query, prepared, carried, training):
        """context, alignments, what the mechanism carries on."""
        made = {}  # a subclass whose `attend` knows nothing of it gets nothing of it
        if "query_weight" in prepared:  # see `AttentionProbe`
            prepared["kept"]["query"] = query
            projected = ops.matmul(query, prepared["query_weight"])
            made["projected"] = projected + prepared["query_zeros"]
        context, weights, carried = self.mechanism.attend(
            query,
            prepared["keys"],
            prepared["memory"],
            prepared.get("mask"),
            tuple(carried),
            training,
            **made,
        )
        if "context_zeros" in prepared:
            context = context + prepared["context_zeros"]
        return context, self.mechanism.alignments(weights), list(carried)

    def reads_memory_plainly(self, training):
        return self.mechanism.reads_plainly(training)

    def split_states(self, states, n_own=0):
        """(states of the inner cell, of the order, of the mechanism)."""
        n = len(self.state_size)
        return states[:n], states[n : n + n_own], states[n + n_own :]

    def fixed_axes(self):
        return {"d_h": (self.d_h, f"the weights of {self.mechanism.name}")}

    def get_config(self):
        mechanism = keras.saving.serialize_keras_object(self.mechanism)
        return {**super().get_config(), "mechanism": mechanism}
