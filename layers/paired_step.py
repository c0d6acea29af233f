"""The steps of two cells with attention between them, as one step of a loop."""

from keras import ops

from attention_zoo.layers.cell_step import cell_step

FIRST, SECOND = "first_", "second_"


class PairedStep:
    """RNN_1 of the input, then RNN_2 of what was read: the split steps of two like cells.

    The projected input holds both shares side by side, (..., 2 width): the first cell's of its
    input, and the second's, which is its bias alone, since all that it reads is made in the loop.
    Weights, and what `late_gradient` keeps of them, are flat with the cell before their names.

    Args:
        first: a Keras cell.
        second: one of the same kind and width.
    """

    def __init__(self, first, second):
        self.first, self.second = cell_step(first), cell_step(second)
        self.is_split = bool(self.first.late_weights and self.second.late_weights)

    @property
    def late_weights(self):
        return _named(FIRST, self.first.late_weights) + _named(SECOND, self.second.late_weights)

    def weights(self, d_in):
        """As those of one step; the second cell has no input from outside the loop."""
        first, second = self.first.weights(d_in), self.second.weights(0)
        return {**_prefixed(FIRST, first), **_prefixed(SECOND, second)}

    def project(self, inputs, weights=None):
        """(..., d_in) -> (..., 2 width)."""
        weights = weights or self.weights(inputs.shape[-1])
        of_first = self.first.project(inputs, _of(FIRST, weights))
        of_second = ops.zeros_like(of_first)
        if self.second.cell.use_bias:
            of_second = of_second + _of(SECOND, weights)["input_bias"]
        return ops.concatenate([of_first, of_second], axis=-1)

    def before(self, projected, states, weights):
        """The first cell: its output, its states, and the second's share of `projected`."""
        of_first, of_second = ops.split(projected, 2, axis=-1)
        output, states = _run(self.first, FIRST, of_first, None, states, weights)
        return output, states, of_second

    def after(self, projected, context, states, weights):
        """The second cell, which reads the context: its output and states."""
        return _run(self.second, SECOND, projected, context, states, weights)

    def late_gradients(self, used, d_projected):
        """As that of one step."""
        d_first, d_second = ops.split(d_projected, 2, axis=-1)
        return {
            **_prefixed(FIRST, self.first.late_gradients(_of(FIRST, used), d_first)),
            **_prefixed(SECOND, self.second.late_gradients(_of(SECOND, used), d_second)),
        }


def _run(step, prefix, projected, extra, states, weights):
    used: dict[str, object] = {}
    output, states = step(projected, extra, states, {**_of(prefix, weights), "used": used}, False)
    weights.get("used", {}).update(_prefixed(prefix, used))
    return output, states


def _named(prefix, names):
    return tuple(prefix + name for name in names)


def _prefixed(prefix, tensors):
    return {prefix + name: tensor for name, tensor in tensors.items()}


def _of(prefix, tensors):
    """The entries of one cell, under their own names."""
    return {
        name.removeprefix(prefix): tensor
        for name, tensor in tensors.items()
        if name.startswith(prefix)
    }
