"""`attention-zoo study`: experiments that answer one question each."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from attention_zoo.cli import InterruptedWork
from attention_zoo.commands.quiet_import import import_tensorflow
from attention_zoo.commands.training_command import progress

if TYPE_CHECKING:
    from attention_zoo.training.copy_length_study import StudyResult


@click.group("study", short_help="Experiments: numbers and a figure.")
def command() -> None:
    """Run a study: train, measure, and write its numbers and its figure.

    \b
    Example:
      attention-zoo study copy-length -o runs/copy_length
    """


@command.command("copy-length")
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for the CSV, the JSON and the PNG.",
)
@click.option("--seeds", type=click.IntRange(1), default=1, show_default=True, help="Runs of each.")
@click.option("--recipe", default="copy", show_default=True, help="How to train both.")
@click.option("--resume", is_flag=True, help="Take up the runs that OUTPUT holds.")
@click.pass_context
def copy_length(ctx: click.Context, output: Path, seeds: int, recipe: str, resume: bool) -> None:
    """What does attention buy as sequences grow?

    Trains the same encoder-decoder with Bahdanau attention and without it on the copy task, and
    measures the free-running accuracy of both at lengths 5, 10, 20, 40 and 80.

    \b
    Example:
      attention-zoo study copy-length -o runs/copy_length --seeds 3
    """
    if not resume and output.exists() and any(output.iterdir()):
        raise FileExistsError(
            f"{output} holds something already. Go on with a study by --resume, or choose another "
            "folder."
        )
    import_tensorflow()
    from attention_zoo.training import run_copy_length_study

    line = ctx.obj.command_line
    try:
        study = run_copy_length_study(
            output, seeds=seeds, recipe=recipe, resume=resume, command=line, verbose=progress()
        )
    except KeyboardInterrupt:
        go_on = line if resume else f"{line} --resume"
        raise InterruptedWork(f"the runs in {output} are kept. To go on: {go_on}") from None
    _show(study)


def _show(study: StudyResult) -> None:
    from attention_zoo.commands.table import print_table
    from attention_zoo.training.copy_length_study import LABELS

    accuracy = {model: study.accuracy(model) for model in LABELS}
    rows = [
        (length, *(f"{accuracy[model][length]:.4f}" for model in LABELS), f"{gap:.4f}")
        for length, gap in study.gap().items()
    ]
    title = f"Token accuracy, free-running (chance {study.chance:.4f})"
    print_table(title, ("length", *LABELS.values(), "gap"), rows)
    click.echo(f"Written: {study.csv}, {study.json}, {study.png}")
