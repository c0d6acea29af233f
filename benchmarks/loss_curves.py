"""The loss of our training step beside that of Keras' own Adam and cross entropy, step by step."""

from __future__ import annotations

from collections.abc import Iterator

import keras
import numpy as np
from contenders import our_model
from step_size import StepSize

from attention_zoo.training.fused_adam import FusedAdam
from attention_zoo.training.losses import MaskedCrossEntropy
from attention_zoo.vocabulary import FIRST_SYMBOL

REFERENCE = "Keras' Adam and cross entropy, float32"
CURVES = {
    REFERENCE: "float32",
    "ours, float32": "float32",
    "ours, mixed bfloat16": "mixed_bfloat16",
}
"""Name -> dtype policy; all begin with the same weights and see the same batches."""

LABEL_SMOOTHING = 0.1
_N_BATCHES = 8  # taken in turns, so that the loss falls
_N_SYMBOLS = 40


def loss_curves(size: StepSize, steps: int) -> dict[str, list[float]]:
    """The loss of each of some training steps on a task that can be learnt: copying.

    The reference computes the smoothed cross entropy from one-hot targets, with the gradient that
    autodiff makes of it, and Adam as Keras does.
    """
    return {name: _curve(name, size, steps) for name in CURVES}


def largest_difference(curves: dict[str, list[float]], name: str) -> float:
    """Between a curve and the reference."""
    return float(np.abs(np.subtract(curves[name], curves[REFERENCE])).max())


def _curve(name: str, size: StepSize, steps: int) -> list[float]:
    model = our_model(size, CURVES[name])
    if name == REFERENCE:
        loss = keras.losses.CategoricalCrossentropy(
            from_logits=True, label_smoothing=LABEL_SMOOTHING
        )
        model.compile(keras.optimizers.Adam(global_clipnorm=1.0), loss, jit_compile=False)
    else:
        optimizer = FusedAdam(global_clipnorm=1.0)
        model.compile(optimizer, MaskedCrossEntropy(LABEL_SMOOTHING), jit_compile=False)
    losses = []
    for symbols in _batches(size, steps):
        labels: np.ndarray | None = None
        if name == REFERENCE:
            labels = keras.utils.to_categorical(symbols, size.vocab)
        model.reset_metrics()
        losses.append(float(model.train_on_batch({"source": symbols, "target": symbols}, labels)))
    return losses


def _batches(size: StepSize, steps: int) -> Iterator[np.ndarray]:
    generator = np.random.default_rng(0)
    last = min(size.vocab, FIRST_SYMBOL + _N_SYMBOLS)
    shape = (_N_BATCHES, size.batch, size.length)
    drawn = generator.integers(FIRST_SYMBOL, last, shape, np.int32)
    return (drawn[step % _N_BATCHES] for step in range(steps))
