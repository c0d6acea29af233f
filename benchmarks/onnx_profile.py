"""Where the time of an ONNX file goes: operators inside its decode loop, and what stands outside.

onnxruntime's own profile holds one event an operator, with its beginning and its length in whole
microseconds. An operator belongs to the loop whose time it lies in; the decode loop is the last one
of a run.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from operator_cost import Cost, ProfileError, costs_of

_CONTAINERS = ("Loop", "If", "Scan")
OUTSIDE = "outside the loop"
BETWEEN = "loop, between operators"


@dataclass
class _Event:
    kind: str
    start: int
    end: int
    inner: int = 0
    in_loop: bool = False


def profile_onnx(path: Path, sources: Path) -> list[Cost]:
    """Run the file on one thread with onnxruntime's profiler; the dearest operators first.

    The profiler itself takes some microseconds an operator: many small ones look dearer than they
    are.

    Args:
        path: a file that decodes greedily.
        sources: an .npz file of sources (1, T_enc).

    Raises:
        ProfileError: the file has no loop.
    """
    import onnxruntime

    with np.load(sources) as file:
        batches = [file[name] for name in file.files]
    with tempfile.TemporaryDirectory(prefix="attention-zoo-profile-") as folder:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.enable_profiling = True
        options.log_severity_level = 3
        options.profile_file_prefix = str(Path(folder) / "profile")
        session = onnxruntime.InferenceSession(
            str(path), options, providers=["CPUExecutionProvider"]
        )
        session.run(["lengths"], {"source": batches[0]})  # is left out again
        tokens = [int(session.run(["lengths"], {"source": one})[0].sum()) for one in batches]
        events = json.loads(Path(session.end_profiling()).read_text())
    return costs(events, sum(tokens), skip=1)


def costs(events: Iterable[Mapping[str, Any]], tokens: int, skip: int = 0) -> list[Cost]:
    """The table of a profile.

    Args:
        events: as onnxruntime writes them.
        tokens: written in all runs that count.
        skip: runs at the beginning that do not count.

    Raises:
        ProfileError: no run is left, or one has no loop.
    """
    runs, operators = _read(events)
    totals: dict[str, list[float]] = {}
    spent = 0
    for start, end in runs[skip:]:
        own = [one for one in operators if start <= one.start and one.end <= end]
        spent += end - start
        loop = _decode_loop(own)
        for one in own:
            if one.in_loop:
                _add(totals, BETWEEN if one.kind in _CONTAINERS else one.kind, one)
        _add(totals, BETWEEN, loop)
        outside = totals.setdefault(OUTSIDE, [0, 0])
        outside[1] += end - start - (loop.end - loop.start)
    if not spent:
        raise ProfileError("expected runs in the profile, got none")
    return costs_of(totals, tokens, spent)


def _read(
    events: Iterable[Mapping[str, Any]],
) -> tuple[list[tuple[int, int]], list[_Event]]:
    """Beginning and end of every run; every operator, with the time of those inside it."""
    runs, operators = [], []
    for event in events:
        if event.get("name") == "model_run":
            runs.append((event["ts"], event["ts"] + event["dur"]))
        elif str(event.get("name")).endswith("_kernel_time"):
            start = event["ts"]
            operators.append(_Event(event["args"]["op_name"], start, start + event["dur"]))
    operators.sort(key=lambda one: (one.start, -one.end))
    around: list[_Event] = []
    for one in operators:
        while around and not (around[-1].start <= one.start and one.end <= around[-1].end):
            around.pop()
        if around:
            around[-1].inner += one.end - one.start
        if one.kind in _CONTAINERS:
            around.append(one)
    return sorted(runs), operators


def _decode_loop(own: Sequence[_Event]) -> _Event:
    """The last loop of a run that stands in no other loop; marks what is inside it."""
    loops: list[_Event] = []
    for one in own:
        if one.kind == "Loop" and not (loops and one.end <= loops[-1].end):
            loops.append(one)
    if not loops:
        raise ProfileError("expected a Loop in every run, got none")
    loop = loops[-1]
    for one in own:
        one.in_loop = one is not loop and loop.start <= one.start and one.end <= loop.end
    return loop


def _add(totals: dict[str, list[float]], what: str, event: _Event) -> None:
    """Count an operator, without what stands inside it."""
    entry = totals.setdefault(what, [0, 0])
    entry[0] += what != BETWEEN
    entry[1] += max(0, event.end - event.start - event.inner)
