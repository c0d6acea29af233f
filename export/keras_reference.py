"""What Keras answers: the side that every exported file is compared with."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from attention_zoo.beam import beam_decode
from attention_zoo.export.decode_functions import DecodeSettings
from attention_zoo.greedy import greedy_decode, never_written
from attention_zoo.vocabulary import BOS, EOS

Outputs = dict[str, np.ndarray]


def with_shifted_eos(model: Any, shift: float) -> Any:
    """A copy of a model whose bias of eos is shifted: far up it ends at once, far down never.

        logits_t = model's logits_t + shift at eos

    Weights seldom offer both kinds of sequences by themselves.
    """
    copy = type(model)(model.config, name=model.name)
    copy.set_weights(model.get_weights())
    bias = copy.output_layer.b
    bias.assign(bias.numpy() + np.float32(shift) * (np.arange(bias.shape[0]) == EOS))
    return copy


class KerasReference:
    """Greedy decoding, beam search and scores of given sequences, all as NumPy arrays."""

    def __init__(self, model: Any, settings: DecodeSettings):
        self.model = model
        self.settings = settings
        spec = [tf.TensorSpec((None, None), tf.int32)]
        self._greedy = tf.function(self._greedy_graph, input_signature=spec, autograph=False)
        self._beam = tf.function(self._beam_graph, input_signature=spec, autograph=False)

    def greedy(self, source: np.ndarray) -> Outputs:
        """tokens, lengths, scores and alignments of `source` (batch, T_enc)."""
        return _numpy(self._greedy(tf.constant(source)))

    def beam(self, source: np.ndarray) -> Outputs:
        """The same with a beam axis after batch, best first."""
        return _numpy(self._beam(tf.constant(source)))

    def forced(self, source: np.ndarray, tokens: np.ndarray) -> Outputs:
        """What the model thinks of one given sequence.

        Args:
            source: (1, T_enc).
            tokens: (T_dec,), ended by eos or as long as it may be.

        Returns:
            `log_probs` (T_dec,) of the tokens, `gaps` (T_dec,) to the likeliest token of each
            step, `alignments` (T_dec, T_enc); zeros after eos.
        """
        states, prepared = self.model.start(tf.constant(source))
        steps, width = len(tokens), source.shape[1]
        outputs = {
            "log_probs": np.zeros(steps, np.float32),
            "gaps": np.zeros(steps, np.float32),
            "alignments": np.zeros((steps, width), np.float32),
        }
        previous = BOS
        for step, token in enumerate(int(token) for token in tokens):
            logits, alignments, states = self.model.decode_step(
                tf.constant([previous]), states, prepared
            )
            log_probs = tf.nn.log_softmax(logits)[0] + never_written(logits.shape[-1])
            log_probs = log_probs.numpy()
            outputs["log_probs"][step] = log_probs[token]
            outputs["gaps"][step] = log_probs.max() - log_probs[token]
            outputs["alignments"][step] = np.asarray(alignments)[0]
            if token == EOS:
                break
            previous = token
        return outputs

    def _greedy_graph(self, source: tf.Tensor) -> dict[str, tf.Tensor]:
        return greedy_decode(self.model, source, self.settings.max_length)

    def _beam_graph(self, source: tf.Tensor) -> dict[str, tf.Tensor]:
        settings = self.settings
        return beam_decode(
            self.model,
            source,
            settings.max_length,
            settings.beam_width,
            settings.length_penalty,
            settings.beam_width,
        )


def length_norm(length: int, penalty: float) -> float:
    """What beam search divides a log-probability by: ((5 + length) / 6)^penalty."""
    return ((5.0 + length) / 6.0) ** penalty


def _numpy(outputs: dict[str, tf.Tensor]) -> Outputs:
    return {name: tensor.numpy() for name, tensor in outputs.items()}
