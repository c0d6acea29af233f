"""The pictures of the inference benchmark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib
from inference_growth import Growth

matplotlib.use("Agg")

from matplotlib import pyplot as plt
from matplotlib.ticker import LogLocator

_COLOURS = {
    "keras": "tab:grey",
    "savedmodel": "black",
    "plain": "tab:brown",
    "onnx": "tab:blue",
    "onnx-int8": "tab:cyan",
    "tflite": "tab:red",
    "tflite-float16": "tab:orange",
    "tflite-int8": "tab:pink",
}


def draw(rows: Sequence[Mapping[str, Any]], title: str, path: Path) -> None:
    """Bars: latency, throughput in batches, cold start, memory and bytes."""
    batch = rows[0]["batch"]
    panels = (
        ("ms", "sentence at batch 1, 1 thread, ms", 1.0),
        ("sentences_per_second", f"sentences a second at batch {batch}", 1.0),
        ("bytes", "file, MB", 1e-6),
        ("cold_s", "cold start, s", 1.0),
        ("peak_bytes", "peak memory of a fresh process, MB", 1e-6),
    )
    figure, axes = plt.subplots(1, len(panels), figsize=(3.2 * len(panels), 3.6), sharey=True)
    names = [f"{row['format']} {row['weights']}" for row in rows][::-1]
    for axis, (column, label, scale) in zip(axes, panels, strict=True):
        values = [row[column] * scale for row in rows][::-1]
        colours = [_COLOURS[row["contender"]] for row in rows][::-1]
        axis.barh(names, values, xerr=_whiskers(rows[::-1], column, scale), color=colours)
        for place, (row, value) in enumerate(zip(rows[::-1], values, strict=True)):
            end = row.get(f"{column}_q3", row[column]) * scale
            shown = f" {value:,.0f}" if value >= 100 else f" {value:.3g}"
            axis.text(end, place, shown, va="center", fontsize=7)
        axis.margins(x=0.25)
        axis.set_xlabel(label, fontsize=8)
        axis.tick_params(labelsize=8)
    figure.suptitle(title, fontsize=9)
    _save(figure, path)


def draw_growth(growth: Sequence[Growth], names: Mapping[str, str], title: str, path: Path) -> None:
    """Latency and peak memory against the length of the source, a line a contender."""
    figure, axes = plt.subplots(1, 2, figsize=(11, 4.2))
    for key, name in names.items():
        own = [one for one in growth if one.key == key]
        lengths = [one.length for one in own]
        style = {"color": _COLOURS[key], "marker": ".", "label": name}
        axes[0].loglog(lengths, [one.ms for one in own], **style)
        axes[1].loglog(lengths, [one.peak / 1e6 for one in own], **style)
    axes[0].set_ylabel("one answer, 1 thread, ms")
    axes[1].set_ylabel("peak memory of the process, MB")
    for axis in axes:
        axis.set_xlabel("tokens of the source")
        axis.grid(alpha=0.3, which="both")
        for side in (axis.xaxis, axis.yaxis):
            side.set_minor_locator(LogLocator(subs=(2.0, 5.0)))
            side.set_major_formatter("{x:g}")
            side.set_minor_formatter("{x:g}")
        axis.tick_params(labelsize=7, which="both")
    axes[0].legend(fontsize=7)
    figure.suptitle(title, fontsize=9)
    _save(figure, path)


def _whiskers(rows: Sequence[Mapping[str, Any]], column: str, scale: float) -> Any:
    """The quartiles as distances from the medians; None for what is not timed."""
    if f"{column}_q1" not in rows[0]:
        return None
    low = [max(0.0, (row[column] - row[f"{column}_q1"]) * scale) for row in rows]
    high = [max(0.0, (row[f"{column}_q3"] - row[column]) * scale) for row in rows]
    return [low, high]


def _save(figure: Any, path: Path) -> None:
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    plt.close(figure)
