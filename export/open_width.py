"""Keeps XNNPACK away from a decode loop whose tensors grow with T_enc."""

from __future__ import annotations

from typing import Any

import tensorflow as tf


class OpenWidth:
    """A model whose alignments have a width (T_enc) that no delegate can plan ahead.

    LiteRT hands a loop body to XNNPACK if every size in it follows from the inputs. Such a body
    gave wrong tokens after T_enc had grown, in up to one of four interpreters (ai-edge-litert 2.3:
    greedy decoding at lengths 1, 2, 3, ... in a fresh interpreter; never without XNNPACK, never at
    the first length). A reshape to a size that is computed inside the body keeps the body with the
    built-in kernels; it changes no value, and costs no measurable time.
    """

    def __init__(self, model: Any):
        self._model = model

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def decode_step(
        self, tokens: Any, states: Any, prepared: dict[str, Any], weights: Any = None
    ) -> tuple[Any, Any, Any]:
        """The model's step; alignments (batch, T_enc) reshaped to the shape they have."""
        logits, alignments, states = self._model.decode_step(tokens, states, prepared, weights)
        width = tf.shape(prepared["mask"])[1]
        shape = tf.stack([tf.shape(tokens)[0], width])
        return logits, tf.reshape(alignments, shape), states
