"""A folder that appears whole or not at all."""

from __future__ import annotations

import errno
import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

# no export lasts so long: a temporary folder that nothing touched since belongs to a killed one
_ABANDONED_SECONDS = 24 * 3600.0


@contextmanager
def publish_folder(
    directory: Path, force: bool = False, check_old: Callable[[Path], None] | None = None
) -> Iterator[Path]:
    """Give a temporary folder beside `directory`, and rename it to `directory` at the end.

    If the block raises anything (Ctrl-C included), the temporary folder is removed and `directory`
    is as it was before. An existing `directory` is moved aside, and removed only after the new
    folder has taken its place. What an export of the same `directory` left that was killed more
    than a day ago is removed first.

    Args:
        directory: the folder that is wanted.
        force: replace one that is there.
        check_old: raises if what is at `directory` may not be replaced, also with `force`.

    Raises:
        OSError: the disk is full; names the path.
        FileExistsError: `directory` exists, is not empty, and `force` is not given; seen before
            any work is done, and again before the rename. Or somebody else changed it meanwhile.
    """
    directory = Path(os.path.abspath(directory))
    _refuse_existing(directory, force, check_old)
    directory.parent.mkdir(parents=True, exist_ok=True)
    _sweep(directory)
    folder = Path(tempfile.mkdtemp(prefix=_prefix(directory), dir=directory.parent))
    try:
        yield folder
        _refuse_existing(directory, force, check_old)
        # mkdtemp lets nobody else in; the folder that stays follows the user's mask
        folder.chmod(0o777 & ~_umask())
        _rename(folder, directory)
    except BaseException as error:
        shutil.rmtree(folder, ignore_errors=True)
        if isinstance(error, OSError) and error.errno == errno.ENOSPC and error.filename is None:
            # a write that fails does not know the name of its file
            raise OSError(error.errno, os.strerror(error.errno), str(directory)) from error
        raise


def _sweep(directory: Path) -> None:
    """Remove the temporary folders that a killed export of `directory` left, a day old or more."""
    # what mkdtemp adds is 8 of these; `.old.` folders stay, they may hold somebody's only copy
    pattern = re.compile(re.escape(_prefix(directory)) + "[a-z0-9_]{8}")
    for path in directory.parent.iterdir():
        if not pattern.fullmatch(path.name) or path.is_symlink() or not path.is_dir():
            continue
        if time.time() - _last_change(path) > _ABANDONED_SECONDS:
            shutil.rmtree(path, ignore_errors=True)


def _prefix(directory: Path) -> str:
    # a word that nobody gives a folder of their own, since it will be swept
    return f".{directory.name}.unfinished."


def _last_change(folder: Path) -> float:
    """The newest time of change in a folder, its own included."""
    try:
        return max(path.lstat().st_mtime for path in (folder, *folder.rglob("*")))
    except FileNotFoundError:  # somebody is at work in it
        return time.time()


def _refuse_existing(
    directory: Path, force: bool, check_old: Callable[[Path], None] | None
) -> None:
    if check_old is not None:
        check_old(directory)
    if directory.is_dir() and (force or not any(directory.iterdir())):
        return
    if directory.exists() or directory.is_symlink():
        advice = "Give another folder, or replace it with force=True (--force)."
        if not directory.is_dir():
            advice = "Give another path: a file is never replaced by a folder."
        raise FileExistsError(f"{directory}: exists already. {advice}")


def _rename(folder: Path, directory: Path) -> None:
    try:
        if directory.exists():
            _exchange(folder, directory)
        else:
            folder.rename(directory)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOENT):
            raise
        raise FileExistsError(
            f"{directory}: somebody else wrote this folder at the same time; expected to be alone. "
            "Nothing of this run is kept; what stood there before may lie beside it, in "
            f".{directory.name}.old.*. Fix: run it again, one at a time."
        ) from error


def _exchange(folder: Path, directory: Path) -> None:
    aside = Path(tempfile.mkdtemp(prefix=f".{directory.name}.old.", dir=directory.parent))
    old = aside / directory.name
    try:
        directory.rename(old)
        folder.rename(directory)
    except BaseException:
        if not folder.exists():  # it has taken the old one's place already
            shutil.rmtree(aside, ignore_errors=True)
        elif not directory.exists():
            if old.exists():
                old.rename(directory)
            aside.rmdir()
        elif not old.exists():
            aside.rmdir()
        # else somebody else's stands there now, and the old one stays aside
        raise
    shutil.rmtree(aside, ignore_errors=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
