"""What the decoder cells share: a Keras RNN cell inside, flat states, one step."""

import keras
from keras import ops

from attention_zoo.layers.cell_dropout import held_dropout
from attention_zoo.layers.cell_step import WholeStep, cell_step
from attention_zoo.layers.run_time_checks import check_tensors, tie_axes


class DecoderCell(keras.layers.Layer):
    """Base: a step (y_{t-1}, states, memory) -> (output, context, alignments), states.

    The inner ``cell`` is any Keras RNN cell (`GRUCell`, `LSTMCell`, `StackedRNNCells`, ...). Its
    *decoder state* in the sense of the papers, s_t, is the output of its top layer. The states of a
    step are one flat list: those of the inner cell, then what the subclass and the mechanism add.
    Nothing is kept on the layer between calls.

    The same `step` is used by training, search and export. Around it stand the parts that do not
    depend on the step: `project_inputs` for all inputs at once, `loop_weights` and `prepare` once
    before the loop, `finish` for what can wait until after it.
    """

    def __init__(self, cell, **kwargs):
        super().__init__(**kwargs)
        if not (isinstance(cell, keras.layers.Layer) and hasattr(cell, "state_size")):
            raise ValueError(
                f"{type(self).__name__}: cell is {cell!r}; expected a Keras RNN cell. "
                "Fix: pass keras.layers.GRUCell(units), LSTMCell or StackedRNNCells."
            )
        self.cell = cell
        # the layers above the first get no part of their input from outside the loop
        self._steps = (cell_step(self.cells[0]), *(WholeStep(c) for c in self.cells[1:]))

    @property
    def cells(self):
        """The layers of the inner cell, from the bottom to the top."""
        stacked = isinstance(self.cell, keras.layers.StackedRNNCells)
        return list(self.cell.cells) if stacked else [self.cell]

    # Widths and states ----------------------------------------------------------------------

    @property
    def state_size(self):
        """Widths of the inner cell's states, flat."""
        return keras.tree.flatten([c.state_size for c in self.cells])

    @property
    def own_widths(self):
        """Widths of the states that the order itself adds, after those of the inner cell."""
        return []

    @property
    def d_s(self):
        """Width of the decoder state: the output of the top layer."""
        return self.cells[-1].output_size

    @property
    def output_width(self):
        return self.d_s

    def initial_states(self, cell_states, prepared):
        """The flat states before the first step, from those of the inner cell."""
        return list(cell_states)

    def zero_states(self, batch):
        return [ops.zeros((batch, size), dtype=self.compute_dtype) for size in self.state_size]

    def decoder_state(self, states):
        """s_t: (batch, d_s) within the flat states."""
        return states[len(keras.tree.flatten([c.state_size for c in self.cells[:-1]]))]

    # The parts around the step ---------------------------------------------------------------

    def project_inputs(self, inputs, weights=None):
        """(..., d_emb) -> (..., width): the first layer's share that depends on inputs alone."""
        return self._steps[0].project(inputs, weights)

    def loop_weights(self):
        """Weights in the form that `step` reads, so that a loop makes them once."""
        return self._steps[0].weights(self.d_emb)

    @property
    def first_step(self):
        """The step of the first layer, which reads the projected inputs."""
        return self._steps[0]

    def reads_memory_plainly(self, training):
        """Whether each step reads the memory once, as ``sum_i a_{t,i} h_i`` of its alignments."""
        return False

    def prepare(self, memory=None, mask=None):
        """What the steps read of the memory: keys, memory and mask; made once a sequence."""
        return {}

    def step(self, projected, states, prepared, weights=None, training=False):
        """(projected input, flat states) -> (output, context, alignments), flat states."""
        raise NotImplementedError

    def attends_after_loop(self, states):
        """Whether the loop needs `advance` alone, and `finish` does the rest for all steps."""
        return False

    def finish(self, outputs, prepared, training=False):
        """(batch, T_dec, d_s) from `advance` -> outputs, contexts, alignments of all steps."""
        raise NotImplementedError

    def advance(self, projected, extra, states, weights, training):
        """The inner cell alone: (projected, extra input or None, its states) -> output, states."""
        weights = self.loop_weights() if weights is None else weights
        new_states = []
        output = None
        for number, (cell, step) in enumerate(zip(self.cells, self._steps, strict=True)):
            count = len(keras.tree.flatten([cell.state_size]))
            own, states = states[:count], states[count:]
            if number == 0:
                output, own = step(projected, extra, own, weights, training)
            else:
                output, own = step(output, None, own, {}, training)
            new_states += own
        return output, new_states

    # Keras ------------------------------------------------------------------------------------

    def build(self, inputs_shape, memory_shape=None, **_):
        """``inputs_shape`` (batch, d_emb); ``memory_shape`` (batch, T_enc, d_h) or None."""
        if self.built:
            return
        self.d_emb = inputs_shape[-1]
        width = self.d_emb + self.extra_width(memory_shape)
        for cell in self.cells:
            if not cell.built:
                cell.build((None, width))
            width = cell.output_size
        self.cell.built = True
        self.build_rest(memory_shape)
        self.built = True

    def extra_width(self, memory_shape):
        """Width of what the step adds to its input."""
        return 0

    def build_rest(self, memory_shape):
        """The weights beyond those of the inner cell."""

    def call(self, inputs, states, memory=None, memory_mask=None, training=False):
        """One step from raw tensors.

        Args:
            inputs: (batch, d_emb), the embedding of y_{t-1}.
            states: the flat list of tensors (batch, width) that the step before returned, or
                `initial_states`.
            memory: (batch, T_enc, d_h), for cells that attend.
            memory_mask: (batch, T_enc) bool or None.

        Returns:
            A dict: ``output``, ``states``, and for cells that attend ``context`` (batch, d_h) and
            ``alignments`` (batch, T_enc).
        """
        self.check_call(inputs, ("batch", "d_emb"), states, memory, memory_mask)
        like = ("inputs", inputs)
        states = [
            tie_axes(self.name, (f"states[{i}]", state), like) for i, state in enumerate(states)
        ]
        if memory is not None:
            memory = tie_axes(self.name, ("memory", memory), like)
            mask, steps = ("memory_mask", memory_mask), ("batch", "T_enc")
            memory_mask = tie_axes(self.name, mask, ("memory", memory), steps)
        prepared = self.prepare(memory, memory_mask)
        projected = self.project_inputs(inputs)
        with held_dropout(self.cells, ops.shape(inputs)[0], training):
            (output, context, alignments), states = self.step(
                projected, states, prepared, training=training
            )
        result = {"output": output, "states": states}
        if context is not None:
            result |= {"context": context, "alignments": alignments}
        return result

    def check_call(self, inputs, axes, states, memory, memory_mask, name=None):
        """Refuse inputs whose axes disagree; ``axes`` are those of ``inputs``."""
        tensors = {
            "inputs": (inputs, axes),
            "memory": (memory, ("batch", "T_enc", "d_h")),
            "memory_mask": (memory_mask, ("batch", "T_enc")),
        }
        fixed = {"d_emb": (self.d_emb, f"the kernel of {self.cell.name}"), **self.fixed_axes()}
        if states is not None:
            sizes = self.state_size + self.own_widths
            # a sequence may begin with the states of the inner cell alone
            if len(states) < len(self.state_size if "T_dec" in axes else sizes):
                self.refuse_states(states, sizes, name)
            for i, (state, size) in enumerate(zip(states, sizes, strict=False)):
                tensors[f"states[{i}]"] = (state, ("batch", f"width of states[{i}]"))
                fixed[f"width of states[{i}]"] = (size, f"the cell {self.cell.name}")
        check_tensors(name or self.name, tensors, fixed, at_least_one=("T_dec", "T_enc"))

    def refuse_states(self, states, sizes, name=None):
        raise ValueError(
            f"{name or self.name}: states has {len(states)} tensors; expected {len(sizes)} of "
            f"widths {sizes}. Fix: pass one tensor (batch, width) for each."
        )

    def fixed_axes(self):
        return {}

    def get_config(self):
        cell = keras.saving.serialize_keras_object(self.cell)
        return {**super().get_config(), "cell": cell}

    @classmethod
    def from_config(cls, config):
        config = dict(config)
        for name in ("cell", "second", "mechanism"):
            if name in config:
                config[name] = keras.saving.deserialize_keras_object(config[name])
        return cls(**config)
