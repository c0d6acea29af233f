"""Study: what attention does for long sequences.

A GRU encoder-decoder without attention has to press the whole source into one vector; with
attention it can look back at every position. Both are trained by the same recipe, and measured
free-running on fresh copy sequences of growing length.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from attention_zoo.training.checkpoint_pair import CheckpointPair
from attention_zoo.training.copy_training import train_copy
from attention_zoo.training.plots import Curve, plot_accuracy_by_length
from attention_zoo.training.recipe import Recipe, get_recipe
from attention_zoo.written_beside import written_beside

WITH_ATTENTION = "bahdanau_gru"
WITHOUT_ATTENTION = "seq2seq_gru"
LABELS = {
    WITH_ATTENTION: "with Bahdanau attention",
    WITHOUT_ATTENTION: "without attention",
}


@dataclass(frozen=True)
class StudyRow:
    """One model, one seed, one length: a line of the CSV file."""

    model: str
    seed: int
    length: int
    token_accuracy: float
    sequence_accuracy: float
    n: int
    steps: int
    train_seconds: float


@dataclass(frozen=True)
class StudyResult:
    """The rows of a study and the files that it wrote."""

    rows: tuple[StudyRow, ...]
    chance: float
    csv: Path
    json: Path
    png: Path

    def accuracy(self, model: str) -> dict[int, float]:
        """Token accuracy by length, the mean over seeds."""
        return {length: mean for length, (mean, _, _) in self.spread(model).items()}

    def spread(self, model: str) -> dict[int, tuple[float, float, float]]:
        """Mean, lowest and highest token accuracy over seeds, by length."""
        values: dict[int, list[float]] = {}
        for row in self.rows:
            if row.model == model:
                values.setdefault(row.length, []).append(row.token_accuracy)
        return {
            length: (float(np.mean(found)), min(found), max(found))
            for length, found in sorted(values.items())
        }

    def gap(self) -> dict[int, float]:
        """Accuracy with attention minus accuracy without, by length."""
        without = self.accuracy(WITHOUT_ATTENTION)
        return {
            length: mean - without[length] for length, mean in self.accuracy(WITH_ATTENTION).items()
        }


def run_copy_length_study(
    output: str | Path,
    seeds: int = 1,
    *,
    recipe: str | Recipe = "copy",
    resume: bool = False,
    command: str | None = None,
    verbose: int = 1,
) -> StudyResult:
    """Train with and without attention, measure by length, write CSV, JSON and PNG.

    Writes `copy_length.csv` (a row for each model, seed and length), `copy_length.json` (means,
    spread, recipe, versions) and `copy_length.png` to `output`, and each run to
    `output/runs/<model>-seed<i>`.

    Args:
        output: a directory, made if it is missing.
        seeds: how many times each model is trained, with seeds 0 ... seeds - 1.
        recipe: a name in `RECIPES`, or a recipe.
        resume: take up the runs that `output` holds, finished or not.
        command: how this was started, for the record.
        verbose: as in `fit`.

    Raises:
        ValueError: `seeds` below 1.
        KeyboardInterrupt: Ctrl-C; call with `resume=True` to go on.
        FileExistsError: `output` holds runs and `resume` is false.
    """
    if seeds < 1:
        raise ValueError(f"run_copy_length_study: seeds must be at least 1, got {seeds}.")
    recipe = get_recipe(recipe) if isinstance(recipe, str) else recipe
    output = Path(output)
    rows: list[StudyRow] = []
    for seed in range(seeds):
        for model in (WITH_ATTENTION, WITHOUT_ATTENTION):
            if verbose:
                print(f"{model}, seed {seed} ({LABELS[model]})", flush=True)
            directory = output / "runs" / f"{model}-seed{seed}"
            rows += _measure(model, directory, recipe, seed, resume, command, verbose)
    result = StudyResult(
        tuple(rows),
        1.0 / recipe.n_symbols,
        output / "copy_length.csv",
        output / "copy_length.json",
        output / "copy_length.png",
    )
    _write(result, recipe, seeds, command)
    return result


def _measure(
    model: str,
    directory: Path,
    recipe: Recipe,
    seed: int,
    resume: bool,
    command: str | None,
    verbose: int,
) -> list[StudyRow]:
    trained = train_copy(
        model,
        directory,
        recipe=recipe,
        seed=seed,
        resume=resume and CheckpointPair(directory).exists(),
        command=command,
        resume_hint="run the study again with resume",
        verbose=verbose,
    )
    if not trained.result.is_complete:
        raise KeyboardInterrupt
    return [
        StudyRow(
            model=model,
            seed=seed,
            length=length,
            token_accuracy=round(accuracy.token, 6),
            sequence_accuracy=round(accuracy.sequence, 6),
            n=recipe.n_evaluation,
            steps=trained.result.step,
            train_seconds=round(trained.result.seconds, 1),
        )
        for length, accuracy in trained.accuracies.items()
    ]


def _write(result: StudyResult, recipe: Recipe, seeds: int, command: str | None) -> None:
    with written_beside(result.csv) as path, path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(StudyRow.__dataclass_fields__))
        writer.writeheader()
        writer.writerows(vars(row) for row in result.rows)
    with written_beside(result.json) as path:
        path.write_text(json.dumps(_summary(result, recipe, seeds, command), indent=2) + "\n")
    plot_accuracy_by_length(
        [
            Curve(
                LABELS[model],
                tuple(result.accuracy(model)),
                tuple(result.accuracy(model).values()),
                tuple(low for _, low, _ in result.spread(model).values()),
                tuple(high for _, _, high in result.spread(model).values()),
            )
            for model in (WITH_ATTENTION, WITHOUT_ATTENTION)
        ],
        result.png,
        chance=result.chance,
        title=_title(recipe, seeds),
    )


def _title(recipe: Recipe, seeds: int) -> str:
    spread = f", mean and range of {seeds} seeds" if seeds > 1 else ""
    return f"Copying sequences over {recipe.n_symbols} symbols{spread}"


def _summary(
    result: StudyResult, recipe: Recipe, seeds: int, command: str | None
) -> dict[str, Any]:
    models: Sequence[str] = (WITH_ATTENTION, WITHOUT_ATTENTION)
    return {
        "study": "copy-length",
        "measures": "greedy, free-running; share of symbol positions right, eos not counted",
        "sequences_per_length": recipe.n_evaluation,
        "chance": result.chance,
        "seeds": seeds,
        "command": command,
        "token_accuracy": {
            model: {
                str(length): {"mean": mean, "min": low, "max": high}
                for length, (mean, low, high) in result.spread(model).items()
            }
            for model in models
        },
        "gap": {str(length): gap for length, gap in result.gap().items()},
        "train_seconds": {
            model: sum(
                row.train_seconds
                for row in result.rows
                if row.model == model and row.length == min(recipe.lengths)
            )
            for model in models
        },
        "recipe": {**recipe.identity(), "stages": [stage.to_dict() for stage in recipe.stages]},
        "versions": {name: version(name) for name in ("attention-zoo", "tensorflow", "keras")},
    }
