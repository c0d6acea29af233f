"""Files that are never half there."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

LEFT_BY_A_KILL = ".*.partial.*"
"""Pattern of the names that a process killed in the middle of writing leaves behind."""


@contextmanager
def written_beside(path: str | Path) -> Iterator[Path]:
    """A place beside ``path`` to write to; renamed to ``path`` if the block ends well.

    Whatever happens, ``path`` holds all of the old or all of the new content. The name keeps the
    suffix, which some writers go by, and has the number of the process in it, so that two processes
    do not write into one file.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.stem}.{os.getpid()}.partial{path.suffix}")
    try:
        yield beside
        os.replace(beside, path)
    except OSError as error:
        # a write that fails knows no name, or that of a file which nobody asked for
        if error.errno is None or error.filename not in (None, str(beside), beside):
            raise
        raise OSError(error.errno, os.strerror(error.errno), str(path)) from error
    finally:
        beside.unlink(missing_ok=True)
