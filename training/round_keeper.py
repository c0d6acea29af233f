"""The Keras callback that turns the epochs of `fit` into the rounds of a run."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import keras

from attention_zoo.training.checkpoint import RunState
from attention_zoo.training.checkpoint_pair import CheckpointPair
from attention_zoo.training.run_log import RunLog
from attention_zoo.training.stage import Stage

LOSS = "loss"
"""The monitor whose smallest value is the best; of every other the largest is."""


class RoundKeeper(keras.callbacks.Callback):
    """Sets the learning rate of each step; after each round logs, saves and may end the stage.

    A round is an epoch of `fit`, some steps after which the run looks at itself. The monitored
    loss is `val_loss` where `fit` has validation data, else `loss`: where every batch is freshly
    drawn, the mean loss of a round is itself a measurement on unseen data. Another monitor is a
    score that `measure` gives, of which more is better.
    """

    def __init__(
        self,
        stages: Sequence[Stage],
        state: RunState,
        steps_per_round: int,
        directory: Path,
        *,
        measure: Callable[[], Mapping[str, float]] | None = None,
        monitor: str = LOSS,
        verbose: int = 0,
    ) -> None:
        super().__init__()
        self.stages = stages
        self.state = state
        self.steps_per_round = steps_per_round
        self.measure = measure
        self.monitor = monitor
        self.verbose = verbose
        self.log = RunLog(directory / "log.csv")
        self.checkpoints = CheckpointPair(directory)
        self._began = 0.0
        self._trained = 0.0

    @property
    def stage(self) -> Stage:
        """The stage under way."""
        return self.stages[self.state.stage]

    def on_epoch_begin(self, epoch: int, logs: dict[str, float] | None = None) -> None:
        self._began = self._trained = time.monotonic()

    def on_train_batch_end(self, batch: int, logs: dict[str, float] | None = None) -> None:
        self._trained = time.monotonic()

    def on_train_batch_begin(self, batch: int, logs: dict[str, float] | None = None) -> None:
        self.model.optimizer.learning_rate = self.stage.rate_at(self.state.stage_step + batch)

    def on_epoch_end(self, epoch: int, logs: dict[str, float] | None = None) -> None:
        logs = dict(logs or {})
        prefix = "val_" if "val_loss" in logs else ""
        loss = logs[f"{prefix}loss"]
        if not math.isfinite(loss):
            raise FloatingPointError(
                f"the loss became {loss} before step {self.state.step + self.steps_per_round}. "
                f"{self.checkpoints.best.name} and {self.checkpoints.last.name} are from before. "
                "Fix: a lower learning rate, or a smaller clip norm."
            )
        if "tokens" in logs:
            passed = max(self._trained - self._began, 1e-9)  # without validation
            logs["tokens_per_second"] = logs["tokens"] / passed
        if self.measure is not None:
            logs |= self.measure()
        cost = loss if self.monitor == LOSS else -logs[self.monitor]
        stage_number = self.state.stage
        stage = self.stage
        rate = stage.rate_at(self.state.stage_step + self.steps_per_round - 1)
        is_best = self._advance(cost)
        row: dict[str, Any] = {"step": self.state.step, "stage": stage_number + 1}
        row |= {"max_length": stage.max_length, "learning_rate": rate}
        row |= {"seconds": round(self.state.seconds, 1), **logs}
        # Before the checkpoint: a resume drops a row too many, but could not add a missing one.
        self.log.add(row)
        if self.verbose and "tokens_per_second" in logs:
            print(self._told(logs, is_best), flush=True)
        if self._is_stage_over(stage, loss, logs.get(f"{prefix}token_accuracy")):
            self.state.stage += 1
            self.state.stage_step = 0
            self.state.stale_rounds = 0
            self.model.stop_training = True
        self.checkpoints.save(self.model, self.state, is_best)

    def _advance(self, cost: float) -> bool:
        """Count the round; whether it is the best so far."""
        state = self.state
        state.step += self.steps_per_round
        state.stage_step += self.steps_per_round
        state.seconds += time.monotonic() - self._began
        is_best = state.best_stage < state.stage or cost < state.best_cost
        if is_best:
            state.best_stage, state.best_step, state.best_cost = state.stage, state.step, cost
        state.stale_rounds = 0 if is_best else state.stale_rounds + 1
        return is_best

    def _told(self, logs: Mapping[str, float], is_best: bool) -> str:
        """One line on the round: what it measured, how fast it was, how long the run may take."""
        state = self.state
        total = state.step + self.stage.steps - state.stage_step
        total += sum(stage.steps for stage in self.stages[state.stage + 1 :])
        minutes = state.seconds / state.step * (total - state.step) / 60
        shown = ("loss", "val_loss", "val_perplexity", "val_token_accuracy", self.monitor)
        values = {name: f"{name} {logs[name]:.4g}" for name in shown if name in logs}
        return (
            f"step {state.step} of {total}: {', '.join(values.values())}"
            f"{' (best)' if is_best else ''}; {logs['tokens_per_second']:,.0f} tokens a second, "
            f"at most {minutes:.0f} min left"
        )

    def _is_stage_over(self, stage: Stage, loss: float, accuracy: float | None) -> bool:
        if self.state.stage_step >= stage.steps:
            return True
        if stage.patience is not None and self.state.stale_rounds >= stage.patience:
            return True
        return stage.reached(loss, accuracy)
