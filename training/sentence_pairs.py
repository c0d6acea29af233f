"""Pairs of sentences from files: tab-separated, or two files aligned by line."""

from __future__ import annotations

import gzip
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class PairFileError(ValueError):
    """A file of sentence pairs that cannot be read, with the line where there is one."""


@dataclass(frozen=True, slots=True)
class SentencePair:
    """A sentence and its translation."""

    source: str
    target: str


@dataclass(frozen=True)
class ReadPairs:
    """The pairs of a file in its order, and reason -> number of the lines that were left out."""

    pairs: list[SentencePair]
    skipped: dict[str, int]


class _BadLine(Exception):
    """Why a line gives no pair: `reason` to count by, `detail` to tell, `fix` what to do."""

    def __init__(self, reason: str, detail: str, fix: str) -> None:
        super().__init__(reason)
        self.reason, self.detail, self.fix = reason, detail, fix


def read_tsv(
    path: str | Path,
    source_column: int = 0,
    target_column: int = 1,
    skip_bad: bool = False,
    *,
    content: bytes | None = None,
    separator: str = "\t",
    keep_empty: bool = False,
) -> ReadPairs:
    """Read tab-separated sentence pairs: plain text, `.gz`, or the only text file of a `.zip`.

    Columns count from 0; further columns are ignored (the files of manythings.org have a third one
    for the attribution). Lines may end as on Windows, the last one need not end.

    Args:
        path: of the file.
        source_column, target_column: which columns to read.
        skip_bad: count and leave out lines with too few columns, bad UTF-8, a NUL byte or an
            empty side, rather than raise.
        content: the plain text itself; `path` is then only its name in messages.
        separator: what stands between columns, where it is no tab.
        keep_empty: take empty lines and empty sides as they are, so that pairs and lines have the
            same numbers.

    Raises:
        PairFileError: names the file and the line; also where no pair is left.
    """
    path = Path(path)
    for name, column in (("source_column", source_column), ("target_column", target_column)):
        if column < 0:
            raise PairFileError(f"{path}: {name} must be 0 or more, got {column}.")
    if source_column == target_column:
        raise PairFileError(
            f"{path}: source_column and target_column are both {source_column}; expected two "
            "columns. Fix: 0 and 1 are the usual ones."
        )
    needed = max(source_column, target_column) + 1

    def pair_of(line: bytes) -> SentencePair:
        text = _decoded(line)
        if not text.strip():
            if keep_empty:
                return SentencePair("", "")
            raise _empty_line()
        cells = text.split(separator)
        if len(cells) < needed:
            kind, mark = ("tab", "a tab") if separator == "\t" else (separator, separator)
            raise _BadLine(
                "too few columns",
                f"expected at least {needed} {kind}-separated columns, got {len(cells)}",
                f"put {mark} between the sentences, or name other columns",
            )
        return _pair(cells[source_column], cells[target_column], keep_empty)

    pairs: list[SentencePair] = []
    skipped: Counter[str] = Counter()
    for number, line in enumerate(_lines(path, content), start=1):
        try:
            pairs.append(pair_of(line))
        except _BadLine as bad:
            _skip_or_raise(bad, f"{path}:{number}", skip_bad, skipped, offer=not keep_empty)
    return _read(pairs, skipped, str(path))


def read_aligned(
    source_file: str | Path,
    target_file: str | Path,
    skip_bad: bool = False,
    *,
    keep_empty: bool = False,
) -> ReadPairs:
    """Read two text files, plain or `.gz`, whose lines are translations of each other.

    Args:
        source_file, target_file: one sentence a line, UTF-8.
        skip_bad: count and leave out pairs with bad UTF-8, a NUL byte or an empty side, and the
            lines that only one of the files has, rather than raise.
        keep_empty: as for `read_tsv`.

    Raises:
        PairFileError: names the file and the line; also where no pair is left.
    """
    source_file, target_file = Path(source_file), Path(target_file)
    pairs: list[SentencePair] = []
    skipped: Counter[str] = Counter()
    lines = zip_longest(_lines(source_file), _lines(target_file))
    for number, (source, target) in enumerate(lines, start=1):
        path = source_file
        try:
            if source is None or target is None:
                path, other = source_file, target_file
                if source is None:
                    path, other = target_file, source_file
                raise _BadLine(
                    "line in one file only",
                    f"expected as many lines as in {other}, which ends at line {number - 1}",
                    "two files with a line for each line of the other",
                )
            source_text = _decoded(source)
            path = target_file
            target_text = _decoded(target)
            path = source_file if not source_text.strip() else target_file
            pairs.append(_pair(source_text, target_text, keep_empty))
        except _BadLine as bad:
            _skip_or_raise(bad, f"{path}:{number}", skip_bad, skipped, offer=not keep_empty)
    return _read(pairs, skipped, f"{source_file}, {target_file}")


def _read(pairs: list[SentencePair], skipped: Counter[str], name: str) -> ReadPairs:
    if not pairs:
        counted = ", ".join(f"{n} x {reason}" for reason, n in skipped.items()) or "no lines"
        raise PairFileError(f"{name}: expected sentence pairs, got none ({counted}).")
    return ReadPairs(pairs, dict(skipped))


def _skip_or_raise(
    bad: _BadLine, where: str, skip_bad: bool, skipped: Counter[str], offer: bool
) -> None:
    if not skip_bad:
        other = "; or leave such lines out (skip_bad, on the command line --skip-bad)"
        raise PairFileError(f"{where}: {bad.detail}. Fix: {bad.fix}{other if offer else ''}.")
    skipped[bad.reason] += 1


def _decoded(line: bytes) -> str:
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _BadLine(
            "bad UTF-8",
            f"expected UTF-8, got the byte {line[error.start]:#04x} at byte {error.start + 1} "
            "of the line",
            "convert the file to UTF-8",
        ) from error
    if "\0" in text:
        raise _BadLine("NUL byte", "expected text, got a NUL byte", "remove the byte")
    return text


def _empty_line() -> _BadLine:
    return _BadLine("empty line", "expected a pair of sentences, got nothing", "remove the line")


def _pair(source: str, target: str, keep_empty: bool = False) -> SentencePair:
    source, target = source.strip(), target.strip()
    if keep_empty:
        return SentencePair(source, target)
    for side, text in (("source", source), ("target", target)):
        if not text:
            if not source and not target:
                raise _empty_line()
            raise _BadLine(
                f"empty {side}", f"expected a {side} sentence, got nothing", "remove the line"
            )
    return SentencePair(source, target)


def _lines(path: Path, content: bytes | None = None) -> Iterator[bytes]:
    """The lines of a file without their ends, unpacked where its name says that it is packed."""
    try:
        content = _content(path) if content is None else content
    except (OSError, EOFError, zlib.error, zipfile.BadZipFile) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise PairFileError(
            f"{path}: expected a readable file of sentences, got an error: {reason}. "
            "Fix: the path, or a whole copy of the file."
        ) from error
    lines = content.removeprefix(BYTE_ORDER_MARK).split(b"\n")
    if not lines[-1]:  # behind the last line's end
        lines.pop()
    return (line.removesuffix(b"\r") for line in lines)


def _content(path: Path) -> bytes:
    if path.suffix == ".gz":
        with gzip.open(path) as file:
            return file.read()
    if path.suffix != ".zip":
        return path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        texts = [
            name
            for name in archive.namelist()
            if name.endswith((".txt", ".tsv")) and not Path(name).name.startswith(("_", "."))
        ]
        if len(texts) != 1:
            raise PairFileError(
                f"{path}: expected one .txt or .tsv file of pairs in the archive, "
                f"got {texts or 'none'}. Fix: unpack it and name the file."
            )
        return archive.read(texts[0])
