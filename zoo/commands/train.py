"""`attention-zoo train`: trains a model of the zoo on a task."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from attention_zoo.cli import InterruptedWork
from attention_zoo.commands.quiet_import import import_tensorflow
from attention_zoo.written_beside import LEFT_BY_A_KILL

if TYPE_CHECKING:
    from attention_zoo.training.copy_training import CopyTraining

CHECKPOINTS = ("last.keras", "best.keras")
RUN_FILES = ("last.keras", "best.keras", "model.keras", "training.json", "log.csv")


class Setting(click.ParamType):
    """NAME=VALUE, as a pair; VALUE is read as JSON where it is JSON, else as text."""

    name = "NAME=VALUE"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, Any]:
        """The pair, or a usage error."""
        if isinstance(value, tuple):
            return value
        name, sign, text = str(value).partition("=")
        if not sign or not name:
            self.fail(f"expected NAME=VALUE such as units=64, got {value!r}", param, ctx)
        try:
            return name, json.loads(text)
        except json.JSONDecodeError:
            return name, text


@click.group("train", short_help="Train a model on a task.")
def command() -> None:
    """Train a model on a task.

    \b
    Example:
      attention-zoo train copy --model bahdanau_gru -o runs/copy
    """


@command.command("copy")
@click.option("--model", "model", required=True, help="A model of `attention-zoo list --models`.")
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of the run.",
)
@click.option(
    "--recipe",
    default="copy",
    show_default=True,
    help="How to train: copy (lengths to 80, minutes) or copy_short (lengths to 10).",
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@click.option(
    "--set",
    "settings",
    type=Setting(),
    multiple=True,
    help="An option of the model, such as units=64 or bidirectional=true; repeat it for several.",
)
@click.option("--resume", is_flag=True, help="Go on with the run in OUTPUT.")
@click.option("--force", is_flag=True, help="Throw the run in OUTPUT away and begin anew.")
@click.option("--tensorboard", is_flag=True, help="Write a log for TensorBoard too.")
@click.option("--quiet", is_flag=True, help="No progress.")
@click.pass_context
def train_on_copies(
    ctx: click.Context,
    model: str,
    output: Path,
    recipe: str,
    seed: int,
    settings: tuple[tuple[str, Any], ...],
    resume: bool,
    force: bool,
    tensorboard: bool,
    quiet: bool,
) -> None:
    """Train MODEL to repeat a sequence of symbols, and measure it by length.

    OUTPUT ends with model.keras, training.json and log.csv. Ctrl-C keeps what was learned so far.

    \b
    Examples:
      attention-zoo train copy --model bahdanau_gru -o runs/copy
      attention-zoo train copy --model luong_general_gru --set units=64 -o runs/small --seed 1
    """
    from attention_zoo.commands import evaluate

    if resume and force:
        raise click.UsageError("--resume goes on with a run, --force throws it away: choose one.")
    if force:
        remove_run(output)
    trained = run(
        model,
        output,
        ctx.obj.command_line,
        recipe=recipe,
        seed=seed,
        overrides=dict(settings),
        resume=resume,
        tensorboard=tensorboard,
        verbose=0 if quiet else progress(),
    )
    evaluate.show(f"{model}: fresh sequences", trained.accuracies, trained.task.chance)
    click.echo(f"Trained {trained.result.step} steps in {trained.result.seconds:.0f} s: {output}")


def how_to_resume(command_line: str) -> str:
    """The command that goes on with what this one began."""
    words = [word for word in shlex.split(command_line) if word not in ("--force", "--resume")]
    return shlex.join([*words, "--resume"])


def run(model: str, output: Path, command_line: str, **options: Any) -> CopyTraining:
    """Train, and turn Ctrl-C into an error that says what was kept.

    Raises FileExistsError if OUTPUT holds a run and `options` do not say `resume`.
    """
    if not options.get("resume"):
        refuse_to_restart(output)
    import_tensorflow()
    from attention_zoo.training import train_copy

    go_on = how_to_resume(command_line)
    try:
        trained = train_copy(model, output, command=command_line, resume_hint=go_on, **options)
    except KeyboardInterrupt:
        kept = any((output / name).exists() for name in CHECKPOINTS)
        message = (
            f"{output} is kept. To go on: {go_on}" if kept else "nothing was kept: start again"
        )
        raise InterruptedWork(message) from None
    except ImportError as error:
        if not options.get("tensorboard"):
            raise
        # an extra that the user can install, and no fault of the project
        raise ValueError(str(error)) from error
    if not trained.result.is_complete:
        # the run has said already what it kept, and how to go on
        raise click.exceptions.Exit(130)
    return trained


def progress() -> int:
    """How `fit` tells of its progress: a bar on a terminal, a line a round in a log file."""
    return 1 if sys.stdout.isatty() else 2


def refuse_to_restart(output: Path) -> None:
    """Raise FileExistsError if the folder holds a run, or part of one."""
    present = [name for name in RUN_FILES if (output / name).exists()]
    # A log alone is what a kill in the first round leaves; the next run begins it anew.
    if present and present != ["log.csv"]:
        go_on = "Go on with it by --resume, " if {*CHECKPOINTS} & {*present} else ""
        ways = f"{go_on}throw it away by --force, or choose another folder."
        raise FileExistsError(
            f"{output} holds a run already ({', '.join(present)}). {ways[0].upper()}{ways[1:]}"
        )


def remove_run(output: Path) -> None:
    """Delete the files of a run, and nothing else that the folder may hold."""
    import shutil

    for name in RUN_FILES:
        (output / name).unlink(missing_ok=True)
    for left in output.glob(LEFT_BY_A_KILL):
        left.unlink()
    if (output / "tensorboard").is_dir():
        shutil.rmtree(output / "tensorboard")
