"""What the training benchmark times in TensorFlow: our step in three forms, and a Keras loop."""

from __future__ import annotations

import statistics
import time
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from contender_process import KERAS, OURS
from plain_keras import PlainKeras
from step_size import StepSize

from attention_zoo.registry import create_model
from attention_zoo.seq2seq import Seq2Seq
from attention_zoo.training.fused_adam import FusedAdam
from attention_zoo.training.losses import MaskedCrossEntropy
from attention_zoo.vocabulary import BOS, FIRST_SYMBOL

_WARM_UP = 3  # steps that are not counted, as many as the peer's


def our_model(size: StepSize, dtype: str = "float32") -> Seq2Seq:
    """The project's model of this size, with weights drawn from seed 0."""
    keras.utils.set_random_seed(0)
    plain = create_model(
        "bahdanau_gru",
        vocab_source=size.vocab,
        vocab_target=size.vocab,
        d_emb=size.width,
        units=size.width,
        bidirectional=True,
    )
    model = Seq2Seq(plain.config, dtype=dtype)
    model.set_weights(plain.get_weights())
    return model


def drawn_batch(size: StepSize, seed: int = 0) -> dict[str, np.ndarray]:
    """A batch of ids without padding."""
    generator = np.random.default_rng(seed)
    shape = (size.batch, size.length)
    return {
        side: generator.integers(FIRST_SYMBOL, size.vocab, shape, np.int32)
        for side in ("source", "target")
    }


def shifted(target: np.ndarray) -> np.ndarray:
    """What the decoder reads: bos, then the target but for its last token."""
    return np.concatenate([np.full_like(target[:, :1], BOS), target[:, :-1]], axis=1)


class KerasContender:
    """A compiled Keras model whose training step, the one that `fit` runs, is timed."""

    def __init__(self, name: str, model: keras.Model, batch: Any) -> None:
        self.name = name
        self._batches = iter(tf.data.Dataset.from_tensors(batch).repeat().prefetch(2))
        model.make_train_function()
        self._step = model.train_function
        began = time.perf_counter()
        self._once()
        self.first_step = time.perf_counter() - began
        """Seconds of the first step: tracing and compiling."""
        self.round(_WARM_UP)

    def round(self, steps: int) -> float:
        """Seconds a step, the median of some steps."""
        return statistics.median(self._once() for _ in range(steps))

    def _once(self) -> float:
        began = time.perf_counter()
        float(self._step(self._batches)["loss"])  # waits for the end of the step
        return time.perf_counter() - began


def our_contender(name: str, size: StepSize) -> KerasContender:
    """One of `OURS`."""
    dtype, jit_compile = OURS[name]
    model = our_model(size, dtype)
    model.compile(FusedAdam(), MaskedCrossEntropy(), jit_compile=jit_compile)
    return KerasContender(name, model, drawn_batch(size))


def keras_contender(size: StepSize) -> KerasContender:
    """The plain Keras loop."""
    keras.utils.set_random_seed(0)
    model = PlainKeras(size.vocab, size.width)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(), loss, jit_compile=False)
    batch = drawn_batch(size)
    inputs = (batch["source"], shifted(batch["target"]))
    return KerasContender(KERAS, model, (inputs, batch["target"]))
