"""Figures of translation models: BLEU by source length, and the curves of a training run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from attention_zoo.figure_file import save_figure
from attention_zoo.training.bleu import TranslationScores, band_names
from attention_zoo.training.plots import COLOURS
from attention_zoo.training.run_log import RunLog


def plot_bleu_by_length(
    scores: Mapping[str, TranslationScores], path: str | Path, *, title: str = ""
) -> None:
    """Draw BLEU over the length of the source, a curve a model, with the number of sentences.

    Args:
        scores: label -> scores of a model on one test set, the same for all.
        path: of the PNG file.
        title: above the figure.

    Raises:
        ValueError: no scores, scores without lengths, or scores of different test sets.
    """
    counts = {
        label: {name: found.by_length[name].n for name in band_names() if name in found.by_length}
        for label, found in scores.items()
    }
    first = next(iter(counts.values()), {})
    if not first or any(other != first for other in counts.values()):
        raise ValueError(
            f"plot_bleu_by_length: expected scores by length on one test set, got {counts}. "
            "Fix: score_translations(hypotheses, references, sources) on the same sources."
        )
    figure = Figure(figsize=(7.0, 4.5), layout="constrained")
    axes = figure.subplots()
    for number, (label, found) in enumerate(scores.items()):
        values = [found.by_length[name].bleu for name in first]
        colour = COLOURS[number % len(COLOURS)]
        axes.plot(
            range(len(first)), values, "o-", color=colour, label=f"{label} ({found.bleu:.1f})"
        )
    ticks = [f"{name}\nn = {n:,}" for name, n in first.items()]
    axes.set_xticks(range(len(first)), ticks)
    axes.set_ylim(bottom=0.0)
    axes.set_xlabel("source length (words)")
    axes.set_ylabel("BLEU")
    axes.set_title(title)
    axes.grid(alpha=0.3)
    figure.legend(loc="outside lower center", ncols=2, frameon=False)
    save_figure(figure, path)


_STEP = "step"
# a panel a row: the label of its axis, and the columns of the log that it shows where there are any
_PANELS: tuple[tuple[str, dict[str, str]], ...] = (
    ("loss", {"loss": "training", "val_loss": "validation"}),
    ("BLEU", {"bleu": "validation", "val_bleu": "validation"}),
    ("learning rate", {"learning_rate": "learning rate"}),
)


def plot_training_curves(log: str | Path, path: str | Path, *, title: str = "") -> None:
    """Draw the log of a run over its steps: losses, BLEU and learning rate, as far as it has them.

    Args:
        log: the `log.csv` of a run.
        path: of the PNG file.
        title: above the figure.

    Raises:
        ValueError: no such log, one without rows, or one without a column to draw.
    """
    rows = RunLog(Path(log)).rows()
    columns = set(rows[0]) if rows else set()
    panels = [panel for panel in _PANELS if columns & set(panel[1])]
    if not panels or _STEP not in columns:
        wanted = ", ".join(name for _, names in _PANELS for name in names)
        raise ValueError(
            f"{log}: expected the log of a run, with the column {_STEP} and some of {wanted}, got "
            f"{len(rows)} rows of {sorted(columns) or 'no columns'}. Fix: the log.csv of a run."
        )
    figure = Figure(figsize=(7.0, 1.2 + 2.2 * len(panels)), layout="constrained")
    all_axes = figure.subplots(len(panels), sharex=True, squeeze=False)[:, 0]
    for axes, (name, labels) in zip(all_axes, panels, strict=True):
        for number, column in enumerate(label for label in labels if label in columns):
            # where a round was not measured the log has no number
            measured = [row for row in rows if np.isfinite(row[column])]
            axes.plot(
                [row[_STEP] for row in measured],
                [row[column] for row in measured],
                ".-",
                color=COLOURS[number],
                label=labels[column],
            )
        axes.set_ylabel(name)
        axes.grid(alpha=0.3)
        if name == "loss":
            axes.legend(frameon=False)
    all_axes[-1].set_xlabel(_STEP)
    figure.suptitle(title)
    save_figure(figure, path)
