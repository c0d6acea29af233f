"""Gradients of what every step of a loop multiplies, taken once after the loop.

Differentiating a loop step by step costs, in every step, a product and a sum of the size of each
weight, and of the memory. Here the steps see these as constants; what they multiply is kept, and
the gradient of all steps is one product: ``dW = sum_t x_t^T dy_t``. Values are the same, gradients
up to rounding.
"""

from keras import ops

from attention_zoo.layers.time_loop import time_loop


def late_loop(step, projected, states, cell_step, weights, probe=None, mask=None, reverse=False):
    """`time_loop` with the gradients of the cell's weights taken after it.

    Args:
        step: (projected (batch, width), states, weights, probe (batch, d_h) or None)
            -> (output, states).
        projected: (batch, T, width), what `cell_step.project` gave.
        states: list of tensors (batch, ...).
        cell_step: the split step that each step goes through once.
        weights: dict of the tensors that the steps read.
        probe: (batch, T, d_h), see `MemoryProbe`, or None.
        mask: as in `time_loop`.
        reverse: as in `time_loop`.

    Returns:
        As `time_loop`.
    """
    names = [name for name in cell_step.late_weights if weights[name].shape[0]]
    kept: dict = {}  # name -> what the steps multiplied, (batch, T, ...); known after the loop

    def weight_gradients(d_projected):
        gradients = cell_step.late_gradients(kept, d_projected)
        return [gradients[name] for name in names]

    projected = _influenced(projected, [weights[name] for name in names], weight_gradients)
    frozen = {**weights, **{name: ops.stop_gradient(weights[name]) for name in names}}
    width = projected.shape[-1]
    if probe is not None:
        projected = ops.concatenate([projected, probe], axis=-1)

    def one_step(projected, states):
        zeros, used = None, dict[str, object]()
        if probe is not None:
            projected, zeros = ops.split(projected, [width], axis=-1)
        output, states = step(projected, states, {**frozen, "used": used}, zeros)
        return (output, {name: ops.stop_gradient(x) for name, x in used.items()}), states

    (outputs, used), states = time_loop(one_step, projected, states, mask, reverse)
    kept.update(used)
    return outputs, states


class MemoryProbe:
    """Zeros to add to the contexts, through which the memory gets its gradient after the loop.

    ``c_t = sum_i a_{t,i} h_i`` has ``dh_i = sum_t a_{t,i} dc_t``, and what is added to c_t has the
    gradient dc_t.

    Args:
        memory: (batch, T_enc, d_h).
        steps: T_dec.
    """

    def __init__(self, memory, steps):
        self.frozen = ops.stop_gradient(memory)
        zeros = ops.zeros((ops.shape(memory)[0], steps, memory.shape[-1]), memory.dtype)
        self.zeros = _influenced(zeros, [memory], self._gradients)
        self.alignments = None  # (batch, T_dec, T_enc), to be set after the loop

    def _gradients(self, d_contexts):
        return [ops.matmul(ops.swapaxes(self.alignments, 1, 2), d_contexts)]


def _influenced(tensor, sources, gradients_of):
    """``tensor`` as it is; its gradient g also gives the sources the gradients_of(g)."""

    @ops.custom_gradient
    def influenced(tensor, *sources):
        def gradient(*upstreams, upstream=None):
            upstream = upstreams[0] if upstream is None else upstream
            return (upstream, *gradients_of(upstream))

        return ops.stop_gradient(tensor), gradient

    return influenced(tensor, *sources)
