"""Results of a benchmark in a CSV file and a Markdown table, each row the latest of its kind."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from attention_zoo.written_beside import written_beside


class ResultTable:
    """Rows in a CSV file; a new row replaces the one with the same keys.

    Args:
        path: of the CSV file; need not exist.
        columns: of every row, in order.
        keys: the columns that say what was measured; rows are sorted by them.
    """

    def __init__(self, path: Path, columns: Sequence[str], keys: Sequence[str]) -> None:
        self.path = path
        self.columns = list(columns)
        self.keys = list(keys)

    def rows(self) -> list[dict[str, str]]:
        """What the file holds.

        Raises:
            ValueError: a file with other columns.
        """
        if not self.path.exists():
            return []
        with self.path.open(newline="") as file:
            reader = csv.DictReader(file)
            if reader.fieldnames is not None and list(reader.fieldnames) != self.columns:
                raise ValueError(
                    f"{self.path}: expected the columns {self.columns}, got {reader.fieldnames}. "
                    "Fix: move the file away, it was written by another version."
                )
            return list(reader)

    def merge(self, new: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
        """Write the file with these rows in it; gives all rows as text."""
        rows = {self._key(row): row for row in self.rows()}
        for entry in new:
            row = {name: _text(entry[name]) for name in self.columns}
            rows[self._key(row)] = row
        merged = [rows[key] for key in sorted(rows)]
        with written_beside(self.path) as beside, beside.open("w", newline="") as file:
            writer = csv.DictWriter(file, self.columns)
            writer.writeheader()
            writer.writerows(merged)
        return merged

    def _key(self, row: Mapping[str, str]) -> tuple[str, ...]:
        return tuple(row[name] for name in self.keys)


def markdown_table(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """A Markdown table; columns of numbers stand to the right."""
    cells = [[_text(value).replace("|", "\\|") for value in row] for row in rows]
    is_number = [
        bool(cells) and all(_is_number(row[place]) for row in cells)
        for place in range(len(columns))
    ]
    lines = [columns, ["---:" if right else "---" for right in is_number], *cells]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def _text(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _is_number(text: str) -> bool:
    if text in ("", "-"):
        return True
    try:
        float(text.replace(",", "").rstrip("x%"))
    except ValueError:
        return False
    return True
