"""Cuts a source that is longer than a model can read well, where it hurts least."""

from __future__ import annotations

from collections.abc import Sequence

# also of scripts that put no space behind a sentence
_ENDS = (".", "!", "?", "…", "。", "！", "？", "।", "۔", "؟")
_SPACE = "\u2581"


def parts_of(pieces: Sequence[str], room: int) -> list[slice]:
    """Slices of `pieces`, in order and together all of them, each of at most `room` pieces.

    A part ends behind the last end of a sentence that fits, otherwise before the last word that
    does not fit, and inside a word only where a word alone is longer than a part.

    Args:
        pieces: pieces of a text as SentencePiece gives them, U+2581 at the beginning of a word,
            without eos.
        room: at least 1.
    """
    parts = []
    first = 0
    while len(pieces) - first > room:
        last = first + _place(pieces[first : first + room + 1], room)
        parts.append(slice(first, last))
        first = last
    parts.append(slice(first, len(pieces)))
    return parts


def _place(window: Sequence[str], room: int) -> int:
    """How many pieces of the window (room + 1 of them) the part takes."""
    starts = [place for place in range(1, room + 1) if window[place].startswith(_SPACE)]
    sentences = [place for place in starts if window[place - 1].endswith(_ENDS)]
    # scripts without spaces
    sentences = sentences or [
        place for place in range(1, room + 1) if window[place - 1].endswith(_ENDS[4:])
    ]
    return (sentences or starts or [room])[-1]
