"""The averaged weights of an optimizer in place of the trained ones, for a while or for good."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np


class WeightAverage(keras.callbacks.Callback):
    """Puts the average (``use_ema``) into the model while it is validated or measured.

    As a callback, around every validation of `fit`; as a context manager, around anything else.
    Unlike `keras.callbacks.SwapEMAWeights`, which swaps by sums and so rounds the weights at each
    validation, the trained weights come back bit by bit: a run with more validations ends with the
    same weights. Nothing happens where the optimizer keeps no average.
    """

    def __init__(self, model: keras.Model) -> None:
        super().__init__()
        self._of = model
        self._trained: list[np.ndarray] = []

    def on_test_begin(self, logs: Any = None) -> None:
        self.__enter__()

    def on_test_end(self, logs: Any = None) -> None:
        self.__exit__()

    def __enter__(self) -> WeightAverage:
        optimizer = self._of.optimizer
        if optimizer.use_ema and optimizer.built:
            weights = self._of.trainable_variables
            self._trained = [keras.ops.convert_to_numpy(weight).copy() for weight in weights]
            optimizer.finalize_variable_values(self._of.trainable_variables)
        return self

    def __exit__(self, *_: Any) -> None:
        for weight, trained in zip(self._of.trainable_variables, self._trained, strict=False):
            weight.assign(trained)
        self._trained = []
