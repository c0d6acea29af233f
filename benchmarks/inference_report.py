"""The Markdown text of the inference benchmark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from inference_growth import Growth
from inference_targets import Target
from machine import caches
from operator_cost import Cost, with_rest
from result_table import markdown_table

_COLUMNS = (
    "format",
    "weights",
    "MB",
    "cold start, s",
    "peak, MB",
    "sentence, ms",
    "2 threads, ms",
    "sentences/s",
    "µs/token",
)

_SHOWN = 8  # operators of a profile


@dataclass
class Results:
    """Everything that the report tells.

    Attributes:
        name: of the model.
        described: what was asked, in a sentence.
        max_length: T_dec.
        rounds: how many.
        quality: name of the quality column and a sentence about it; an empty name if there is none.
        machine: processor and versions, in a sentence.
    """

    name: str
    described: str
    max_length: int
    rounds: int
    quality: tuple[str, str]
    machine: str
    rows: Sequence[Mapping[str, Any]] = ()
    targets: Sequence[Target] = ()
    left_out: dict[str, str] = field(default_factory=dict)
    profiles: dict[str, Sequence[Cost]] = field(default_factory=dict)
    growth: Sequence[Growth] = ()


def report(results: Results) -> str:
    """The whole text."""
    batch = results.rows[0]["batch"]
    title = (
        f"# Inference: {results.name}\n\n"
        f"{results.described}; greedy decoding, at most {results.max_length} tokens; "
        f"{results.rounds} rounds, in which the contenders, each in a fresh process of its own, "
        "take turns. Medians, in brackets the quartiles of the rounds. Sentence: the median of the "
        f"sentences at batch 1. Sentences a second: at batch {batch}, sentences of like length "
        "together, one thread; TFLite takes the rows one by one. Cold start: a fresh process from "
        "nothing to its first answer, one thread, with the memory that it had resident at most. "
        f"{results.machine}\n\n![Latency, throughput, size and cold start]"
        f"({stem(results.name)}.png)\n"
    )
    parts = [title, _table(results), _floor_note(results.rows)]
    parts += [f"{key}: left out, {reason}\n" for key, reason in results.left_out.items()]
    if results.targets:
        columns = ("ratio", "to reach", "measured", "quartiles", "reached")
        table = markdown_table(columns, [target.cells() for target in results.targets])
        told = (
            "One thread, batch 1 if nothing else is said. Ratios of the time a token, taken within "
            "each round: whoever writes less gains nothing by it.\n"
        )
        parts.append(f"## To reach\n\n{table}\n{told}")
    if results.profiles:
        parts.append(_profile_section(results.profiles))
    if results.growth:
        parts.append(_growth_section(results))
    return "\n".join(parts)


def stem(name: str) -> str:
    """What the names of the files of a model begin with."""
    return f"inference.{name}"


def _table(results: Results) -> str:
    name, _ = results.quality
    columns = [*_COLUMNS, *([name] if name else []), "same tokens", "floor, µs", "times floor"]
    cells = [
        [
            row["format"],
            row["weights"],
            f"{row['bytes'] / 1e6:.2f}",
            _with_spread(row, "cold_s", 2),
            f"{row['peak_bytes'] / 1e6:.0f}",
            _with_spread(row, "ms", 2),
            _with_spread(row, "ms_two_threads", 2),
            _with_spread(row, "sentences_per_second", 0),
            _with_spread(row, "us_per_token", 0),
            *([_number(row["quality"], 2)] if name else []),
            _number(row["equal_tokens"], 1, "%"),
            f"{row['floor_us']:.0f}",
            f"{row['times_floor']:.1f}x",
        ]
        for row in results.rows
    ]
    return markdown_table(columns, cells) + f"\n{results.quality[1]}\n"


def _with_spread(row: Mapping[str, Any], name: str, digits: int) -> str:
    low, high = row[f"{name}_q1"], row[f"{name}_q3"]
    return f"{row[name]:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"


def _number(value: float | None, digits: int, unit: str = "") -> str:
    return "-" if value is None else f"{value:.{digits}f}{unit}"


def _floor_note(rows: Sequence[Mapping[str, Any]]) -> str:
    sizes = {row["weights"]: row["step_bytes"] for row in rows}
    told = ", ".join(f"{size / 1e6:.2f} MB in {dtype}" for dtype, size in sizes.items())
    cached = f" (here: {', '.join(caches())})" if caches() else ""
    return (
        f"Floor: the bytes of weights that a token must read ({told}: the decode step's, the "
        "output matrix whole, of the embeddings one row) over the bandwidth of the memory, "
        f"{rows[0]['bytes_per_second'] / 1e9:.1f} GB/s in the same rounds (one thread copies "
        "512 MiB; read and written bytes are counted). Weights that stay in a cache may beat it"
        f"{cached}. Times floor: of the time a token at batch 1 and one thread, in which the "
        "encoder has its share.\n"
    )


def _growth_section(results: Results) -> str:
    lengths = list(dict.fromkeys(one.length for one in results.growth))
    names = {row["contender"]: f"{row['format']} {row['weights']}" for row in results.rows}
    found = {(one.key, one.length): one for one in results.growth}
    cells = [
        [
            name,
            *(
                f"{found[key, length].ms:.1f} / {found[key, length].peak / 1e6:.0f}"
                for length in lengths
            ),
        ]
        for key, name in names.items()
    ]
    first = next(iter(names))
    tokens = ", ".join(f"{found[first, length].tokens} at {length}" for length in lengths)
    return (
        "## Growth with the source\n\n"
        "Milliseconds of one answer, one thread / MB resident at most, by T_enc; fresh processes "
        f"that read the sources from short to long. Tokens written by {names[first]}: {tokens}.\n\n"
        + markdown_table(("contender", *map(str, lengths)), cells)
        + f"\n![Latency and memory by source length]({stem(results.name)}.growth.png)\n"
    )


def _profile_section(profiles: Mapping[str, Sequence[Cost]]) -> str:
    parts = [
        "## Where the time goes\n\n"
        "Microseconds a token of each kind of operator inside the decode loop, one thread, batch "
        "1, by the runtime's own profiler. It takes some microseconds an operator itself, so that "
        "sums are above the times in the first table. ONNX: of the whole run. TFLite: of the "
        "operators in the loop alone.\n"
    ]
    columns = ("operator", "calls a token", "µs a token", "share")
    for name, costs in profiles.items():
        cells = [_cost_cells(one) for one in with_rest(costs, _SHOWN)]
        told = f"{name}, {sum(one.us for one in costs):.0f} µs a token under the profiler:"
        parts.append(f"{told}\n\n{markdown_table(columns, cells)}")
    return "\n".join(parts)


def _cost_cells(cost: Cost) -> list[str]:
    calls = f"{cost.calls:.1f}" if cost.calls else "-"
    return [cost.what, calls, f"{cost.us:.1f}", f"{cost.share:.1%}"]
