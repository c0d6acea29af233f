"""One step of a Keras RNN cell, split into what can be done for all steps at once and what cannot.

The input of a decoder's cell is [y_{t-1}; x_t]: the embedding, known for all steps in training, and
an extra part x_t (context or attentional state) that the loop itself makes. ``kernel`` applied to
the first part, with the input bias, leaves the loop; the rest of the step stays.
"""

import keras
from keras import ops


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

    late_weights: tuple[str, ...] = ("recurrent", "extra")

    def __init__(self, cell):
        self.cell = cell

    def project(self, inputs, weights=None):
        weights = weights or self.weights(inputs.shape[-1])
        projected = ops.matmul(inputs, weights["input"])
        return projected + weights["input_bias"] if self.cell.use_bias else projected

    def weights(self, d_in):
        kernel = self._cast(self.cell.kernel)
        weights = {
            "input": kernel[:d_in],
            "extra": kernel[d_in:],
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
        d_inner = self._d_inner(used, d_projected)
        gradients = {"recurrent": _product(used["h"], d_inner)}
        if "recurrent_bias" in self.late_weights:
            gradients["recurrent_bias"] = _sum(d_inner)
        if "extra" in used:
            gradients["extra"] = _product(used["extra"], d_projected)
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
        if cell.use_bias:
            self.late_weights = (*self.late_weights, "recurrent_bias")

    def _input_bias(self):
        return self._cast(self.cell.bias)[0]

    def weights(self, d_in):
        weights = super().weights(d_in)
        if self.cell.use_bias:
            weights["recurrent_bias"] = self._cast(self.cell.bias)[1]
        return weights

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


def _sum(dy):
    """sum over batch and steps: (batch, T, n) -> (n,); in bfloat16 the small ones would be lost."""
    return ops.cast(ops.sum(ops.cast(dy, "float32"), axis=(0, 1)), dy.dtype)


def _product(x, dy):
    """sum over batch and steps of x^T dy: (batch, T, n), (batch, T, m) -> (n, m)."""
    return ops.tensordot(x, dy, axes=([0, 1], [0, 1]))


_SPLIT = {
    keras.layers.GRUCell: GRUStep,
    keras.layers.LSTMCell: LSTMStep,
    keras.layers.SimpleRNNCell: SimpleRNNStep,
}
