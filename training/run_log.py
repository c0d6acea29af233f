"""The CSV log of a run: one row a round."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path

from attention_zoo.written_beside import written_beside


class RunLog:
    """Rows of numbers that are on disk as soon as they are added.

    The columns are those of the first row. A run that is resumed drops the rows after its
    checkpoint, so that the file reads as if it had never stopped.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def add(self, row: Mapping[str, float | int]) -> None:
        """Append one row.

        Raises:
            ValueError: the row has other columns than the file.
        """
        columns = self._columns() or list(row)
        if set(columns) != set(row):
            raise ValueError(
                f"{self.path}: a row must hold {columns}, got {list(row)}. "
                "Fix: resume with the metrics that the run was started with."
            )
        is_new = not self.path.exists()
        with self.path.open("a", newline="") as file:
            writer = csv.DictWriter(file, columns)
            if is_new:
                writer.writeheader()
            writer.writerow({name: _short(value) for name, value in row.items()})

    def rows(self) -> list[dict[str, float]]:
        """All rows, as numbers."""
        if not self.path.exists():
            return []
        with self.path.open(newline="") as file:
            return [{k: float(v) for k, v in row.items()} for row in csv.DictReader(file)]

    def cut_after(self, step: int) -> None:
        """Drop the rows whose `step` is larger."""
        if not self.path.exists():
            return
        with self.path.open(newline="") as file:
            header, *rows = list(csv.reader(file))
        place = header.index("step")
        # A crash can leave half a row at the end; it has too few cells, or no number.
        kept = [
            row
            for row in rows
            if len(row) == len(header) and row[place].isdigit() and int(row[place]) <= step
        ]
        with written_beside(self.path) as beside, beside.open("w", newline="") as file:
            csv.writer(file).writerows([header, *kept])

    def _columns(self) -> list[str] | None:
        if not self.path.exists():
            return None
        with self.path.open(newline="") as file:
            return next(csv.reader(file), None)


def _short(value: float | int) -> str:
    return str(value) if isinstance(value, int) else f"{value:.6g}"
