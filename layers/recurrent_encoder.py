"""The encoder: GRU or LSTM layers over the source."""

import keras
from keras import ops

from attention_zoo.layers.cell_step import cell_step
from attention_zoo.layers.late_gradient import late_loop
from attention_zoo.layers.run_time_checks import check_tensors, tie_axes
from attention_zoo.layers.time_loop import time_loop

CELLS = {"gru": keras.layers.GRUCell, "lstm": keras.layers.LSTMCell}


@keras.saving.register_keras_serializable(package="attention_zoo")
class RecurrentEncoder(keras.layers.Layer):
    """``h_i = RNN(x_i, h_{i-1})``, or [forward; backward] (Bahdanau et al. 2014, A.2.1).

    Padding changes nothing: a masked step leaves the states as they were and gives h_i = 0, so
    that the final state is that of the last real step, and zeros for a row without any. The input
    products of all steps are made at once, outside the loop.

    Args:
        units: width of one direction.
        cell: "gru" or "lstm".
        n_layers: how many layers; each reads the whole output of the one below.
        bidirectional: run each layer in both directions, d_h = 2 x units.
        dropout: on the outputs between layers, in [0, 1).
        seed: of the dropout.
    """

    def __init__(
        self, units, cell="gru", n_layers=1, bidirectional=False, dropout=0.0, seed=None, **kwargs
    ):
        super().__init__(**kwargs)
        if cell not in CELLS:
            raise ValueError(
                f"RecurrentEncoder: cell is {cell!r}; expected one of {', '.join(CELLS)}. "
                'Fix: cell="gru".'
            )
        for name, value in (("units", units), ("n_layers", n_layers)):
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise ValueError(
                    f"RecurrentEncoder: {name} is {value!r}; expected a whole number of at least "
                    f"1. Fix: {name}=1 is the least."
                )
        if not 0.0 <= dropout < 1.0:
            raise ValueError(
                f"RecurrentEncoder: dropout is {dropout!r}; expected a number in [0, 1). "
                "Fix: dropout=0 switches it off."
            )
        self.units = units
        self.cell = cell
        self.n_layers = n_layers
        self.bidirectional = bidirectional
        self.dropout = dropout
        self.seed = seed
        directions = ("forward", "backward") if bidirectional else ("forward",)
        self.cells = [
            [
                CELLS[cell](units, name=f"{direction}_{i}", dtype=self.dtype_policy)
                for direction in directions
            ]
            for i in range(n_layers)
        ]
        self.dropouts = [
            keras.layers.Dropout(
                dropout, seed=None if seed is None else seed + i, dtype=self.dtype_policy
            )
            for i in range(n_layers - 1)
        ]
        self.supports_masking = True

    @property
    def d_h(self):
        return self.units * (2 if self.bidirectional else 1)

    def build(self, inputs_shape, **_):
        if self.built:
            return
        self.d_emb = width = inputs_shape[-1]
        for cells in self.cells:
            for cell in cells:
                if not cell.built:
                    cell.build((None, width))
            width = self.d_h
        self.built = True

    def call(self, inputs, mask=None, training=False):
        """Encode a sequence.

        Args:
            inputs: (batch, T_enc, d_emb).
            mask: (batch, T_enc) bool, true for real steps; None = all are real.
            training: whether dropout works.

        Returns:
            A dict: ``memory`` (batch, T_enc, d_h) and ``states``, for each layer a list of the
            final states (batch, d_h): [h] for GRU, [h, c] for LSTM.
        """
        check_tensors(
            self.name,
            {
                "inputs": (inputs, ("batch", "T_enc", "d_emb")),
                "mask": (mask, ("batch", "T_enc")),
            },
            {"d_emb": (self.d_emb, f"the weights of {self.name}")},
            at_least_one=("T_enc",),
        )
        mask = tie_axes(self.name, ("mask", mask), ("inputs", inputs), ("batch", "T_enc"))
        memory, states = inputs, []
        for i, cells in enumerate(self.cells):
            if i > 0:
                memory = self.dropouts[i - 1](memory, training=training)
            outputs, finals = zip(
                *(self._run(cell, memory, mask, n == 1, training) for n, cell in enumerate(cells)),
                strict=True,
            )
            memory = _join(outputs)
            # [h, c] of both directions -> [h; h], [c; c]
            states.append([_join(parts) for parts in zip(*finals, strict=True)])
        return {"memory": memory, "states": states}

    def _run(self, cell, inputs, mask, reverse, training):
        step = cell_step(cell)
        weights = step.weights(inputs.shape[-1])
        width = keras.tree.flatten(cell.state_size)
        zeros = [ops.zeros((ops.shape(inputs)[0], w), dtype=self.compute_dtype) for w in width]

        def one_step(projected, states, weights=weights, _=None):
            return step(projected, None, states, weights, False)

        projected = step.project(inputs, weights)
        closes = mask is not None and step.closes
        if closes:
            projected = step.close(projected, mask)
        # else the loop has to choose between old and new states in each step
        chosen = None if closes else mask
        if training and step.late_weights:
            run = late_loop(one_step, projected, zeros, step, weights, mask=chosen, reverse=reverse)
        else:
            run = time_loop(one_step, projected, zeros, chosen, reverse)
        outputs, states = run
        if closes:
            outputs = ops.where(ops.expand_dims(mask, -1), outputs, 0)
        return outputs, states

    def get_config(self):
        return {
            **super().get_config(),
            "units": self.units,
            "cell": self.cell,
            "n_layers": self.n_layers,
            "bidirectional": self.bidirectional,
            "dropout": self.dropout,
            "seed": self.seed,
        }


def _join(parts):
    return parts[0] if len(parts) == 1 else ops.concatenate(parts, axis=-1)
