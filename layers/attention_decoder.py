"""A decoder cell run over a whole target sequence."""

import keras

from attention_zoo.layers.cell_dropout import held_dropout
from attention_zoo.layers.decoder_cell import DecoderCell
from attention_zoo.layers.late_gradient import AttentionProbe, late_loop
from attention_zoo.layers.run_time_checks import tie_axes
from attention_zoo.layers.time_loop import time_loop


@keras.saving.register_keras_serializable(package="attention_zoo")
class AttentionDecoder(keras.layers.Layer):
    """Run a decoder cell over (batch, T_dec, d_emb) with a memory to attend to.

    What does not depend on the step is done for all steps at once: keys and the inputs' share of
    the first product before the loop; with `LuongCell` without input feeding also the attention,
    after it. In training the gradients of weights and memory are taken after the loop too.

    Args:
        cell: `BahdanauCell`, `ConditionalCell`, `LuongCell` or `PlainCell`.

    Example (training, in a Functional model):
        >>> cell = LuongCell(keras.layers.GRUCell(7), LuongAttention("general"))  # doctest: +SKIP
        >>> result = AttentionDecoder(cell)(                                      # doctest: +SKIP
        ...     embedded, memory=memory, memory_mask=mask, return_alignments=True
        ... )
    """

    def __init__(self, cell, **kwargs):
        super().__init__(**kwargs)
        if not isinstance(cell, DecoderCell):
            raise ValueError(
                f"AttentionDecoder: cell is {cell!r}; expected a decoder cell. Fix: wrap a Keras "
                "cell in BahdanauCell, ConditionalCell, LuongCell or PlainCell."
            )
        self.cell = cell
        self.supports_masking = True

    def build(self, inputs_shape, memory_shape=None, **_):
        if not self.cell.built:
            self.cell.build((inputs_shape[0], inputs_shape[-1]), memory_shape)
        self.built = True

    def call(
        self,
        inputs,
        memory=None,
        initial_state=None,
        memory_mask=None,
        training=False,
        return_alignments=False,
    ):
        """Decode a sequence whose inputs are known (teacher forcing).

        Args:
            inputs: (batch, T_dec, d_emb), the embeddings of y_0 ... y_{T_dec - 1}.
            memory: (batch, T_enc, d_h), the encoder states; None for `PlainCell`.
            initial_state: list of (batch, width): the states of the inner cell, or the ``states``
                of an earlier call, to go on from there; zeros if None.
            memory_mask: (batch, T_enc) bool, true for real steps; None = all are real.
            training: whether dropout works.
            return_alignments: also return the weights.

        Returns:
            A dict: ``outputs`` (batch, T_dec, d_s, or the width of s~), ``states``, the flat list
            of (batch, width) after the last step, and for cells that attend ``contexts``
            (batch, T_dec, d_h) and, if asked for, ``alignments`` (batch, T_dec, T_enc).

        Raises:
            ShapeError: for axes that disagree.
        """
        cell = self.cell
        axes = ("batch", "T_dec", "d_emb")
        cell.check_call(inputs, axes, initial_state, memory, memory_mask, name=self.name)
        if memory is not None:
            like = ("memory", memory)
            inputs = tie_axes(self.name, ("inputs", inputs), like)
            mask = ("memory_mask", memory_mask)
            memory_mask = tie_axes(self.name, mask, like, ("batch", "T_enc"))
        prepared = cell.prepare(memory, memory_mask)
        states = self._first_states(initial_state, inputs, prepared)
        with held_dropout(cell.cells, keras.ops.shape(inputs)[0], training):
            (outputs, contexts, alignments), states = self._run(inputs, states, prepared, training)
        result = {"outputs": outputs, "states": states}
        if contexts is not None:
            result["contexts"] = contexts
            if return_alignments:
                result["alignments"] = alignments
        return result

    def _first_states(self, given, inputs, prepared):
        """The flat states before the first step."""
        cell = self.cell
        if given is None:
            given = cell.zero_states(keras.ops.shape(inputs)[0])
        given = [
            tie_axes(self.name, (f"states[{i}]", state), ("inputs", inputs))
            for i, state in enumerate(given)
        ]
        count = len(cell.state_size)
        states = cell.initial_states(given[:count], prepared)
        if len(given) not in (count, len(states)):
            cell.refuse_states(given, [state.shape[-1] for state in states], self.name)
        return states if len(given) == count else given

    def _run(self, inputs, states, prepared, training):
        cell = self.cell
        weights = cell.loop_weights()
        projected = cell.project_inputs(inputs, weights)
        if cell.attends_after_loop(states):

            def advance(projected, states, weights=weights, _=None):
                return cell.advance(projected, None, states, weights, training)

            outputs, states = self._loop(advance, projected, states, weights, training)
            return cell.finish(outputs, prepared, training), states

        probe = None
        if training and cell.first_step.late_weights and cell.reads_memory_plainly(training):
            query_weight = cell.mechanism.query_weight()
            probe = AttentionProbe(prepared["memory"], query_weight, keras.ops.shape(inputs)[1])

        def step(projected, states, weights=weights, zeros=None):
            read = prepared if probe is None else probe.read(prepared, zeros, weights["used"])
            outputs, states = cell.step(projected, states, read, weights, training)
            return tuple(x for x in outputs if x is not None), states

        outputs, states = self._loop(step, projected, states, weights, training, probe)
        outputs = (*outputs, None, None)[:3]
        if probe is not None:
            probe.alignments = outputs[2]
        return outputs, states

    def _loop(self, step, projected, states, weights, training, probe=None):
        cell_step = self.cell.first_step
        if not (training and cell_step.late_weights):
            return time_loop(step, projected, states)
        return late_loop(step, projected, states, cell_step, weights, probe)

    def get_config(self):
        return {**super().get_config(), "cell": keras.saving.serialize_keras_object(self.cell)}

    @classmethod
    def from_config(cls, config):
        cell = keras.saving.deserialize_keras_object(config["cell"])
        return cls(**{**config, "cell": cell})
