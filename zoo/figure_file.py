"""Figures as PNG files, whole or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from attention_zoo.written_beside import written_beside

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_DPI = 150


def save_figure(figure: Figure, path: str | Path, **options: Any) -> None:
    """Write a figure as a PNG file; `options` as of matplotlib's `savefig`."""
    with written_beside(path) as beside:
        figure.savefig(beside, **{"dpi": _DPI, **options})
