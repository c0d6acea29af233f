"""What the commands that train share: folders of runs, Ctrl-C, progress."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from attention_zoo.cli import InterruptedWork
from attention_zoo.written_beside import LEFT_BY_A_KILL

CHECKPOINTS = ("last.keras", "best.keras")
RUN_FILES = (
    "last.keras",
    "best.keras",
    "model.keras",
    "training.json",
    "log.csv",
    "curves.png",
    "tokenizer.model",
    "tokenizer.source.model",
    "tokenizer.target.model",
)
# what a kill in the first round leaves; the next run begins it anew
_BEFORE_THE_FIRST_ROUND = {
    "log.csv",
    "tokenizer.model",
    "tokenizer.source.model",
    "tokenizer.target.model",
}

Trained = TypeVar("Trained", bound=Any)


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


def whole_command(command_line: str) -> str:
    """The command that does in one go what this one began, went on with or finished."""
    words = shlex.split(command_line)
    return shlex.join(w for w in words if w not in ("--force", "--resume", "--finish"))


def how_to_resume(command_line: str) -> str:
    """The command that goes on with what this one began."""
    return f"{whole_command(command_line)} --resume"


def guarded(
    output: Path, command_line: str, resume: bool, tensorboard: bool, train: Callable[..., Trained]
) -> Trained:
    """`train(command=..., resume_hint=...)`, with Ctrl-C as an error that says what was kept.

    Raises FileExistsError if OUTPUT holds a run and `resume` is false.
    """
    if not resume:
        refuse_to_restart(output)
    go_on = how_to_resume(command_line)
    try:
        trained = train(command=whole_command(command_line), resume_hint=go_on)
    except KeyboardInterrupt:
        kept = any((output / name).exists() for name in CHECKPOINTS)
        message = (
            f"{output} is kept. To go on: {go_on}" if kept else "nothing was kept: start again"
        )
        raise InterruptedWork(message) from None
    except ImportError as error:
        if not tensorboard:
            raise
        # an extra that the user can install, and no fault of the project
        raise ValueError(str(error)) from error
    if not trained.is_published:
        # the run has said already what it kept, and how to go on
        raise click.exceptions.Exit(130)
    return trained


def progress() -> int:
    """How `fit` tells of its progress: a bar on a terminal, a line a round in a log file."""
    return 1 if sys.stdout.isatty() else 2


def refuse_to_restart(output: Path) -> None:
    """Raise FileExistsError if the folder holds a run, or part of one."""
    present = [name for name in RUN_FILES if (output / name).exists()]
    if {*present} - _BEFORE_THE_FIRST_ROUND:
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
