"""The checks as one picture: weights beside what the output hangs on, step by step."""

from __future__ import annotations

import textwrap
import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from attention_zoo.explain.alignment_picture import is_right_to_left
from attention_zoo.explain.check_distances import LARGEST_DIVERGENCE
from attention_zoo.explain.check_verdict import CLEAR_CHANGE, OTHER_WEIGHTS
from attention_zoo.explain.checks import CheckReport
from attention_zoo.explain.label_fonts import fonts_for
from attention_zoo.figure_file import save_figure

# inches
_CELL = 0.27
_LARGEST = 10.0
_PANEL = 2.1
_MARGIN = 1.6
_HEAD = 2.2
_LINE = 0.2
_LONGEST_LABEL = 16
_FIRST, _SECOND, _LIMIT = "#1b6ca8", "#d1603d", "0.45"


def plot_check(report: CheckReport, path: str | Path) -> None:
    """Draw a report: three maps over the source tokens, two panels over the steps.

    The maps show the weights, the change of the output when each source token is left out, and
    gradient times embedding: where the weights explain, the maps look alike. The panels show how
    much other weights change the output, and how far off weights may lie that do not. A row is a
    target token in all of them.
    """
    rows, columns = report.weights.shape
    cell = min(_CELL, _LARGEST / max(rows, columns))
    widths = [cell * columns] * 3 + [_PANEL] * 2
    width = sum(widths) + _MARGIN + 1.5
    lines = textwrap.wrap(report.verdict, int(width * 12))
    size = (width, max(cell * rows, 1.0) + _HEAD + _LINE * len(lines))
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots(1, 5, sharey=True, gridspec_kw={"width_ratios": widths})
    maps = (
        ("attention weights", report.weights),
        ("left out: change of output", report.leave_one_out.importance),
        ("gradient x embedding", report.gradient.importance),
    )
    font, points = _fonts(report), min(8.0, 72 * 0.46 * cell)
    for place, (title, values) in zip(axes, maps, strict=False):
        _draw_map(place, values, title, report.source, font, points)
    _draw_changes(axes[3], report)
    _draw_divergence(axes[4], report)
    shown = [_short(token) for token in report.target]
    axes[0].set_yticks(range(rows), shown, fontfamily=font, fontsize=points, parse_math=False)
    axes[0].set_ylim(rows - 0.5, -0.5)
    axes[0].set_ylabel("output", fontsize=8)
    figure.suptitle("\n".join(lines), fontsize=9, x=0.01, ha="left", parse_math=False)
    with warnings.catch_warnings():
        # a character without a font is a box here; the picture of the alignment says so
        warnings.filterwarnings("ignore", message=r"Glyph \d+")
        save_figure(figure, path)


def _draw_map(
    axes: Axes,
    values: np.ndarray,
    title: str,
    labels: Sequence[str],
    font: list[str],
    points: float,
) -> None:
    axes.imshow(values, cmap="Blues", vmin=0.0, vmax=1.0, aspect="auto")
    shown = [_short(label) for label in labels]
    axes.set_xticks(
        range(len(shown)),
        shown,
        rotation=90,
        fontfamily=font,
        fontsize=points,
        parse_math=False,
    )
    axes.xaxis.tick_top()
    if is_right_to_left("".join(labels)):
        axes.invert_xaxis()
    axes.tick_params(length=2, color="0.6")
    axes.set_xlabel(title, fontsize=8)


def _draw_changes(axes: Axes, report: CheckReport) -> None:
    """Change by permuted weights, with its deciles, and by uniform ones."""
    found, steps = report.permutation, np.arange(len(report.target))
    spread = [np.subtract(found.median, found.low), np.subtract(found.high, found.median)]
    axes.errorbar(
        found.median, steps - 0.14, xerr=spread, fmt="o", ms=4, lw=1, color=_FIRST, label="permuted"
    )
    axes.plot(report.uniform.change, steps + 0.14, "s", ms=4, color=_SECOND, label="uniform")
    axes.axvline(CLEAR_CHANGE, color=_LIMIT, ls="--", lw=1)
    _finish(axes, 1.0, "change of output (total variation)")


def _draw_divergence(axes: Axes, report: CheckReport) -> None:
    """How far off weights lie that give the same output."""
    steps = np.arange(len(report.target))
    axes.barh(steps, report.adversarial.divergence, 0.5, color=_FIRST, label="adversarial")
    if report.seeds is not None:
        axes.plot(report.seeds.divergence, steps, "D", ms=4, color=_SECOND, label="other seeds")
    axes.axvline(OTHER_WEIGHTS, color=_LIMIT, ls="--", lw=1)
    _finish(axes, LARGEST_DIVERGENCE, "other weights, same output (JSD)")


def _finish(axes: Axes, largest: float, title: str) -> None:
    axes.set_xlim(-0.03 * largest, 1.03 * largest)
    axes.set_xlabel(title, fontsize=8)
    axes.tick_params(labelsize=7, length=2)
    axes.grid(axis="y", color="0.9", lw=0.5)
    axes.set_axisbelow(True)
    axes.legend(fontsize=7, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, frameon=False)


def _fonts(report: CheckReport) -> list[str]:
    return fonts_for([_short(label) for label in (*report.source, *report.target)])[0]


def _short(label: str) -> str:
    return label if len(label) <= _LONGEST_LABEL else label[: _LONGEST_LABEL - 1] + "…"
