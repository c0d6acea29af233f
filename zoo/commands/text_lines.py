"""Lines of text from a file, from standard input or from the command line, as they come."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

_BOM = b"\xef\xbb\xbf"


def read_lines(stream: BinaryIO, name: str) -> Iterator[str]:
    """The lines of a UTF-8 stream without their ends, `\\n` or `\\r\\n`, the last with or without.

    Args:
        stream: opened for bytes; read line by line, so that somebody can type it.
        name: of the file, for the error.

    Raises:
        ValueError: bytes that are not UTF-8; names file, line, byte and column.
    """
    for number, line in enumerate(iter(stream.readline, b""), start=1):
        if number == 1:
            line = line.removeprefix(_BOM)
        yield _decoded(line.removesuffix(b"\n").removesuffix(b"\r"), f"{name}:{number}")


def argument_lines(text: str) -> list[str]:
    """The lines of a text given on the command line; one, unless it has line breaks in it.

    Raises ValueError if it was not UTF-8.
    """
    # what the shell handed over and is not UTF-8 stands in it as lone surrogates
    content = _decoded(text.encode("utf-8", "surrogateescape"), "TEXT")
    return content.replace("\r\n", "\n").removesuffix("\n").split("\n")


def _decoded(line: bytes, place: str) -> str:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{place}: byte 0x{line[error.start]:02x} at column {error.start + 1} is not UTF-8; "
            "expected UTF-8 text. Fix: convert it, for example with `iconv -f LATIN1 -t UTF-8`."
        ) from error
