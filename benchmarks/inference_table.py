"""The rows of the inference benchmark: a contender each, from what was measured in the rounds."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from inference_contenders import Contender, Files
from inference_process import ColdStart, Turn
from inference_rounds import Mode, Samples
from inference_targets import ONE

from attention_zoo.written_beside import written_beside

TWO = Mode(1, 2)

Row = dict[str, Any]


@dataclass(frozen=True)
class Answers:
    """What is known of a contender's answers, in per cent or points; None if not measured."""

    equal_tokens: float | None = None
    quality: float | None = None


def table_rows(
    contenders: Sequence[Contender],
    samples: Samples,
    files: Files,
    answers: Mapping[str, Answers],
    step_bytes: Mapping[str, int],
    batch: Mode,
) -> list[Row]:
    """A row for each contender.

    Args:
        contenders: those that were measured.
        samples: what the rounds gave.
        files: their files.
        answers: key -> how good they are.
        step_bytes: type of the weights -> bytes that a token must read.
        batch: the mode of the batches.
    """
    bandwidth = float(np.median(samples.bandwidth))
    rows = []
    for one in contenders:
        turns = {mode: samples.turns[one.key, mode] for mode in (ONE, TWO, batch)}
        floor = step_bytes[one.weights] / bandwidth * 1e6
        row: Row = {
            "contender": one.key,
            "format": one.format,
            "weights": one.weights,
            "bytes": files.bytes(one),
            **_cold_cells(samples.cold[one.key]),
            **_spread("ms", turns[ONE], _sentence_ms),
            **_spread("ms_two_threads", turns[TWO], _sentence_ms),
            "batch": batch.batch,
            **_spread(
                "sentences_per_second",
                turns[batch],
                lambda turn: batch.batch * len(turn.seconds) / sum(turn.seconds),
            ),
            **_spread("tokens_per_second", turns[batch], lambda turn: 1 / turn.seconds_a_token),
            **_spread("us_per_token", turns[ONE], lambda turn: 1e6 * turn.seconds_a_token),
            "quality": answers[one.key].quality,
            "equal_tokens": answers[one.key].equal_tokens,
            "step_bytes": step_bytes[one.weights],
            "bytes_per_second": bandwidth,
            "floor_us": floor,
        }
        rows.append({**row, "times_floor": row["us_per_token"] / floor})
    return rows


def write_csv(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write rows of one kind; six digits of a number, what there is not as an empty cell."""
    with written_beside(path) as beside, beside.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        for row in rows:
            writer.writerow({name: _cell(value) for name, value in row.items()})


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _cold_cells(starts: Sequence[ColdStart]) -> Row:
    seconds = [start.seconds for start in starts]
    phases = {
        f"{phase}_s": float(np.median([start.phases[phase] for start in starts]))
        for phase in starts[0].phases
    }
    peak = int(np.median([start.peak for start in starts]))
    return {**_quartiles("cold_s", seconds), **phases, "peak_bytes": peak}


def _spread(name: str, turns: Sequence[Turn], figure: Callable[[Turn], float]) -> Row:
    return _quartiles(name, [figure(turn) for turn in turns])


def _quartiles(name: str, values: Sequence[float]) -> Row:
    low, median, high = (float(value) for value in np.percentile(values, (25, 50, 75)))
    return {name: median, f"{name}_q1": low, f"{name}_q3": high}


def _sentence_ms(turn: Turn) -> float:
    return 1e3 * float(np.median(turn.seconds))
