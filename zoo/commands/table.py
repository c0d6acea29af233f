"""Tables on the terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print rows under their column names on stdout; columns of numbers stand to the right.

    Where stdout is no terminal, the table is as wide as it needs to be, so that `grep` finds whole
    words in it.
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    cells = [[_text(value) for value in row] for row in rows]
    table = Table(title=title, title_justify="left")
    for index, column in enumerate(columns):
        numeric = bool(cells) and all(_is_number(row[index]) for row in cells)
        table.add_column(column, justify="right" if numeric else "left", overflow="fold")
    for row in cells:
        table.add_row(*map(Text, row))
    Console(width=None if sys.stdout.isatty() else 200).print(table)


def _text(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def _is_number(text: str) -> bool:
    try:
        float(text.replace(",", "").removesuffix("%"))
    except ValueError:
        return text in ("", "-")
    return True
