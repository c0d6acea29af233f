"""One file that holds all a run needs to go on: model, optimizer, random states and position."""

from __future__ import annotations

import json
import shutil
import zipfile
import zlib
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import keras
import numpy as np

from attention_zoo.written_beside import written_beside

_STATE_FILE = "run_state.json"


class CheckpointError(ValueError):
    """A file that is not a checkpoint of a run, or one of another run."""


@dataclass
class RunState:
    """Where a run stands.

    Attributes:
        step: optimiser steps made in all.
        stage: number of the stage the next step belongs to; the number of stages when done.
        stage_step: steps made in that stage.
        stale_rounds: rounds of that stage since its best one.
        best_stage, best_step, best_cost: the round that the best checkpoint holds. A later stage
            is harder, so its first round replaces the best of the one before. The cost is the
            monitored loss, or the negative of a monitored score such as BLEU.
        seconds: time trained, over all sittings.
        identity: what the run was started with; a resume must agree with it.
    """

    step: int = 0
    stage: int = 0
    stage_step: int = 0
    stale_rounds: int = 0
    best_stage: int = -1
    best_step: int = 0
    best_cost: float = float("inf")
    seconds: float = 0.0
    identity: dict[str, Any] = field(default_factory=dict)


def save_checkpoint(path: Path, model: keras.Model, state: RunState) -> None:
    """Write model, optimizer, seed states and `state` to `path`, a .keras file.

    Written beside `path` and renamed, so that a crash leaves the old checkpoint whole.
    `keras.models.load_model` reads the file too, and finds a compiled model.
    """
    record = {"state": asdict(state), "seeds": [seed.tolist() for seed in _read_seeds(model)]}
    with written_beside(path) as beside:
        model.save(beside)
        with zipfile.ZipFile(beside, "a") as archive:
            archive.writestr(_STATE_FILE, json.dumps(record))


def copy_checkpoint(source: Path, path: Path) -> None:
    """Make `path` a copy of the checkpoint `source`, whole at every moment."""
    with written_beside(path) as beside:
        shutil.copyfile(source, beside)


def read_state(path: Path) -> RunState:
    """The position that the checkpoint at `path` holds; loads no weights.

    Raises:
        CheckpointError: the file is missing, damaged, or not written by `save_checkpoint`.
    """
    state = _read_record(path)["state"]
    expected = {entry.name for entry in fields(RunState)}
    if set(state) != expected:
        raise CheckpointError(
            f"{path}: the run state must hold {sorted(expected)}, got {sorted(state)}. "
            "Fix: it was written by another version; start the run again in a new directory."
        )
    return RunState(**state)


def load_checkpoint(path: Path, model: keras.Model) -> RunState:
    """Put weights, optimizer and seed states of `path` into `model`, which must be compiled.

    Raises:
        CheckpointError: as `read_state`, or the model is not the one that was saved.
    """
    state = read_state(path)
    seeds = _read_record(path)["seeds"]
    variables = _seed_variables(model)
    if len(seeds) != len(variables):
        raise CheckpointError(
            f"{path}: the model must have {len(seeds)} random states (dropout), got "
            f"{len(variables)}. Fix: build the model with the options of the run."
        )
    # An optimizer without slots would take nothing from the file, silently.
    model.optimizer.build(model.trainable_variables)
    try:
        model.load_weights(path)
    except ValueError as error:
        raise CheckpointError(
            f"{path}: the weights do not fit this model. "
            "Fix: build the model with the options of the run."
        ) from error
    except (zipfile.BadZipFile, zlib.error, KeyError, EOFError, OSError) as error:
        raise CheckpointError(
            f"{path}: the weights cannot be read, the file is damaged ({error}). "
            "Fix: delete it, or start the run in a new directory."
        ) from error
    for variable, seed in zip(variables, seeds, strict=True):
        variable.assign(np.asarray(seed, dtype=variable.dtype))
    return state


def _read_record(path: Path) -> dict[str, Any]:
    try:
        with zipfile.ZipFile(path) as archive:
            record = json.loads(archive.read(_STATE_FILE))
    except FileNotFoundError:
        raise CheckpointError(
            f"{path}: no checkpoint there. Fix: start the run without resume."
        ) from None
    except (zipfile.BadZipFile, zlib.error, KeyError, EOFError, ValueError) as error:
        raise CheckpointError(
            f"{path}: expected a checkpoint of a run, got a file that holds none ({error}). "
            "Fix: delete it, or start the run in a new directory."
        ) from error
    parts = record if isinstance(record, dict) else {}
    if not isinstance(parts.get("state"), dict) or not isinstance(parts.get("seeds"), list):
        raise CheckpointError(
            f"{path}: expected {_STATE_FILE} in it to hold state and seeds, got {record!r:.60}. "
            "Fix: delete it, or start the run in a new directory."
        )
    return record


def _seed_variables(model: keras.Model) -> list[Any]:
    """States of the random generators of dropout layers, which .keras files leave out."""
    return [entry for entry in model.non_trainable_variables if "seed_generator" in entry.path]


def _read_seeds(model: keras.Model) -> list[np.ndarray]:
    return [keras.ops.convert_to_numpy(variable) for variable in _seed_variables(model)]
