"""Word alignments made by people, sure and possible, from a file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from attention_zoo.explain.word_links import Link

_LINK = re.compile(r"(\d+)([-p?])(\d+)")


class GoldFileError(ValueError):
    """A file of gold alignments that cannot be read, or that is of other pairs."""


@dataclass(frozen=True)
class GoldLinks:
    """The links of one pair: sure ones, and possible ones, among which are the sure ones."""

    sure: frozenset[Link]
    possible: frozenset[Link]


def read_gold(
    path: str | Path,
    sizes: Sequence[tuple[int, int]],
    *,
    base: int | None = None,
    reverse: bool = False,
) -> list[GoldLinks]:
    """Read gold alignments, a line a pair: `1-1 2-3 4p3`, sure with `-`, possible with `p` or `?`.

    Args:
        path: of the file, UTF-8.
        sizes: (words of the first side, words of the second side) of each pair, in the order in
            which the file counts them.
        base: what the first word is called, 0 or 1; None: 0 where the file has a 0 anywhere, and
            1 otherwise.
        reverse: give the links as (second side, first side), for a model that translates the other
            way round.

    Raises:
        GoldFileError: names the file and the line: not a link, a word that the pair does not have,
            or another number of lines than pairs.
    """
    path = Path(path)
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise GoldFileError(
            f"{path}: expected a readable file of gold alignments, got an error: {reason}. "
            "Fix: the path, or a whole copy of the file."
        ) from error
    if len(lines) != len(sizes):
        raise GoldFileError(
            f"{path}: expected a line for each of the {len(sizes)} pairs, got {len(lines)} lines. "
            "Fix: the gold alignments of these pairs; an unaligned pair is an empty line."
        )
    rows = [_links(line, f"{path}:{number}") for number, line in enumerate(lines, start=1)]
    if base is None:
        base = 0 if any(0 in (first, second) for row in rows for first, second, _ in row) else 1
    return [
        _gold(row, size, base, reverse, f"{path}:{number}")
        for number, (row, size) in enumerate(zip(rows, sizes, strict=True), start=1)
    ]


def _links(line: str, where: str) -> list[tuple[int, int, str]]:
    found = []
    for word in line.split():
        match = _LINK.fullmatch(word)
        if match is None:
            raise GoldFileError(
                f"{where}: expected links such as 3-2 (sure) or 3p2 (possible), got {word!r}. "
                "Fix: one line a pair, links separated by spaces."
            )
        found.append((int(match[1]), int(match[3]), match[2]))
    return found


def _gold(
    row: list[tuple[int, int, str]], size: tuple[int, int], base: int, reverse: bool, where: str
) -> GoldLinks:
    sure, possible = set(), set()
    for first, second, kind in row:
        places = (first - base, second - base)
        if not all(0 <= place < words for place, words in zip(places, size, strict=True)):
            raise GoldFileError(
                f"{where}: the link {first}{kind}{second} is outside the pair, which has "
                f"{size[0]} and {size[1]} words counted from {base}. Fix: the pairs that the file "
                "was made for, in their order and tokenised as there."
            )
        link = places[::-1] if reverse else places
        possible.add(link)
        if kind == "-":
            sure.add(link)
    return GoldLinks(frozenset(sure), frozenset(possible))
