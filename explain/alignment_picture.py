"""Attention weights as a heat map, readable whatever the script and the number of tokens."""

from __future__ import annotations

import unicodedata
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage

from attention_zoo.explain.label_fonts import fonts_for
from attention_zoo.explain.weights_note import WEIGHTS_NOT_REASONS
from attention_zoo.figure_file import save_figure

# inches: the side of a cell, and how far all cells together may grow before cells become smaller
_CELL = 0.27
_LARGEST = 22.0
_POINTS_OF_CELL = 72 * 0.46
_LONGEST_LABEL = 24
# labels so short stand upright; tables so large have labels on all sides
_SHORT = 2
_FAR = 30


def plot_alignment(
    alignments: np.ndarray,
    source_labels: Sequence[str],
    target_labels: Sequence[str],
    path: str | Path,
    *,
    title: str = "",
    note: str = WEIGHTS_NOT_REASONS,
) -> None:
    """Draw the attention weights of one sequence: a row a target token, a column a source token.

    Cells are squares of one size up to 80 tokens, and the picture grows with them; beyond, they
    shrink. Where most letters of the source are written from right to left, its first token stands
    on the right. Labels are drawn with whatever installed font has their letters.

    Args:
        alignments: (T_dec, T_enc) weights in [0, 1], at least as large as the labels; what is
            beyond them (padding) is cut off.
        source_labels: text of each source token, without padding.
        target_labels: text of each target token, without padding.
        path: of the PNG file.
        title: above the figure.
        note: below it; by default what the weights are not.

    Raises:
        ValueError: alignments of another rank, or smaller than the labels; no labels.

    Warns:
        UserWarning: once, if no installed font has some of the characters.
    """
    alignments = np.asarray(alignments, dtype=np.float32)
    rows, columns = len(target_labels), len(source_labels)
    _check(alignments, rows, columns)
    cell = min(_CELL, _LARGEST / max(rows, columns))
    figure = Figure(figsize=(cell * columns, cell * rows))
    axes = figure.add_axes((0, 0, 1, 1))  # the cells alone; what stands around them is added below
    image = axes.imshow(
        alignments[:rows, :columns], cmap="Blues", vmin=0.0, vmax=1.0, aspect="auto"
    )
    _set_labels(axes, source_labels, target_labels, cell * _POINTS_OF_CELL)
    if is_right_to_left("".join(source_labels)):
        axes.invert_xaxis()
    with warnings.catch_warnings():
        # told once by `_fonts`, not once for each character
        warnings.filterwarnings("ignore", message=r"Glyph \d+")
        _add_scale_and_note(figure, axes, image, note)
        # last, since the scale stands beside the labels and a title may be wider than they
        axes.set_title(title, fontsize=9, parse_math=False)
        save_figure(figure, path, bbox_inches="tight", pad_inches=0.12)


def is_right_to_left(text: str) -> bool:
    """Whether most letters of a text are of a script that runs from right to left."""
    directions = [unicodedata.bidirectional(character) for character in text]
    return sum(it in ("R", "AL") for it in directions) > directions.count("L")


def _check(alignments: np.ndarray, rows: int, columns: int) -> None:
    if not rows or not columns:
        raise ValueError(
            f"plot_alignment: expected at least one target and one source label, got {rows} and "
            f"{columns}. Fix: an answer that is not empty."
        )
    if alignments.ndim != 2 or alignments.shape[0] < rows or alignments.shape[1] < columns:
        raise ValueError(
            f"plot_alignment: alignments must be (T_dec, T_enc), at least ({rows}, {columns}) for "
            f"the labels given, got {alignments.shape}. Fix: pass those of one sequence, and one "
            "label a token."
        )


def _set_labels(
    axes: Axes, source_labels: Sequence[str], target_labels: Sequence[str], size: float
) -> None:
    source, target = [_shown(it) for it in source_labels], [_shown(it) for it in target_labels]
    # a dollar sign is no formula here
    style: dict[str, Any] = {
        "fontfamily": _fonts([*source, *target]),
        "fontsize": size,
        "parse_math": False,
    }
    axes.set_xticks(range(len(source)), source, rotation=90, **style)
    axes.set_yticks(range(len(target)), target, **style)
    if all(len(label) <= _SHORT for label in source if label != "</s>"):
        for tick, text in zip(axes.xaxis.get_major_ticks(), source, strict=True):
            for label in (tick.label1, tick.label2):  # below and above
                label.set_rotation(0 if len(text) <= _SHORT else 90)
    axes.xaxis.tick_top()
    if max(len(source), len(target)) > _FAR:
        axes.tick_params(labelbottom=True, labelright=True)
    axes.xaxis.set_label_position("top")
    axes.tick_params(length=2, color="0.6")
    for spine in axes.spines.values():
        spine.set_color("0.6")
    # lines between the cells, by which the eye finds the label
    axes.set_xticks(np.arange(0.5, len(source) - 1), minor=True)
    axes.set_yticks(np.arange(0.5, len(target) - 1), minor=True)
    axes.grid(which="minor", color="0.85", linewidth=0.5)
    axes.tick_params(which="minor", length=0)
    axes.set_xlabel("source", fontsize=8)
    axes.set_ylabel("output", fontsize=8)


def _add_scale_and_note(figure: Figure, axes: Axes, image: AxesImage, note: str) -> None:
    """A bar of the colours to the right of all labels, and the note below them."""
    figure.draw_without_rendering()
    # in shares of the cells' width and height
    box = axes.get_tightbbox() or axes.bbox
    around = box.transformed(figure.transFigure.inverted())
    width, height = figure.get_size_inches()
    share = min(1.0, 2.0 / height)
    beside = figure.add_axes((around.x1 + 0.18 / width, 1 - share, 0.1 / width, share))
    bar = figure.colorbar(image, cax=beside, ticks=(0.0, 0.5, 1.0))
    bar.ax.tick_params(labelsize=7, length=2)
    bar.outline.set_edgecolor("0.6")
    bar.set_label("attention weight", fontsize=7)
    below = min(0.0, around.y0) - 0.1 / height
    figure.text(0, below, note, va="top", fontsize=7, color="0.35", parse_math=False)


def _shown(label: str) -> str:
    """A label on one line and of bearable length, with a sign for what cannot be drawn."""
    text = "".join("\ufffd" if unicodedata.category(it) in ("Cc", "Cs") else it for it in label)
    return text if len(text) <= _LONGEST_LABEL else text[: _LONGEST_LABEL - 1] + "…"


def _fonts(labels: Sequence[str]) -> list[str]:
    names, missing = fonts_for(labels)
    if missing:
        shown = " ".join(missing[:10]) + (" ..." if len(missing) > 10 else "")
        warnings.warn(
            f"no installed font has {len(missing)} of the characters ({shown}): the picture shows "
            "boxes in their place, the numbers are as they should be. Fix: install a font of that "
            "script, such as one of Noto's.",
            stacklevel=4,
        )
    return names
