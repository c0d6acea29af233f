"""Figures as PNG files, drawn without a display."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from attention_zoo.written_beside import written_beside

# Dark and light enough to be told apart in grey too; the same model keeps its colour.
COLOURS = ("#1b6ca8", "#d1603d", "#4c9f70", "#7d5ba6")
_DPI = 150


@dataclass(frozen=True)
class Curve:
    """Accuracy by length, with the lowest and highest value of several seeds if there are any."""

    label: str
    lengths: tuple[int, ...]
    accuracy: tuple[float, ...]
    low: tuple[float, ...] | None = None
    high: tuple[float, ...] | None = None


def plot_accuracy_by_length(
    curves: Sequence[Curve], path: str | Path, *, chance: float, title: str = ""
) -> None:
    """Draw token accuracy over source length, a curve a model, and the level of chance.

    Lengths stand on a logarithmic axis: in a study they double.
    """
    figure = Figure(figsize=(7.0, 4.5), layout="constrained")
    axes = figure.subplots()
    for number, curve in enumerate(curves):
        colour = COLOURS[number % len(COLOURS)]
        axes.plot(curve.lengths, curve.accuracy, "o-", color=colour, label=curve.label)
        if curve.low is not None and curve.high is not None:
            axes.fill_between(curve.lengths, curve.low, curve.high, color=colour, alpha=0.2)
    axes.axhline(chance, color="0.45", linestyle="--", label=f"chance ({chance:.3g})")
    axes.set_xscale("log", base=2)
    lengths = sorted({length for curve in curves for length in curve.lengths})
    axes.set_xticks(lengths, [str(length) for length in lengths])
    axes.minorticks_off()
    axes.set_ylim(0.0, 1.04)
    axes.set_xlabel("source length (symbols)")
    axes.set_ylabel("token accuracy, free-running")
    axes.set_title(title)
    axes.grid(alpha=0.3)
    figure.legend(loc="outside lower center", ncols=3, frameon=False)
    save_figure(figure, path)


def plot_alignment(
    alignments: np.ndarray,
    source_labels: Sequence[str],
    target_labels: Sequence[str],
    path: str | Path,
    *,
    title: str = "",
) -> None:
    """Draw the attention weights of one sequence: a row a target token, a column a source token.

    Args:
        alignments: (T_dec, T_enc) weights in [0, 1], at least as large as the labels; what is
            beyond them (padding) is cut off.
        source_labels: text of each source token, without padding.
        target_labels: text of each target token, without padding.
        path: of the PNG file.
        title: above the figure.

    Raises:
        ValueError: alignments of another rank, or smaller than the labels.
    """
    alignments = np.asarray(alignments, dtype=np.float32)
    rows, columns = len(target_labels), len(source_labels)
    if alignments.ndim != 2 or alignments.shape[0] < rows or alignments.shape[1] < columns:
        raise ValueError(
            f"plot_alignment: alignments must be (T_dec, T_enc), at least ({rows}, {columns}) for "
            f"the labels given, got {alignments.shape}. Fix: pass those of one sequence, and one "
            "label a token."
        )
    width = min(2.5 + 0.28 * columns, 16.0)
    height = min(1.8 + 0.28 * rows, 16.0)
    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots()
    image = axes.imshow(
        alignments[:rows, :columns], cmap="Greys", vmin=0.0, vmax=1.0, aspect="auto"
    )
    axes.set_xticks(range(columns), source_labels, rotation=90 if _are_long(source_labels) else 0)
    axes.set_yticks(range(rows), target_labels)
    axes.xaxis.tick_top()
    axes.xaxis.set_label_position("top")
    axes.tick_params(labelsize=8 if max(rows, columns) <= 40 else 6)
    axes.set_xlabel("source")
    axes.set_ylabel("output")
    axes.set_title(title)
    figure.colorbar(image, ax=axes, label="attention weight")
    save_figure(figure, path)


def _are_long(labels: Sequence[str]) -> bool:
    return any(len(label) > 3 for label in labels)


def save_figure(figure: Figure, path: str | Path) -> None:
    """Write a figure as a PNG file."""
    with written_beside(path) as beside:
        figure.savefig(beside, dpi=_DPI)
