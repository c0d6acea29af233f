"""The picture of the training benchmark: tokens a second by size, and the losses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib
from step_size import StepSize

matplotlib.use("Agg")

from matplotlib import pyplot as plt


def draw(
    rows: Sequence[Mapping[str, Any]], curves: Mapping[str, Sequence[float]], path: Path
) -> None:
    """Bars with the quartiles as whiskers, a panel a size; the losses in a last panel."""
    sizes = list(
        dict.fromkeys(
            StepSize(row["batch"], row["length"], row["vocab"], row["width"]) for row in rows
        )
    )
    n_panels = len(sizes) + bool(curves)
    figure, axes = plt.subplots(1, n_panels, figsize=(5.5 * n_panels, 4), squeeze=False)
    for axis, size in zip(axes[0], sizes, strict=False):
        own = [row for row in rows if all(row[name] == value for name, value in vars(size).items())]
        _bars(axis, own)
        axis.set_title(str(size), fontsize=9)
    if curves:
        axis = axes[0][-1]
        for style, (name, values) in zip(("-", "--", ":"), curves.items(), strict=False):
            axis.plot(range(1, len(values) + 1), values, style, label=name)
        axis.set_xlabel("step")
        axis.set_ylabel("loss")
        axis.set_title("The same batches from the same weights", fontsize=9)
        axis.legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    plt.close(figure)


def _bars(axis: Any, rows: Sequence[Mapping[str, Any]]) -> None:
    names = [row["contender"] for row in rows][::-1]
    speeds = [row["tokens_per_second"] for row in rows][::-1]
    tokens = rows[0]["batch"] * rows[0]["length"] * 1e3
    slow = [speed - tokens / row["ms_q3"] for speed, row in zip(speeds, rows[::-1], strict=True)]
    fast = [tokens / row["ms_q1"] - speed for speed, row in zip(speeds, rows[::-1], strict=True)]
    colours = ["tab:blue" if name.startswith("ours") else "tab:grey" for name in names]
    whiskers = [[max(0.0, value) for value in values] for values in (slow, fast)]
    axis.barh(names, speeds, xerr=whiskers, color=colours, capsize=3)
    axis.set_xlabel("target tokens a second")
    axis.tick_params(labelsize=8)
