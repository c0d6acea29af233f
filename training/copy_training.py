"""Train a model of the zoo on the copy task by a recipe."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import keras

from attention_zoo.registry import create_model
from attention_zoo.training.copy_task import CopyTask
from attention_zoo.training.evaluation import LengthAccuracy, evaluate_by_length
from attention_zoo.training.losses import MaskedCrossEntropy
from attention_zoo.training.metrics import SequenceAccuracy, TokenAccuracy
from attention_zoo.training.recipe import Recipe, get_recipe
from attention_zoo.training.stage import Stage
from attention_zoo.training.training_run import TrainingResult, TrainingRun

if TYPE_CHECKING:
    import tensorflow as tf

    from attention_zoo.seq2seq import Seq2Seq


@dataclass(frozen=True)
class CopyTraining:
    """A model trained on the copy task, what it was trained on, and how well it copies.

    `accuracies` is empty, and the run not published, where Ctrl-C ended the training.
    """

    model: Seq2Seq
    task: CopyTask
    result: TrainingResult
    accuracies: dict[int, LengthAccuracy]
    directory: Path

    @property
    def is_published(self) -> bool:
        """Whether the directory holds the model, measured."""
        return self.result.is_complete


def train_copy(
    name: str,
    directory: str | Path,
    *,
    recipe: str | Recipe = "copy",
    seed: int = 0,
    overrides: Mapping[str, Any] | None = None,
    resume: bool = False,
    tensorboard: bool = False,
    command: str | None = None,
    resume_hint: str | None = None,
    verbose: int = 1,
) -> CopyTraining:
    """Train model `name` by a recipe, measure it by length, and publish it in `directory`.

    Args:
        name: a registered model, as for `create_model`.
        directory: of the run; ends with `model.keras` and `training.json`.
        recipe: a name in `RECIPES`, or a recipe.
        seed: of the weights and of the order of the data.
        overrides: options of `create_model` that replace the recipe's.
        resume: go on from the last checkpoint in `directory`.
        tensorboard, verbose, resume_hint: as in `TrainingRun`.
        command: how this was started, for the record.

    Raises:
        ValueError: an unknown model, recipe or option.
        FileExistsError, CheckpointError: as `TrainingRun.train`.
    """
    recipe = get_recipe(recipe) if isinstance(recipe, str) else recipe
    task = CopyTask(recipe.n_symbols)
    model = _build(name, recipe, task, seed, overrides or {})

    def batches(stage: Stage, start: int, stop: int) -> tf.data.Dataset:
        size, longest = recipe.batch_size, stage.max_length
        return task.dataset(size, 1, longest, seed, stop, bands=stage.bands, start=start)

    run = TrainingRun(
        model,
        recipe.stages,
        batches,
        directory,
        steps_per_round=recipe.steps_per_round,
        identity={
            **recipe.identity(),
            "model": {**recipe.model, **(overrides or {})},
            "name": name,
            "seed": seed,
        },
        tensorboard=tensorboard,
        verbose=verbose,
        resume_hint=resume_hint,
    )
    result = run.train(resume)
    if not result.is_complete:
        return CopyTraining(model, task, result, {}, run.directory)
    accuracies = evaluate_by_length(model, task, recipe.lengths, recipe.n_evaluation)
    run.publish(result, free_running_metrics(accuracies, recipe), task.describe(), seed, command)
    return CopyTraining(model, task, result, accuracies, run.directory)


def _build(
    name: str, recipe: Recipe, task: CopyTask, seed: int, overrides: Mapping[str, Any]
) -> Seq2Seq:
    """The compiled model with the weights that `seed` gives it."""
    keras.utils.set_random_seed(seed)
    vocab = {"vocab_source": task.vocab_size, "vocab_target": task.vocab_size}
    for option in sorted({*vocab} & {*overrides}):
        raise ValueError(
            f"train_copy: {option} is set by the task, {task.vocab_size} for the copies of this "
            f"recipe, got the override {overrides[option]!r}. Fix: leave {option} out."
        )
    model = create_model(name, **vocab, **{**recipe.model, **overrides})
    compile_for(model, recipe)
    return model


def compile_for(model: keras.Model, recipe: Recipe) -> None:
    """Compile with Adam, clipped gradients and the loss and metrics that ignore padding."""
    model.compile(
        optimizer=keras.optimizers.Adam(
            recipe.stages[0].learning_rate, global_clipnorm=recipe.clip_norm
        ),
        loss=MaskedCrossEntropy(),
        metrics=[TokenAccuracy(), SequenceAccuracy()],
        jit_compile=recipe.jit_compile,
    )


def free_running_metrics(
    accuracies: Mapping[int, LengthAccuracy], recipe: Recipe
) -> dict[str, Any]:
    """The accuracies in the form of a manifest, with what was measured."""
    return {
        "signature": f"greedy, free-running, {recipe.n_evaluation} fresh sequences a length; "
        "token: symbols right at their position, eos not counted; sequence: all symbols and eos",
        "chance": 1.0 / recipe.n_symbols,
        "by_length": {str(length): asdict(entry) for length, entry in accuracies.items()},
    }
