"""One stage of a curriculum over length."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Stage:
    """Some steps on sequences of some lengths, ended by success or by a limit.

    Attributes:
        bands: largest length of each band -> share of the sequences drawn from it. Keep a share
            for the short ones: what is not rehearsed is forgotten.
        steps: optimiser steps at most.
        until_loss: end when the monitored loss of a round is at most this.
        until_accuracy: end when the token accuracy of a round is at least this.
            With both given, both must hold; with neither, only the limits end the stage.
        learning_rate: at the beginning of the stage.
        warmup_steps: over which the rate rises from 0 to that of the formula.
        final_learning_rate: reached at the last step along a half cosine; None keeps the rate.
        patience: end after this many rounds without a better loss; None never does.

    Raises:
        ValueError: a field outside its range.
    """

    bands: Mapping[int, float]
    steps: int
    until_loss: float | None = None
    until_accuracy: float | None = None
    learning_rate: float = 1e-3
    warmup_steps: int = 0
    final_learning_rate: float | None = None
    patience: int | None = None

    def __post_init__(self) -> None:
        if not self.bands or min(self.bands) < 1 or min(self.bands.values()) <= 0:
            raise ValueError(
                "Stage: bands must map lengths of 1 or more to shares above 0, "
                f"got {dict(self.bands)}. Fix: {{5: 1, 10: 3}}."
            )
        if self.warmup_steps < 0:
            raise ValueError(f"Stage: warmup_steps must be 0 or more, got {self.warmup_steps!r}.")
        for name in ("steps", "learning_rate", "final_learning_rate", "patience"):
            value = getattr(self, name)
            if value is not None and value <= 0:
                raise ValueError(f"Stage: {name} must be above 0, got {value!r}.")

    @property
    def max_length(self) -> int:
        """The largest length of the stage."""
        return max(self.bands)

    def rate_at(self, step: int) -> float:
        """Learning rate at `step` of the stage, counted from 0.

        r(k) = min(1, (k + 1) / warmup) (r_end + (r_0 - r_end) (1 + cos(pi k / steps)) / 2).
        """
        warm = min(1.0, (step + 1) / self.warmup_steps) if self.warmup_steps else 1.0
        return warm * self._cooled(step)

    def _cooled(self, step: int) -> float:
        if self.final_learning_rate is None:
            return self.learning_rate
        share = min(step / self.steps, 1.0)
        fall = (1.0 + math.cos(math.pi * share)) / 2.0
        return self.final_learning_rate + (self.learning_rate - self.final_learning_rate) * fall

    def reached(self, loss: float, accuracy: float | None) -> bool:
        """Whether a round with this loss and token accuracy ends the stage.

        Raises:
            ValueError: the stage ends by accuracy and the model measures none.
        """
        if self.until_loss is None and self.until_accuracy is None:
            return False
        if self.until_loss is not None and loss > self.until_loss:
            return False
        if self.until_accuracy is None:
            return True
        if accuracy is None:
            raise ValueError(
                "Stage: until_accuracy needs the metric token_accuracy, which the model does not "
                "measure. Fix: model.compile(..., metrics=[TokenAccuracy()])."
            )
        return accuracy >= self.until_accuracy

    def to_dict(self) -> dict[str, Any]:
        """The fields, with band lengths as text so that JSON gives back what it was given."""
        fields = asdict(self)
        fields["bands"] = {str(length): share for length, share in self.bands.items()}
        return fields
