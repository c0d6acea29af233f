"""Time a training step beside a plain Keras loop and PyTorch, and check that the loss is the same.

The contenders take turns, so that what else the machine does hits all of them alike.
"""

from __future__ import annotations

import csv
import importlib.util
import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import click
import numpy as np
from contender_process import KERAS, OURS, PEAKS, ContenderProcess
from machine import machine
from peer_contender import PEER, PeerContender
from result_table import markdown_table
from step_size import StepSize

from attention_zoo.commands.quiet_import import LOG_LEVEL, SILENT, import_tensorflow
from attention_zoo.written_beside import written_beside

_PACKAGES = ("tensorflow", "keras", "torch")
_PRODUCTS = 5  # of large matrices a round, the fastest of which counts
SIZES = ("64,20,4096,256", "64,18,8000,320")
COLUMNS = (
    "batch",
    "length",
    "vocab",
    "width",
    "contender",
    "ms",
    "ms_q1",
    "ms_q3",
    "tokens_per_second",
    "times_peer",
    "gmac_per_step",
    "gmac_per_second",
    "peak_gmac_per_second",
    "share_of_peak",
    "first_step_seconds",
)


class Size(click.ParamType):
    """BATCH,LENGTH,VOCAB,WIDTH."""

    name = "BATCH,LENGTH,VOCAB,WIDTH"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> StepSize:
        """The size, or a usage error."""
        try:
            return value if isinstance(value, StepSize) else StepSize.parse(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--peer",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Script of a PyTorch peer; needs torch (extra `benchmark`).",
)
@click.option("--rounds", type=click.IntRange(1), default=5, show_default=True)
@click.option(
    "--steps", type=click.IntRange(1), default=8, show_default=True, help="Of each, a round."
)
@click.option("--size", "sizes", type=Size(), multiple=True, default=SIZES, show_default=True)
@click.option(
    "--curve-steps",
    type=click.IntRange(0),
    default=60,
    show_default=True,
    help="Of the comparison of losses, at the first size; 0 = none.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path(__file__).parent,
    help="Folder of training.csv, training.md and training.png.  [default: that of this script]",
)
def main(
    peer: Path | None,
    rounds: int,
    steps: int,
    sizes: Sequence[StepSize],
    curve_steps: int,
    output: Path,
) -> None:
    """Time training steps in turns; write a table, a CSV file and a picture."""
    missing = missing_peer(peer)
    if missing:
        click.echo(missing)
        peer = None
    try:
        rows = [row for size in sizes for row in measure(size, rounds, steps, peer)]
    except ValueError as error:
        raise click.ClickException(str(error)) from error
    curves: dict[str, list[float]] = {}
    if curve_steps:
        os.environ.setdefault(LOG_LEVEL, SILENT)
        import_tensorflow()
        from loss_curves import loss_curves

        click.echo(f"losses of {curve_steps} steps: {sizes[0]}")
        curves = loss_curves(sizes[0], curve_steps)
    text = report(rows, curves, rounds, steps, missing)
    write_csv(output / "training.csv", rows)
    with written_beside(output / "training.md") as beside:
        beside.write_text(text)
    with written_beside(output / "training.png") as beside:
        from training_picture import draw

        draw(rows, curves, beside)
    click.echo(text)


def missing_peer(peer: Path | None) -> str:
    """Why there is no row for PyTorch; empty if there is one."""
    if peer is None:
        return "No row for PyTorch: no script was given (--peer)."
    if importlib.util.find_spec("torch") is None:
        return (
            "No row for PyTorch: torch is not installed "
            '(pip install "attention-zoo[benchmark]", or a CPU build of it).'
        )
    return ""


def measure(size: StepSize, rounds: int, steps: int, peer: Path | None) -> list[dict[str, Any]]:
    """A row for each contender at this size."""
    click.echo(f"{size}: building and compiling")
    with ExitStack() as workers:

        def started(name: str) -> ContenderProcess:
            return workers.enter_context(closing(ContenderProcess(name, size)))

        contenders: list[ContenderProcess | PeerContender] = [started(n) for n in (*OURS, KERAS)]
        if peer is not None:
            contenders.append(PeerContender(peer, size))
        products = [started(dtype) for dtype in PEAKS]
        seconds: dict[str, list[float]] = {contender.name: [] for contender in contenders}
        peak = dict.fromkeys(PEAKS, 0.0)
        for number in range(rounds):
            for product in products:
                peak[product.name] = max(peak[product.name], product.round(_PRODUCTS))
            for contender in contenders:
                seconds[contender.name].append(contender.round(steps))
            told = ", ".join(f"{name} {taken[-1] * 1e3:.0f} ms" for name, taken in seconds.items())
            click.echo(f"round {number + 1} of {rounds}: {told}")
    first = {contender.name: contender.first_step for contender in contenders}
    return rows_of(size, seconds, peak, first)


def rows_of(
    size: StepSize,
    seconds: Mapping[str, Sequence[float]],
    peak: Mapping[str, float],
    first: Mapping[str, float],
) -> list[dict[str, Any]]:
    """The rows of a size, from the seconds a step of each contender in each round.

    A round's ratio to the peer is taken within the round; the median of these is shown.
    """
    rows = []
    work = size.step_multiply_adds()
    for name, values in seconds.items():
        low, median, high = np.percentile(values, (25, 50, 75))
        dtype = "bfloat16" if "bfloat16" in name else "float32"
        ratio = float(np.median(np.divide(seconds[PEER], values))) if PEER in seconds else None
        rows.append(
            {
                **vars(size),
                "contender": name,
                "ms": median * 1e3,
                "ms_q1": low * 1e3,
                "ms_q3": high * 1e3,
                "tokens_per_second": size.tokens / median,
                "times_peer": ratio,
                "gmac_per_step": work / 1e9,
                "gmac_per_second": work / median / 1e9,
                "peak_gmac_per_second": peak[dtype] / 1e9,
                "share_of_peak": work / median / peak[dtype],
                "first_step_seconds": first[name],
            }
        )
    return rows


def write_csv(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """The rows, numbers in six digits, what there is not as an empty cell."""
    with written_beside(path) as beside, beside.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        for row in rows:
            writer.writerow({name: _cell(row[name]) for name in COLUMNS})


def _cell(value: Any) -> str:
    if value is None or value != value:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def report(
    rows: Sequence[Mapping[str, Any]],
    curves: Mapping[str, Sequence[float]],
    rounds: int,
    steps: int,
    missing: str,
) -> str:
    """The Markdown text."""
    parts = [
        "# Training step\n\n"
        f"Medians of {rounds} rounds, in which the contenders take turns of {steps} steps; in "
        "brackets the quartiles. Share of peak: multiply-adds of the model's matrix products a "
        "second, over those of a large square product on this machine in the same rounds, in the "
        f"same type. {machine(_PACKAGES)}\n\n"
        "![Tokens a second, and the loss by step](training.png)\n"
    ]
    sizes = list(dict.fromkeys(StepSize(*(row[n] for n in COLUMNS[:4])) for row in rows))
    for size in sizes:
        own = [row for row in rows if all(row[name] == value for name, value in vars(size).items())]
        parts.append(_section(size, own))
    if missing:
        parts.append(f"{missing}\n")
    if curves:
        parts.append(_curves_section(sizes[0], curves))
    return "\n".join(parts)


def _section(size: StepSize, rows: Sequence[Mapping[str, Any]]) -> str:
    columns = ("step", "ms", "quartiles", "tokens/s", "times PyTorch", "GMAC/s", "share of peak")
    cells = [
        [
            row["contender"],
            f"{row['ms']:.1f}",
            f"({row['ms_q1']:.1f} to {row['ms_q3']:.1f})",
            f"{row['tokens_per_second']:,.0f}",
            "-" if row["times_peer"] is None else f"{row['times_peer']:.2f}x",
            f"{row['gmac_per_second']:.0f}",
            f"{row['share_of_peak']:.0%}",
        ]
        for row in rows
    ]
    peaks = {
        "bfloat16" if "bfloat16" in row["contender"] else "float32": row["peak_gmac_per_second"]
        for row in rows
    }
    compiled = ", ".join(
        f"{row['contender']} {row['first_step_seconds']:.0f} s"
        for row in rows
        if row["first_step_seconds"] == row["first_step_seconds"]
    )
    forward = size.forward_multiply_adds()
    counted = " + ".join(f"{name} {count / 1e6:.0f}" for name, count in forward.items())
    return (
        f"## {str(size).capitalize()}\n\n"
        + markdown_table(columns, cells)
        + f"\nMillion multiply-adds forward: {counted}; three times that a step, "
        f"{size.step_multiply_adds() / 1e9:.1f} GMAC. Peak: "
        + ", ".join(f"{dtype} {value:.0f} GMAC/s" for dtype, value in peaks.items())
        + f". The first step, with tracing and compiling, takes: {compiled}.\n"
    )


def _curves_section(size: StepSize, curves: Mapping[str, Sequence[float]]) -> str:
    from loss_curves import LABEL_SMOOTHING, REFERENCE, largest_difference

    reference = curves[REFERENCE]
    cells = [
        [
            name,
            f"{values[0]:.4f}",
            f"{values[-1]:.4f}",
            "-" if name == REFERENCE else f"{largest_difference(dict(curves), name):.1e}",
        ]
        for name, values in curves.items()
    ]
    return (
        "## The same loss\n\n"
        f"{len(reference)} steps on the same batches of a copy task from the same weights, label "
        f"smoothing {LABEL_SMOOTHING}, gradients clipped at norm 1; {size}.\n\n"
        + markdown_table(("step", "first loss", "last loss", "largest difference"), cells)
    )


if __name__ == "__main__":
    main()
