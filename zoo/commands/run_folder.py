"""The folder of a training run: locked while one trains in it, replaced only by one that trains."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from attention_zoo.written_beside import LEFT_BY_A_KILL

CHECKPOINTS = ("last.keras", "best.keras")
TOKENIZERS = ("tokenizer.model", "tokenizer.source.model", "tokenizer.target.model")
RUN_FILES = (*CHECKPOINTS, "model.keras", "training.json", "log.csv", "curves.png", *TOKENIZERS)
# what a kill in the first round leaves; the next run begins it anew
_BEFORE_THE_FIRST_ROUND = {"log.csv", *TOKENIZERS}
_LOGS = "tensorboard"


@contextmanager
def locked(output: Path) -> Iterator[None]:
    """Keep other processes of this machine from training in the folder at the same time.

    The lock is a file elsewhere, which the system lets go of when the process ends, however.

    Raises FileExistsError if another process trains there.
    """
    digest = hashlib.sha256(str(output.resolve()).encode()).hexdigest()[:16]
    path = Path(tempfile.gettempdir()) / f"attention-zoo-{digest}.lock"
    lock = FileLock(path, timeout=0)
    try:
        lock.acquire()
    except Timeout:
        raise FileExistsError(
            f"{output}: another process trains in this folder now. Fix: wait until it is done, or "
            "choose another folder."
        ) from None
    try:
        yield
    finally:
        lock.release()


@contextmanager
def replaced(output: Path, force: bool) -> Iterator[None]:
    """With `force`, take the run in the folder away for what the block trains.

    It is put aside first, and put back if the block fails before its first checkpoint, so that a
    mistake costs nobody a run.
    """
    present = [name for name in (*RUN_FILES, _LOGS) if (output / name).exists()]
    if not force or not present:
        yield
        return
    for left in output.glob(LEFT_BY_A_KILL):
        left.unlink()
    aside = Path(tempfile.mkdtemp(prefix=".replaced.", dir=output))
    for name in present:
        (output / name).rename(aside / name)
    try:
        yield
    except BaseException:
        if not has_checkpoint(output):
            _remove(output)
            for name in present:
                (aside / name).rename(output / name)
        raise
    finally:
        shutil.rmtree(aside)


def has_checkpoint(output: Path) -> bool:
    """Whether the folder holds a run that can be gone on with."""
    return any((output / name).exists() for name in CHECKPOINTS)


def refuse_to_restart(output: Path) -> None:
    """Raise FileExistsError if the folder holds a run, or part of one."""
    present = [name for name in RUN_FILES if (output / name).exists()]
    if {*present} - _BEFORE_THE_FIRST_ROUND:
        go_on = "Go on with it by --resume, " if has_checkpoint(output) else ""
        ways = f"{go_on}throw it away by --force, or choose another folder."
        raise FileExistsError(
            f"{output} holds a run already ({', '.join(present)}). {ways[0].upper()}{ways[1:]}"
        )


def _remove(output: Path) -> None:
    """Delete the files of a run, and nothing else that the folder may hold."""
    for name in RUN_FILES:
        (output / name).unlink(missing_ok=True)
    for left in output.glob(LEFT_BY_A_KILL):
        left.unlink()
    shutil.rmtree(output / _LOGS, ignore_errors=True)
