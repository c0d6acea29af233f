"""One step of a Keras RNN cell, split into what can be done for all steps at once and what cannot.

The input of a decoder's cell is [y_{t-1}; x_t]: the embedding, known for all steps in training, and
an extra part x_t (context or attentional state) that the loop itself makes. ``kernel`` applied to
the first part, with the input bias, leaves the loop; the rest of the step stays.
"""

import keras
from keras import ops

# sigmoid of it is 1 exactly, in every float type, and still with the product of a state added:
# states lie within 1, so that a unit's recurrent weights would have to sum to some 9,900 to tell
_OPEN = 1e4


def cell_step(cell):
    """The step of ``cell``: split where its formula is known, whole otherwise."""
    kind = _SPLIT.get(type(cell))
    dropout = getattr(cell, "dropout", 0) or getattr(cell, "recurrent_dropout", 0)
    if kind is None or dropout or not getattr(cell, "reset_after", True):
        return WholeStep(cell)
    return kind(cell)


class WholeStep:
    """Any cell, as it is: nothing leaves the loop."""

    late_weights = ()
    closes = False

    def __init__(self, cell):
        self.cell = cell

    def project(self, inputs, weights=None):
        """(..., d_in) -> (..., width): what of the step depends on the input alone."""
        return inputs

    def weights(self, d_in):
        """Tensors that the loop reads in each step, made once before it."""
        return {}

    def __call__(self, projected, extra, states, weights, training):
        """(projected (batch, width), extra (batch, d) or None, flat states) -> output, states."""
        inputs = projected if extra is None else ops.concatenate([projected, extra], axis=-1)
        nested = keras.tree.pack_sequence_as(self.cell.state_size, list(states))
        if not keras.tree.is_nested(nested):
            nested = [nested]
        output, nested = self.cell(inputs, nested, training=training)
        return output, keras.tree.flatten(nested)


class _SplitStep:
    """Base of the cells with one kernel: x = [y; extra] kernel + bias.

    In a loop whose gradients are taken late (see `late_gradient`), ``weights["used"]`` is a dict
    in which a step keeps what it multiplies with `late_weights`.
    """

    late_weights = ("recurrent", "extra")
    closes = False
    """Whether some input leaves the states as they are: see `GRUStep.close`."""

    def __init__(self, cell):
        self.cell = cell

    def project(self, inputs, weights=None):
        weights = weights or self.weights(inputs.shape[-1])
        projected = ops.matmul(inputs, weights["input"])
        return projected + weights["input_bias"] if self.cell.use_bias else projected

    def weights(self, d_in):
        of_input, of_extra = ops.split(self._cast(self.cell.kernel), [d_in], axis=0)
        weights = {
            "input": of_input,
            "extra": of_extra,
            "recurrent": self._cast(self.cell.recurrent_kernel),
        }
        if self.cell.use_bias:
            weights["input_bias"] = self._input_bias()
        return weights

    def __call__(self, projected, extra, states, weights, training):
        used = weights.get("used", {})
        used["h"] = states[0]
        if extra is not None:
            used["extra"] = extra
            projected = projected + ops.matmul(extra, weights["extra"])
        return self._advance(projected, states, weights)

    def late_gradients(self, used, d_projected):
        """name -> gradient, of what all steps used and d projected, (batch, T, ...) both.

        ``extra`` and, but in the GRU, ``h recurrent`` are added to `projected`, whose gradient is
        then theirs.
        """
        gradients = {"recurrent": summed_product(used["h"], self._d_inner(used, d_projected))}
        if "extra" in used:
            gradients["extra"] = summed_product(used["extra"], d_projected)
        return gradients

    def _d_inner(self, used, d_projected):
        """Gradient of ``h recurrent``, (batch, T, width)."""
        return d_projected

    def _advance(self, projected, states, weights):
        raise NotImplementedError  # by the subclass of each kind of cell

    def _input_bias(self):
        return self._cast(self.cell.bias)

    def _cast(self, weight):
        return ops.cast(weight, self.cell.compute_dtype)


class GRUStep(_SplitStep):
    """GRU with ``reset_after`` (the form of cuDNN and ONNX): two biases, (2, 3 units)."""

    def __init__(self, cell):
        super().__init__(cell)
        self.closes = cell.recurrent_activation is keras.activations.sigmoid

    def _input_bias(self):
        return self._cast(self.cell.bias)[0]

    def weights(self, d_in):
        weights = super().weights(d_in)
        if self.cell.use_bias:
            weights["recurrent_bias"] = self._cast(self.cell.bias)[1]
        return weights

    def close(self, projected, mask):
        """Projected inputs (batch, T, width) with which steps that are padding leave h as it is.

        With z = 1 exactly, h' = z h + (1 - z) candidate is h: a loop over them needs no mask.
        """
        z, others = ops.ones((self.cell.units,)), ops.zeros((2 * self.cell.units,))
        closed = ops.cast(ops.concatenate([_OPEN * z, others]), projected.dtype)
        return ops.where(ops.expand_dims(mask, -1), projected, closed)

    def _advance(self, projected, states, weights):
        (h,) = states
        inner = ops.matmul(h, weights["recurrent"])  # (batch, 3 units)
        if self.cell.use_bias:
            inner = inner + weights["recurrent_bias"]
        x_z, x_r, x_h = ops.split(projected, 3, axis=-1)
        h_z, h_r, h_h = ops.split(inner, 3, axis=-1)
        z = self.cell.recurrent_activation(x_z + h_z)
        r = self.cell.recurrent_activation(x_r + h_r)
        weights.get("used", {})["r"] = r
        candidate = self.cell.activation(x_h + r * h_h)
        h = z * h + (1 - z) * candidate
        return h, [h]

    def _d_inner(self, used, d_projected):
        # the candidate reads r * (h recurrent)
        d_z, d_r, d_h = ops.split(d_projected, 3, axis=-1)
        return ops.concatenate([d_z, d_r, used["r"] * d_h], axis=-1)


class LSTMStep(_SplitStep):
    """LSTM, gates in Keras' order i, f, c, o."""

    def _advance(self, projected, states, weights):
        h, c = states
        gates = projected + ops.matmul(h, weights["recurrent"])  # (batch, 4 units)
        i, f, g, o = ops.split(gates, 4, axis=-1)
        sigmoid, tanh = self.cell.recurrent_activation, self.cell.activation
        c = sigmoid(f) * c + sigmoid(i) * tanh(g)
        h = sigmoid(o) * tanh(c)
        return h, [h, c]


class SimpleRNNStep(_SplitStep):
    """Elman's cell."""

    def _advance(self, projected, states, weights):
        h = self.cell.activation(projected + ops.matmul(states[0], weights["recurrent"]))
        return h, [h]


def summed_product(x, dy):
    """Sum over batch and steps of x^T dy: (batch, T, n), (batch, T, m) -> (n, m)."""
    return ops.tensordot(x, dy, axes=([0, 1], [0, 1]))


_SPLIT = {
    keras.layers.GRUCell: GRUStep,
    keras.layers.LSTMCell: LSTMStep,
    keras.layers.SimpleRNNCell: SimpleRNNStep,
}
