"""The `attention-zoo` command: which commands there are, and what becomes of errors.

Each command lives in a module of `attention_zoo.commands` that imports nothing heavy before it
runs, so that `attention-zoo --help` and `attention-zoo list` answer at once.
"""

import dataclasses
import errno
import os
import re
import shlex
import sys
import traceback
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

import click

from attention_zoo.commands.quiet_import import LOG_LEVEL, SILENT

COMMANDS = {
    "list": "list_models",
    "train": "train",
    "evaluate": "evaluate",
    "score": "score",
    "translate": "translate",
    "predict": "predict",
    "explain": "explain",
    "align": "align",
    "export": "export",
    "validate": "validate",
    "study": "study",
    "doctor": "doctor",
    "demo": "demo",
}
USER_ERROR = 2
INTERRUPTED = 130  # 128 + SIGINT, as shells have it


class InterruptedWork(Exception):
    """Ctrl-C came, and something was kept: the message says what, and how to go on."""


class LazyGroup(click.Group):
    """A group of commands whose modules are imported when a command is asked for.

    modules: command name -> module of `attention_zoo.commands`, which defines `command`.
    """

    def __init__(self, *args: Any, modules: Mapping[str, str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.modules = modules

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names, in the order in which one would use them."""
        return list(self.modules)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name, or None."""
        if cmd_name not in self.modules:
            return None
        command: click.Command = import_module(
            f"attention_zoo.commands.{self.modules[cmd_name]}"
        ).command
        return command


@dataclasses.dataclass
class Session:
    """What holds for one call of the command, whatever the subcommand.

    command_line: as it was typed; a manifest says with it how its files were made.
    """

    command_line: str
    debug: bool = False


def _show_version(ctx: click.Context, _: click.Parameter, asked: bool) -> None:
    if asked and not ctx.resilient_parsing:
        from importlib.metadata import version

        click.echo(f"attention-zoo {version('attention-zoo')}")
        ctx.exit()


@click.group(
    cls=LazyGroup,
    modules=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option("--debug", is_flag=True, help="Show the whole traceback of an error.")
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_version,
    help="Show the version and exit.",
)
@click.pass_obj
def cli(session: Session, debug: bool) -> None:
    """Recurrent encoder-decoder models with attention: train, export, run anywhere.

    \b
    Example: the whole line in a few minutes
      attention-zoo demo --output demo
    """
    session.debug = debug


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code.

    0 done; 2 a mistake in what was asked or in a file (one message on stderr, no traceback unless
    `--debug`); 130 interrupted. Errors in the project itself keep their traceback.
    """
    _open_closed_streams()
    # before anything imports TensorFlow, which reads these once
    os.environ.setdefault(LOG_LEVEL, SILENT)
    os.environ.setdefault("KERAS_BACKEND", "tensorflow")
    typed = sys.argv[1:] if arguments is None else arguments
    session = Session(shlex.join(["attention-zoo", *typed]))
    try:
        code = cli.main(typed, prog_name="attention-zoo", standalone_mode=False, obj=session)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except InterruptedWork as interrupt:
        click.echo(f"Interrupted: {interrupt}", err=True)
        return INTERRUPTED
    except (click.Abort, KeyboardInterrupt):
        click.echo("Interrupted: nothing was kept.", err=True)
        return INTERRUPTED
    except Exception as error:
        if not isinstance(error, _user_errors()) and not _is_out_of_memory(error):
            raise
        if session.debug:
            traceback.print_exc()
        click.echo(f"Error: {_told(error)}", err=True)
        return USER_ERROR
    return code if isinstance(code, int) else 0


def _open_closed_streams() -> None:
    """What a caller closed is nothing to read, or nowhere to write to, as print has it."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115


_FIXES = {
    errno.ENOSPC: "Fix: make room on the disk, or choose another place.",
    errno.EROFS: "Fix: choose a place that can be written to.",
    errno.EACCES: "Fix: choose a place that you may write to, or read from.",
    errno.EPERM: "Fix: choose a place that you may write to, or read from.",
    errno.ENOTDIR: "Fix: choose a path whose folders are none of them files.",
    errno.EISDIR: "Fix: name a file; this is a folder.",
    errno.ENOENT: "Fix: check the path, from its first folder on.",
    errno.ENAMETOOLONG: "Fix: choose a shorter name.",
}
# of `publish_folder`: what stands for the folder that was asked for until all is written
_UNFINISHED = re.compile(r"(^|/)\.([^/]+)\.unfinished\.[^/]*")


def _told(error: Exception) -> str:
    """The message of an error; of one of the system what it is about, and the fix."""
    if _is_out_of_memory(error):
        first = str(error).splitlines()[0]
        return f"not enough memory: {first[:200]}. Fix: a smaller model, or smaller batches."
    if isinstance(error, OSError) and error.errno in _FIXES:
        name = _UNFINISHED.sub(r"\1\2", str(error.filename or "a file"))
        return f"{name}: {error.strerror}. {_FIXES[error.errno]}"
    return str(error)


def _is_out_of_memory(error: Exception) -> bool:
    # TensorFlow's, by its name: it may not have been imported
    return isinstance(error, MemoryError) or type(error).__name__ == "ResourceExhaustedError"


def _user_errors() -> tuple[type[Exception], ...]:
    """Errors that tell a user what to mend: all that check what they were given."""
    # asked for after an error only; it needs no TensorFlow
    from attention_zoo.export.errors import ExportError

    # FloatingPointError: a loss that became infinite
    return (ValueError, OSError, FloatingPointError, ExportError)
