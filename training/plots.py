"""Figures as PNG files, drawn without a display."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from matplotlib.figure import Figure

from attention_zoo.figure_file import save_figure

# Dark and light enough to be told apart in grey too; the same model keeps its colour.
COLOURS = ("#1b6ca8", "#d1603d", "#4c9f70", "#7d5ba6")


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
