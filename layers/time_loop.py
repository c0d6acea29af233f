"""The loop over time that the encoder and the decoder share."""

import keras


class _Step:
    """A function (input, states) -> (output, states) in the form that keras.layers.RNN asks for."""

    state_size = ()

    def __init__(self, function):
        self.call = function

    def __call__(self, inputs, states):
        output, states = self.call(inputs, list(states))
        return output, list(states)


def time_loop(step, inputs, states, mask=None, reverse=False):
    """Run ``step`` over the time axis of ``inputs``.

    Keras' own RNN loop (``keras.layers.RNN.inner_loop``), the one loop reachable without leaving
    Keras that takes several outputs a step and that XLA can differentiate. ``keras.ops.scan``
    takes only outputs shaped as the carried states, and has no bound on its iterations.

    Args:
        step: (input (batch, ...), states) -> (output, states); the output may be nested.
        inputs: (batch, T, ...).
        states: list of tensors (batch, ...).
        mask: (batch, T) bool or None. Where false, the states stay as they were and the output
            is 0.
        reverse: run from the last step to the first; outputs keep the order of ``inputs``.

    Returns:
        The outputs (batch, T, ...), nested as those of ``step``; the last states.
    """
    rnn = keras.layers.RNN(
        _Step(step),
        return_sequences=True,
        go_backwards=reverse,
        zero_output_for_mask=True,
        dtype=inputs.dtype,
    )
    _, outputs, states = rnn.inner_loop(inputs, list(states), mask)
    if reverse:
        outputs = keras.tree.map_structure(lambda x: keras.ops.flip(x, axis=1), outputs)
    return outputs, list(states)
