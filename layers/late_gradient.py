"""Gradients of what every step of a loop multiplies, taken once after the loop.

Differentiating a loop step by step costs, in every step, a product and a sum of the size of each
weight, and of the memory. Here the steps see these as constants; what they multiply is kept, and
the gradient of all steps is one product: ``dW = sum_t x_t^T dy_t``. Values are the same, gradients
up to rounding.
"""

from keras import ops

from attention_zoo.layers.cell_step import summed_product
from attention_zoo.layers.time_loop import time_loop


def late_loop(step, projected, states, cell_step, weights, probe=None, mask=None, reverse=False):
    """`time_loop` with the gradients of the cell's weights taken after it.

    Args:
        step: (projected (batch, width), states, weights, probe (batch, width) or None)
            -> (output, states).
        projected: (batch, T, width), what `cell_step.project` gave.
        states: list of tensors (batch, ...).
        cell_step: the split step that each step goes through once.
        weights: dict of the tensors that the steps read.
        probe: an `AttentionProbe`, or None.
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
        projected = ops.concatenate([projected, probe.zeros], axis=-1)

    def one_step(projected, states):
        zeros, used = None, dict[str, object]()
        if probe is not None:
            projected, zeros = ops.split(projected, [width], axis=-1)
        output, states = step(projected, states, {**frozen, "used": used}, zeros)
        return (output, {name: ops.stop_gradient(x) for name, x in used.items()}), states

    (outputs, used), states = time_loop(one_step, projected, states, mask, reverse)
    kept.update(used)
    if probe is not None:
        probe.kept = kept
    return outputs, states


class AttentionProbe:
    """Zeros that the steps add, through which memory and W_a get their gradients after the loop.

    ``c_t = sum_i a_{t,i} h_i`` has ``dh_i = sum_t a_{t,i} dc_t``, the projected query
    ``q_t = s W_a`` has ``dW_a = sum_t s^T dq_t``, and what is added to one has its gradient.

    Args:
        memory: (batch, T_enc, d_h).
        query_weight: W_a (d_s, d_attn), or None where the score has no such product.
        steps: T_dec.
    """

    def __init__(self, memory, query_weight, steps):
        sources = [memory] if query_weight is None else [memory, query_weight]
        self._frozen = [ops.stop_gradient(source) for source in sources]
        width = sum(source.shape[-1] for source in sources)
        zeros = ops.zeros((ops.shape(memory)[0], steps, width), memory.dtype)
        self.zeros = _influenced(zeros, sources, self._gradients)
        # (batch, T_dec, T_enc) and {"query": (batch, T_dec, d_s)}, to be set after the loop
        self.alignments, self.kept = None, {}

    def read(self, prepared, zeros, kept):
        """What a step reads in place of `prepared`; it puts its query into ``kept``."""
        parts = self._parts(zeros)
        read = {**prepared, "memory": self._frozen[0], "context_zeros": parts[0]}
        if len(parts) == 2:
            read |= {"query_weight": self._frozen[1], "query_zeros": parts[1], "kept": kept}
        return read

    def _gradients(self, d_zeros):
        d_context, *d_query = self._parts(d_zeros)
        gradients = [ops.matmul(ops.swapaxes(self.alignments, 1, 2), d_context)]
        return gradients + [summed_product(self.kept["query"], d) for d in d_query]

    def _parts(self, zeros):
        """(..., d_h), and (..., d_attn) if there is a W_a."""
        if len(self._frozen) == 1:
            return [zeros]
        return ops.split(zeros, [self._frozen[0].shape[-1]], axis=-1)


def _influenced(tensor, sources, gradients_of):
    """``tensor`` as it is; its gradient g also gives the sources the gradients_of(g)."""

    @ops.custom_gradient
    def influenced(tensor, *sources):
        def gradient(*upstreams, upstream=None):
            upstream = upstreams[0] if upstream is None else upstream
            return (upstream, *gradients_of(upstream))

        return ops.stop_gradient(tensor), gradient

    return influenced(tensor, *sources)
