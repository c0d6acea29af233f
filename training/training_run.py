"""A training run: stages, checkpoints, log, resume."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import keras

from attention_zoo.training.checkpoint import (
    CheckpointError,
    RunState,
    load_checkpoint,
    read_state,
)
from attention_zoo.training.checkpoint_pair import CheckpointPair
from attention_zoo.training.round_keeper import LOSS, RoundKeeper
from attention_zoo.training.run_log import RunLog
from attention_zoo.training.stage import Stage
from attention_zoo.training.weight_average import WeightAverage
from attention_zoo.written_beside import LEFT_BY_A_KILL, written_beside

if TYPE_CHECKING:
    import tensorflow as tf

# (stage, number of the first batch, number after the last batch) -> batches for model.fit
Batches = Callable[[Stage, int, int], "tf.data.Dataset"]

RECORD_FILE = "training.json"
MODEL_FILE = "model.keras"


@dataclass(frozen=True)
class TrainingResult:
    """How a run ended: optimiser steps made, seconds trained, monitored value of the best round."""

    step: int
    seconds: float
    best_value: float
    best_step: int
    is_complete: bool


class TrainingRun:
    """Trains a compiled model through stages with `model.fit`, in a directory of its own.

    The directory holds `last.keras` and `best.keras` (model, optimizer, position), `log.csv`, and
    after `publish` `model.keras` and `training.json`. `best` is the best round of the latest stage
    reached, by its loss or by the score that `monitor` names. Where the optimizer averages the
    weights (`use_ema`), the average is what is validated, measured and given back. Batches are
    numbered over the whole run, and a resumed run asks for them from the number it stopped at: it
    ends with the weights that an unbroken one has.

    Args:
        model: a compiled model; its optimizer's learning rate is set by the stages.
        stages: the curriculum, in order.
        batches: gives the batches of a stage; batch i must depend on i alone.
        directory: made if it is missing.
        steps_per_round: steps between two looks at loss, log and checkpoints; divides the steps
            of every stage.
        identity: whatever decides what is trained (model options, seed); a resume with another
            is refused. The stages are always part of it.
        validation: batches to measure after each round; its loss then decides what is best.
        measure: gives more numbers for the log after each round, such as the BLEU of a model that
            runs freely.
        monitor: "loss", or one of those numbers, the larger the better.
        callbacks: for `fit`, before those of the run.
        tensorboard: write `directory/tensorboard` too.
        resume_hint: told after Ctrl-C; how the user goes on.
        verbose: as in `fit`: 1 for a progress bar a round, 2 for a line, 0 for silence.

    Raises:
        ValueError: no stages, steps that rounds do not divide, a model that is not compiled.
        ImportError: `tensorboard` without the package.
    """

    def __init__(
        self,
        model: keras.Model,
        stages: Sequence[Stage],
        batches: Batches,
        directory: str | Path,
        *,
        steps_per_round: int = 25,
        identity: Mapping[str, Any] | None = None,
        validation: Any = None,
        measure: Callable[[], Mapping[str, float]] | None = None,
        monitor: str = LOSS,
        callbacks: Sequence[keras.callbacks.Callback] = (),
        tensorboard: bool = False,
        resume_hint: str | None = None,
        verbose: int = 1,
    ) -> None:
        _check_arguments(model, stages, steps_per_round)
        if tensorboard and importlib.util.find_spec("tensorboard") is None:
            raise ImportError(
                "TrainingRun: tensorboard=True needs the package tensorboard, which is not "
                'installed. Fix: pip install "attention-zoo[tensorboard]".'
            )
        self.model = model
        self.stages = tuple(stages)
        self.batches = batches
        self.directory = Path(directory)
        self.checkpoints = CheckpointPair(self.directory)
        self.steps_per_round = steps_per_round
        self.identity = _as_json({**(identity or {}), "stages": [s.to_dict() for s in stages]})
        self.validation = validation
        self.measure = measure
        self.monitor = monitor
        self.callbacks = tuple(callbacks)
        self.tensorboard = tensorboard
        self.resume_hint = resume_hint or "call train(resume=True) on a run of the same arguments"
        self.verbose = verbose

    def train(self, resume: bool = False) -> TrainingResult:
        """Train to the end of the last stage, then load the best weights into the model.

        Ctrl-C ends it early, without an exception: the best weights so far are loaded,
        `is_complete` is false, and what to do to go on is printed.

        Raises:
            FileExistsError: the directory holds a run and `resume` is false.
            CheckpointError: `resume` without a checkpoint, or with one of another run.
            FloatingPointError: the loss became infinite or NaN.
        """
        average = WeightAverage(self.model)
        keeper = RoundKeeper(
            self.stages,
            self._start(resume),
            self.steps_per_round,
            self.directory,
            measure=self._measure_with(average),
            monitor=self.monitor,
            verbose=self.verbose,
        )
        try:
            while keeper.state.stage < len(self.stages):
                self._fit_stage(keeper, average)
        except KeyboardInterrupt:
            # It may have come in the middle of a save: what counts is what the disk holds.
            saved = self.checkpoints.exists()
            keeper.state = self.checkpoints.settle() if saved else RunState(identity=self.identity)
            self._tell_how_to_go_on(keeper.state)
        return self._result(keeper.state)

    def best(self) -> TrainingResult:
        """The best weights so far, loaded into the model, without training on.

        Raises:
            CheckpointError: there is no checkpoint, or it is one of another run.
        """
        return self._result(self._start(resume=True))

    def _result(self, state: RunState) -> TrainingResult:
        if self.checkpoints.exists():
            load_checkpoint(self.checkpoints.best, self.model)
            if self.model.optimizer.use_ema:
                self.model.optimizer.finalize_variable_values(self.model.trainable_variables)
        return TrainingResult(
            state.step,
            state.seconds,
            self._value(state),
            state.best_step,
            is_complete=state.stage == len(self.stages),
        )

    def publish(
        self,
        result: TrainingResult,
        metrics: Mapping[str, Any],
        task: Mapping[str, Any],
        seed: int,
        command: str | None = None,
        model: keras.Model | None = None,
    ) -> Path:
        """Write `model.keras` and `training.json`, what an export puts in the manifest.

        `task` says what was learned: task, data, licence. `model` is another to write than the one
        that was trained, such as the same in float32. Returns the path of the model.
        """
        record = {
            **task,
            "metrics": dict(metrics),
            "seed": seed,
            "command": command,
            "steps": result.step,
            "is_complete": result.is_complete,
            "seconds": round(result.seconds, 1),
            f"best_{self.monitor}": result.best_value,
            "best_step": result.best_step,
            "versions": {name: version(name) for name in ("attention-zoo", "tensorflow", "keras")},
            "run": self.identity,
        }
        path = self.directory / MODEL_FILE
        with written_beside(path) as beside:
            (model or self.model).save(beside)
        with written_beside(self.directory / RECORD_FILE) as beside:
            beside.write_text(json.dumps(record, indent=2) + "\n")
        return path

    def _start(self, resume: bool) -> RunState:
        """The state to begin with, and the model in that state."""
        pair = self.checkpoints
        if not resume:
            pair.refuse_used()
        state = RunState(identity=self.identity)
        if resume:
            for path in filter(Path.exists, (pair.best, pair.last)):
                _check_identity(path, read_state(path).identity, self.identity)
            pair.settle()
            state = load_checkpoint(pair.last, self.model)
        self.directory.mkdir(parents=True, exist_ok=True)
        for left in self.directory.glob(LEFT_BY_A_KILL):
            left.unlink()
        # A kill in the first round leaves a log without a checkpoint: rows of no run.
        RunLog(self.directory / "log.csv").cut_after(state.step)
        return state

    def _measure_with(self, average: WeightAverage) -> Callable[[], Mapping[str, float]] | None:
        measure = self.measure
        if measure is None:
            return None

        def measured() -> Mapping[str, float]:
            with average:
                return measure()

        return measured

    def _value(self, state: RunState) -> float:
        """The monitored value of the best round."""
        return state.best_cost if self.monitor == LOSS else -state.best_cost

    def _fit_stage(self, keeper: RoundKeeper, average: WeightAverage) -> None:
        state, stage = keeper.state, keeper.stage
        if self.verbose:
            print(
                f"Stage {state.stage + 1} of {len(self.stages)}: lengths to {stage.max_length}, "
                f"at most {stage.steps} steps",
                flush=True,
            )
        callbacks: list[keras.callbacks.Callback] = [*self.callbacks, average, keeper]
        if self.tensorboard:
            folder = str(self.directory / "tensorboard" / f"stage_{state.stage + 1}")
            callbacks.append(keras.callbacks.TensorBoard(folder, write_graph=False))
        remaining = stage.steps - state.stage_step
        self.model.fit(
            self.batches(stage, state.step, state.step + remaining),
            initial_epoch=state.stage_step // self.steps_per_round,
            epochs=stage.steps // self.steps_per_round,
            steps_per_epoch=self.steps_per_round,
            validation_data=self.validation,
            shuffle=False,  # the batches come in the order that a resume relies on
            callbacks=callbacks,
            verbose=self.verbose,
        )

    def _tell_how_to_go_on(self, state: RunState) -> None:
        told = "nothing was saved yet: start the run again, without resume."
        if self.checkpoints.exists():
            best = f"{self.monitor} {self._value(state):.4g} at step {state.best_step}"
            told = (
                f"best so far: {best}, kept in {self.checkpoints.best}. "
                f"To go on: {self.resume_hint}"
            )
        print(f"\nStopped after step {state.step}; {told}", flush=True)


def _check_arguments(model: keras.Model, stages: Sequence[Stage], steps_per_round: int) -> None:
    if not stages:
        raise ValueError("TrainingRun: stages must hold at least one Stage, got none.")
    for number, stage in enumerate(stages, start=1):
        if stage.steps % steps_per_round:
            raise ValueError(
                f"TrainingRun: the steps of stage {number}, {stage.steps}, must be a multiple of "
                f"steps_per_round, {steps_per_round}. Fix: "
                f"{stage.steps + -stage.steps % steps_per_round} steps."
            )
    if not getattr(model, "compiled", False):
        raise ValueError(
            "TrainingRun: the model must be compiled, got one that is not. "
            "Fix: model.compile(optimizer, loss=MaskedCrossEntropy()) first."
        )


def _as_json(value: dict[str, Any]) -> dict[str, Any]:
    """`value` as it comes back from a file, so that it can be compared with one that did."""
    return json.loads(json.dumps(value))


def _check_identity(path: Path, saved: dict[str, Any], wanted: dict[str, Any]) -> None:
    started, asked = _flat(saved), _flat(wanted)
    differ = [
        f"{name} = {started.get(name)!r}, resumed with {asked.get(name)!r}"
        # what the run trains first, then how
        for name in sorted({*started, *asked}, key=lambda name: (name.count("."), name))
        if started.get(name) != asked.get(name)
    ]
    if differ:
        raise CheckpointError(
            f"{path}: the run was started with {'; '.join(differ[:5])}"
            f"{f'; and {len(differ) - 5} more' if len(differ) > 5 else ''}. "
            "Fix: resume with the same options, or start a new run."
        )


def _flat(value: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested mappings as one, with names such as recipe.epochs."""
    flat: dict[str, Any] = {}
    for name, inner in value.items():
        if isinstance(inner, Mapping):
            flat |= _flat(inner, f"{prefix}{name}.")
        else:
            flat[f"{prefix}{name}"] = inner
    return flat
