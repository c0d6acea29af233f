"""Files that are added to a folder, all of them or none, beside what else is in it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def files_added_to(directory: Path, names: Collection[str], force: bool) -> Iterator[Path]:
    """A new folder to write files into, which are moved to `directory` if the block ends well.

    What else `directory` holds stays as it is.

    Args:
        directory: made if it is not there.
        names: of the files that are known to come; asked for before any work is done.
        force: replace files of the same names.

    Raises:
        FileExistsError: a file of that name is there, and `force` is not given; or a folder, which
            `force` does not replace.
    """
    _refuse(directory, names, force)
    is_new = not directory.exists()
    directory.mkdir(parents=True, exist_ok=True)
    try:
        with tempfile.TemporaryDirectory(prefix=".unfinished.", dir=directory) as folder:
            yield Path(folder)
            written = sorted(path.name for path in Path(folder).iterdir())
            _refuse(directory, written, force)
            for name in written:
                os.replace(Path(folder, name), directory / name)
    except BaseException:
        if is_new:
            with suppress(OSError):  # somebody else put something there
                directory.rmdir()
        raise


def _refuse(directory: Path, names: Collection[str], force: bool) -> None:
    for name in sorted(names):
        path = directory / name
        if path.is_dir() and not path.is_symlink():
            raise FileExistsError(
                f"{path}: is a folder; expected a file or nothing. Fix: give another folder, or "
                "move it away."
            )
        if not force and os.path.lexists(path):
            raise FileExistsError(
                f"{path}: exists already. Give another folder, or replace it by --force."
            )
