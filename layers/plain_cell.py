"""The decoder step without attention."""

import keras

from attention_zoo.layers.decoder_cell import DecoderCell


@keras.saving.register_keras_serializable(package="attention_zoo")
class PlainCell(DecoderCell):
    """``s_t = RNN(s_{t-1}, y_{t-1})``: the baseline of Sutskever et al. (2014).

    All that it knows of the source is its initial state. Context and alignments are None.

    Args:
        cell: any Keras RNN cell.
    """

    def step(self, projected, states, prepared, weights=None, training=False):
        output, states = self.advance(projected, None, states, weights, training)
        return (output, None, None), states
