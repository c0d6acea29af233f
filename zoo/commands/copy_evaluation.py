"""What `attention-zoo evaluate` does with models of the copy task: accuracies by length."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from attention_zoo import Seq2Seq
    from attention_zoo.training.copy_task import CopyTask
    from attention_zoo.training.evaluation import LengthAccuracy


@dataclass(frozen=True)
class Copies:
    """What one model made of fresh sequences.

    `aligned`: length -> share of weights that are largest on the diagonal; empty for a model
    without attention.
    """

    model: str
    n: int
    seed: int
    chance: float
    accuracies: Mapping[int, LengthAccuracy]
    aligned: Mapping[int, float]


def evaluate_model(model: str, lengths: Sequence[int] | None, n: int, seed: int) -> Copies:
    """Measure a MODEL argument on fresh sequences, and print the figures."""
    from attention_zoo.commands.model_source import load_source

    loaded = load_source(model)
    task = task_of(loaded)
    accuracies = measure(loaded, task, lengths, n, seed)
    aligned = alignment_accuracies(loaded, task, list(accuracies), n, seed)
    show(f"{model}: {n} fresh sequences of each length", accuracies, task.chance, aligned)
    return Copies(model, n, seed, task.chance, accuracies, aligned)


def content(measured: Copies) -> dict[str, Any]:
    """The figures as JSON."""
    return {
        "model": measured.model,
        "n": measured.n,
        "seed": measured.seed,
        "chance": measured.chance,
        "lengths": {
            str(length): dataclasses.asdict(accuracy) | {"alignment": measured.aligned.get(length)}
            for length, accuracy in measured.accuracies.items()
        },
    }


def plot(measured: Sequence[Copies], path: Path) -> None:
    """Draw token accuracy by length, all models in one picture."""
    from attention_zoo.training.plots import Curve, plot_accuracy_by_length

    drawn = [
        Curve(
            one.model,
            tuple(one.accuracies),
            tuple(accuracy.token for accuracy in one.accuracies.values()),
        )
        for one in measured
    ]
    chance = measured[0].chance
    plot_accuracy_by_length(drawn, path, chance=chance, title="Copying fresh sequences")


def task_of(model: Seq2Seq) -> CopyTask:
    """The copy task whose vocabulary the model has."""
    from attention_zoo.training import CopyTask
    from attention_zoo.vocabulary import FIRST_SYMBOL

    config = model.config
    if config.vocab_source != config.vocab_target:
        raise ValueError(
            "the copy task needs one vocabulary, and this model has vocab_source = "
            f"{config.vocab_source}, vocab_target = {config.vocab_target}: it was made for "
            "another task."
        )
    return CopyTask(n_symbols=config.vocab_source - FIRST_SYMBOL)


def measure(
    model: Seq2Seq, task: CopyTask, lengths: Sequence[int] | None, n: int, seed: int
) -> dict[int, LengthAccuracy]:
    """Accuracies at `lengths`, or at those of the study that the model can write."""
    from attention_zoo.commands.lengths import default_lengths
    from attention_zoo.training.evaluation import evaluate_by_length

    chosen = default_lengths(model.config.max_length) if lengths is None else lengths
    return evaluate_by_length(model, task, chosen, n=n, seed=seed)


def alignment_accuracies(
    model: Seq2Seq, task: CopyTask, lengths: Sequence[int], n: int, seed: int
) -> dict[int, float]:
    """Share of weights that are largest on the diagonal, on the sequences that `measure` draws.

    Nothing for a model without attention.
    """
    if model.config.attention == "none":
        return {}
    from attention_zoo.explain.copy_alignment import copy_alignment_accuracy

    return {
        length: copy_alignment_accuracy(
            model, task.sample(n, length, length, seed + length)["source"]
        )
        for length in lengths
    }


def show(
    title: str,
    accuracies: Mapping[int, LengthAccuracy],
    chance: float,
    aligned: Mapping[int, float] | None = None,
) -> None:
    """Print the accuracies as a table, with those of the alignments where there are any."""
    from attention_zoo.commands.table import print_table

    rows = [
        (
            length,
            f"{accuracy.token:.4f}",
            f"{accuracy.sequence:.4f}",
            *([f"{aligned[length]:.4f}"] if aligned else []),
        )
        for length, accuracy in accuracies.items()
    ]
    columns = ("length", "token accuracy", "sequence accuracy", "alignment accuracy")
    print_table(f"{title} (a guess: {chance:.4f})", columns[: 4 if aligned else 3], rows)
