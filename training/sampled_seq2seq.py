"""A model that in training reads some of its own guesses in place of the right tokens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import keras
from keras import ops

from attention_zoo.seq2seq import Seq2Seq
from attention_zoo.vocabulary import PAD


@keras.saving.register_keras_serializable(package="attention_zoo")
class SampledSeq2Seq(Seq2Seq):
    """A `Seq2Seq` with scheduled sampling (Bengio et al. 2015) in training.

    Each token that the decoder reads is, with probability p, the model's likeliest one at that
    place instead of the target's; p rises in proportion to the optimizer's steps from 0 to
    ``share``. Differs from the paper in that the guesses come from one pass that reads the right
    tokens, without gradient, so that all steps stay one product (Mihaylova and Martins 2019,
    section 2): training takes about a forward pass longer. With a share of 0 it is `Seq2Seq`.

    Args:
        config: as for `Seq2Seq`.
        share: p at the end, in [0, 1].
        steps: optimizer steps until then.
    """

    def __init__(self, config: Any, share: float = 0.0, steps: int = 1, **kwargs: Any) -> None:
        super().__init__(config, **kwargs)
        self.share = share
        self.steps = steps
        if share:
            self.seed_generator = keras.random.SeedGenerator()

    def call(self, inputs: Mapping[str, Any], training: bool = False) -> Any:
        """As `Seq2Seq.call`."""
        if not (training and self.share):
            return super().call(inputs, training=training)
        target = ops.convert_to_tensor(inputs["target"])
        guesses = ops.argmax(super().call(inputs, training=True), axis=-1)  # (batch, T_dec)
        guesses = ops.stop_gradient(ops.cast(guesses, target.dtype))
        done = ops.cast(self.optimizer.iterations, "float32") / self.steps
        probability = self.share * ops.minimum(done, 1.0)
        drawn = keras.random.uniform(ops.shape(target), seed=self.seed_generator) < probability
        read = ops.where(ops.logical_and(drawn, target != PAD), guesses, target)
        return super().call({**inputs, "read": read}, training=True)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "share": self.share, "steps": self.steps}
