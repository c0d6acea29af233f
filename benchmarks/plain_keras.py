"""The same model as a Keras user would write it, with the layers and the optimizer of Keras alone.

It stands here to be measured: attention by `keras.layers.AdditiveAttention`, whose scale is v_a,
with `Dense` layers for the projections that it lacks; a decoder loop in Python over a known number
of steps; `keras.optimizers.Adam`, Keras' cross entropy, graph mode without XLA.
"""

from __future__ import annotations

from typing import Any

import keras
from keras import ops


class PlainKeras(keras.Model):
    """Bidirectional GRU encoder, GRU decoder with additive attention, tanh readout.

    Called with (source, target_in), both (batch, T); gives logits (batch, T, vocab).
    """

    def __init__(self, vocab: int, width: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        layers = keras.layers
        self.source_embedding = layers.Embedding(vocab, width)
        self.target_embedding = layers.Embedding(vocab, width)
        self.encoder = layers.Bidirectional(
            layers.GRU(width, return_sequences=True, return_state=True)
        )
        self.bridge = layers.Dense(width, "tanh")
        self.key_projection = layers.Dense(width)
        self.query_projection = layers.Dense(width, use_bias=False)
        self.attention = layers.AdditiveAttention()
        self.cell = layers.GRUCell(width)
        self.readout = layers.Dense(width, "tanh")
        self.classifier = layers.Dense(vocab)

    def call(self, inputs: Any, training: bool = False) -> Any:
        source, target_in = inputs
        memory, _, backward = self.encoder(self.source_embedding(source), training=training)
        keys = self.key_projection(memory)
        embedded = self.target_embedding(target_in)
        state = self.bridge(backward)
        states, contexts = [], []
        for step in range(target_in.shape[1]):
            query = ops.expand_dims(self.query_projection(state), 1)
            context = ops.squeeze(self.attention([query, memory, keys]), 1)
            read = ops.concatenate([embedded[:, step], context], axis=-1)
            state, _ = self.cell(read, [state])
            states.append(state)
            contexts.append(context)
        features = [ops.stack(states, 1), ops.stack(contexts, 1), embedded]
        return self.classifier(self.readout(ops.concatenate(features, axis=-1)))
