"""Warnings of the library as notes of the command line."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from typing import Any

import click


@contextlib.contextmanager
def warnings_as_notes() -> Iterator[None]:
    """Show a `UserWarning` as `Note: ...` on stderr, without the line of code it came from."""
    with warnings.catch_warnings():
        others = warnings.showwarning

        def show(message: Any, category: type[Warning], *place: Any, **more: Any) -> None:
            if category is UserWarning:
                click.echo(f"Note: {message}", err=True)
            else:
                others(message, category, *place, **more)

        warnings.showwarning = show
        yield
