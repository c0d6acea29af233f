"""`attention-zoo evaluate`: free-running accuracy by length."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from attention_zoo.commands.lengths import LENGTHS
from attention_zoo.written_beside import written_beside

if TYPE_CHECKING:
    from attention_zoo import Seq2Seq
    from attention_zoo.training.copy_task import CopyTask
    from attention_zoo.training.evaluation import LengthAccuracy


@click.command("evaluate", short_help="Accuracy by length on fresh sequences.")
@click.argument("model")
@click.option(
    "--lengths",
    type=LENGTHS,
    help="Lengths to try, separated by commas.  [default: 5,10,20,40,80, as far as MODEL writes]",
)
@click.option(
    "-n", "n", type=click.IntRange(1), default=200, show_default=True, help="Sequences a length."
)
@click.option(
    "--seed",
    type=click.IntRange(0),
    default=1_000_003,
    show_default=True,
    help="Draws the sequences; take one that training did not use.",
)
@click.option(
    "--json",
    "json_file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the numbers to this file too.",
)
def command(
    model: str, lengths: tuple[int, ...] | None, n: int, seed: int, json_file: Path | None
) -> None:
    """Measure how well MODEL copies fresh sequences, by length.

    The model runs freely: it reads its own tokens, not the right ones. MODEL is a preset, the
    folder of a run, an exported folder, or a .keras file.

    \b
    Example:
      attention-zoo evaluate bahdanau_gru.copy --lengths 5,20,80
    """
    from attention_zoo.commands.model_source import load_source

    loaded = load_source(model)
    task = task_of(loaded)
    accuracies = measure(loaded, task, lengths, n, seed)
    show(f"{model}: {n} fresh sequences of each length", accuracies, task.chance)
    if json_file is not None:
        content = {
            "model": model,
            "n": n,
            "seed": seed,
            "chance": task.chance,
            "lengths": {str(key): dataclasses.asdict(value) for key, value in accuracies.items()},
        }
        with written_beside(json_file) as beside:
            beside.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


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


def show(title: str, accuracies: dict[int, LengthAccuracy], chance: float) -> None:
    """Print the accuracies as a table."""
    from attention_zoo.commands.table import print_table

    rows = [
        (length, f"{accuracy.token:.4f}", f"{accuracy.sequence:.4f}")
        for length, accuracy in accuracies.items()
    ]
    columns = ("length", "token accuracy", "sequence accuracy")
    print_table(f"{title} (a guess: {chance:.4f})", columns, rows)
