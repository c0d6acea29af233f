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
        written = self._columns()
        columns = written or list(row)
        if set(columns) != set(row):
            raise ValueError(
                f"{self.path}: a row must hold {columns}, got {list(row)}. "
                "Fix: resume with the metrics that the run was started with."
            )
        with self.path.open("a", newline="") as file:
            writer = csv.DictWriter(file, columns)
            if not written:
                writer.writeheader()
            writer.writerow({name: _short(value) for name, value in row.items()})

    def rows(self) -> list[dict[str, float]]:
        """All rows, as numbers."""
        if not self.path.exists():
            return []
        with self.path.open(newline="") as file:
            return [{k: float(v) for k, v in row.items()} for row in csv.DictReader(file)]

    def cut_after(self, step: int) -> None:
        """Drop the rows whose `step` is larger; a file that keeps no row goes, header and all.

        Raises:
            ValueError: the file is no log of a run.
        """
        if not self.path.exists():
            return
        with self.path.open(newline="") as file:
            header, *rows = list(csv.reader(file)) or [[]]
        if rows and "step" not in header:
            raise ValueError(
                f"{self.path}: expected the log of a run, with a column step, got the columns "
                f"{header}. Fix: move the file away."
            )
        # A crash can leave half a line at the end; it has too few cells, or no number.
        kept = [
            row
            for row in rows
            if len(row) == len(header)
            and row[header.index("step")].isdigit()
            and int(row[header.index("step")]) <= step
        ]
        if not kept:
            self.path.unlink()
            return
        with written_beside(self.path) as beside, beside.open("w", newline="") as file:
            csv.writer(file).writerows([header, *kept])

    def _columns(self) -> list[str] | None:
        if not self.path.exists():
            return None
        with self.path.open(newline="") as file:
            return next(csv.reader(file), None)


def _short(value: float | int) -> str:
    return str(value) if isinstance(value, int) else f"{value:.6g}"
