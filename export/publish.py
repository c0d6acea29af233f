"""A folder that appears whole or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def publish_folder(directory: Path, force: bool = False) -> Iterator[Path]:
    """Give a temporary folder beside `directory`, and rename it to `directory` at the end.

    If the block raises anything (Ctrl-C included), the temporary folder is removed and `directory`
    is as it was before. An existing `directory` is moved aside, and removed only after the new
    folder has taken its place.

    Raises:
        FileExistsError: `directory` exists, is not empty, and `force` is not given; seen before
            any work is done, and again before the rename.
    """
    directory = Path(os.path.abspath(directory))
    _refuse_existing(directory, force)
    directory.parent.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=f".{directory.name}.", dir=directory.parent))
    try:
        yield folder
        _refuse_existing(directory, force)
        # mkdtemp lets nobody else in; the folder that stays follows the user's mask
        folder.chmod(0o777 & ~_umask())
        _rename(folder, directory)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _refuse_existing(directory: Path, force: bool) -> None:
    if directory.is_dir() and (force or not any(directory.iterdir())):
        return
    if directory.exists() or directory.is_symlink():
        advice = "Give another folder, or replace it with force=True (--force)."
        if not directory.is_dir():
            advice = "Give another path: a file is never replaced by a folder."
        raise FileExistsError(f"{directory}: exists already. {advice}")


def _rename(folder: Path, directory: Path) -> None:
    if not directory.exists():
        folder.rename(directory)
        return
    aside = Path(tempfile.mkdtemp(prefix=f".{directory.name}.old.", dir=directory.parent))
    old = aside / directory.name
    try:
        directory.rename(old)
        folder.rename(directory)
    except BaseException:
        if old.exists() and not directory.exists():
            old.rename(directory)
        aside.rmdir()
        raise
    shutil.rmtree(aside, ignore_errors=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
