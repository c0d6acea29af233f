"""Accuracy and perplexity over the real tokens of a padded batch.

All three take `y_true` token ids (batch, T_dec), `y_pred` logits (batch, T_dec, vocab_target) and
an optional `sample_weight` (batch,) or (batch, T_dec); a position of weight 0 is as padding.
They keep two sums over the epoch and divide at the end, so that batches of different length
weigh as many tokens (or sequences) as they hold.
"""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from attention_zoo.training.losses import (
    check_target_and_logits,
    token_cross_entropy,
    token_weights,
)


class _MaskedRatio(keras.metrics.Metric):
    """Weighted sum divided by the sum of weights, both over the epoch; 0 / 0 gives 0."""

    def __init__(self, name: str) -> None:
        # float32 whatever Keras is set to: a half-precision sum stops growing at 2048 ones.
        # The variables do not follow the metric's own dtype, so they are told.
        super().__init__(name=name, dtype="float32")
        self.total = self.add_variable((), "zeros", dtype="float32", name="total")
        self.weight = self.add_variable((), "zeros", dtype="float32", name="weight")

    def terms(self, target: Any, logits: Any, weights: Any) -> tuple[Any, Any]:
        """(values, weights) of equal shape to add to the two sums."""
        raise NotImplementedError

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        target = ops.convert_to_tensor(y_true)
        logits = ops.convert_to_tensor(y_pred)
        check_target_and_logits(self.name, target, logits)
        weights = token_weights(self.name, target, sample_weight)  # (batch, T_dec)
        values, weights = self.terms(target, logits, weights)
        self.total.assign_add(ops.sum(values * weights))
        self.weight.assign_add(ops.sum(weights))

    def result(self) -> Any:
        return ops.divide_no_nan(ops.convert_to_tensor(self.total), self.weight)

    def get_config(self) -> dict[str, Any]:
        return {"name": self.name}


def token_hits(target: Any, logits: Any) -> Any:
    """True where the largest logit is that of the target, bool (batch, T_dec)."""
    return ops.equal(ops.argmax(logits, axis=-1), ops.cast(target, "int32"))


@keras.saving.register_keras_serializable(package="attention_zoo")
class TokenAccuracy(_MaskedRatio):
    """Share of target tokens (eos included, padding not) whose logit is the largest.

    The model reads the true previous tokens (teacher forcing); `accuracy_by_length` measures what
    it does when it reads its own.
    """

    def __init__(self, name: str = "token_accuracy") -> None:
        super().__init__(name)

    def terms(self, target: Any, logits: Any, weights: Any) -> tuple[Any, Any]:
        return ops.cast(token_hits(target, logits), "float32"), weights


@keras.saving.register_keras_serializable(package="attention_zoo")
class SequenceAccuracy(_MaskedRatio):
    """Share of sequences in which every target token (eos included) has the largest logit.

    A sequence weighs the mean weight of its real tokens; one of padding alone is not counted.
    """

    def __init__(self, name: str = "sequence_accuracy") -> None:
        super().__init__(name)

    def terms(self, target: Any, logits: Any, weights: Any) -> tuple[Any, Any]:
        hits = token_hits(target, logits)  # (batch, T_dec)
        whole = ops.all(ops.logical_or(hits, ops.equal(weights, 0.0)), axis=-1)  # (batch,)
        real = ops.sum(token_weights(self.name, target), axis=-1)  # (batch,)
        return ops.cast(whole, "float32"), ops.divide_no_nan(ops.sum(weights, axis=-1), real)


@keras.saving.register_keras_serializable(package="attention_zoo")
class Perplexity(_MaskedRatio):
    """exp(sum of nll / number of tokens) over the epoch; 1 before the first token.

    Not the mean of the perplexities of batches, which depends on how the data was batched.
    """

    def __init__(self, name: str = "perplexity") -> None:
        super().__init__(name)

    def terms(self, target: Any, logits: Any, weights: Any) -> tuple[Any, Any]:
        return token_cross_entropy(target, logits), weights

    def result(self) -> Any:
        return ops.exp(super().result())


@keras.saving.register_keras_serializable(package="attention_zoo")
class TokenCount(_MaskedRatio):
    """Number of target tokens in the epoch, eos included and padding not: for tokens a second."""

    def __init__(self, name: str = "tokens") -> None:
        super().__init__(name)

    def terms(self, target: Any, logits: Any, weights: Any) -> tuple[Any, Any]:
        return ops.ones_like(weights), token_weights(self.name, target)

    def result(self) -> Any:
        return ops.add(self.total, 0.0)  # a copy: validation resets the variable
