"""What the commands that train share: options, Ctrl-C, progress."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from attention_zoo.cli import InterruptedWork
from attention_zoo.commands.run_folder import has_checkpoint, locked, refuse_to_restart, replaced

Trained = TypeVar("Trained", bound=Any)
SEED = click.IntRange(0, 2**32 - 1)


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
    output: Path,
    command_line: str,
    train: Callable[..., Trained],
    *,
    resume: bool = False,
    force: bool = False,
    tensorboard: bool = False,
) -> Trained:
    """`train(command=..., resume_hint=...)`, alone in its folder.

    Ctrl-C becomes an error that says what was kept, and so does a full disk.

    Raises FileExistsError if OUTPUT holds a run and neither `resume` nor `force` is given.
    """
    if not resume and not force:
        refuse_to_restart(output)
    go_on = how_to_resume(command_line)
    try:
        with locked(output), replaced(output, force):
            trained = train(command=whole_command(command_line), resume_hint=go_on)
    except KeyboardInterrupt:
        message = (
            f"{output} is kept. To go on: {go_on}"
            if has_checkpoint(output)
            else "nothing was kept: start again"
        )
        raise InterruptedWork(message) from None
    except ImportError as error:
        if not tensorboard:
            raise
        # an extra that the user can install, and no fault of the project
        raise ValueError(str(error)) from error
    except OSError:
        if has_checkpoint(output):
            click.echo(f"The checkpoints in {output} are kept. To go on: {go_on}", err=True)
        raise
    if not trained.is_published:
        # the run has said already what it kept, and how to go on
        raise click.exceptions.Exit(130)
    return trained


def progress() -> int:
    """How `fit` tells of its progress: a bar on a terminal, a line a round in a log file."""
    return 1 if sys.stdout.isatty() else 2
