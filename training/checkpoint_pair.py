"""The two checkpoints of a run, which agree at every moment that a kill can leave behind."""

from __future__ import annotations

from pathlib import Path

import keras

from attention_zoo.training.checkpoint import (
    CheckpointError,
    RunState,
    copy_checkpoint,
    read_state,
    save_checkpoint,
)


class CheckpointPair:
    """`last.keras`, from which a run goes on, and `best.keras`, what it has to show.

    A round that is the best so far is written to `best.keras` first and copied to `last.keras`
    then. A kill between the two leaves a `best.keras` that is ahead: it is a whole checkpoint, so
    the run goes on from it.
    """

    def __init__(self, directory: Path) -> None:
        self.last = directory / "last.keras"
        self.best = directory / "best.keras"

    def exists(self) -> bool:
        """Whether there is a checkpoint to go on from."""
        return self.last.exists() or self.best.exists()

    def refuse_used(self) -> None:
        """Raise FileExistsError if there is one: what a new run would write over."""
        if self.exists():
            raise FileExistsError(
                f"{self.last.parent} already holds a run. Fix: resume it, or choose a directory "
                "that does not exist."
            )

    def save(self, model: keras.Model, state: RunState, is_best: bool) -> None:
        """Write the round that `state` has just counted."""
        if is_best:
            save_checkpoint(self.best, model, state)
            copy_checkpoint(self.best, self.last)
        else:
            save_checkpoint(self.last, model, state)

    def settle(self) -> RunState:
        """Make both files whole and of one run again after a kill; the position of `last`.

        Raises:
            CheckpointError: there is no checkpoint, one is damaged, or `best` is not the round
                that `last` names.
        """
        best = read_state(self.best) if self.best.exists() else None
        if best is not None and (not self.last.exists() or read_state(self.last).step < best.step):
            copy_checkpoint(self.best, self.last)
        last = read_state(self.last)
        found = None if best is None else best.step
        if found != last.best_step:
            if last.step != last.best_step:
                raise CheckpointError(
                    f"{self.best}: expected the round of step {last.best_step}, the best one by "
                    f"{self.last.name}, got {'no file' if found is None else f'step {found}'}. "
                    "Fix: put the file of this run back, or start the run again in a new directory."
                )
            copy_checkpoint(self.last, self.best)
        return last
