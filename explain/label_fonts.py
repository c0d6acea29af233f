"""Fonts that have the glyphs of some texts, out of those that are installed."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

from matplotlib import font_manager, ft2font

DEFAULT = "DejaVu Sans"
"""Comes with matplotlib, and has Latin, Greek, Cyrillic, Arabic, Hebrew and many signs."""

# spaces, joiners and marks of direction need no glyph
_INVISIBLE = ("Zs", "Cf")
_REGULAR = range(300, 501)


def fonts_for(texts: Iterable[str]) -> tuple[list[str], str]:
    """Names of fonts to fall back on in order, and the characters that none of them has.

    The default font comes first. Where it lacks something, all installed fonts are looked through,
    those too that were installed after matplotlib listed them, and the one that has most of what
    is missing is taken, until nothing is missing or nothing helps.
    """
    needed = {
        character
        for text in texts
        for character in text
        if unicodedata.category(character) not in _INVISIBLE
    }
    names = [DEFAULT]
    missing = needed - _covered(font_manager.findfont(DEFAULT), needed)
    candidates = _installed() if missing else {}
    while missing and candidates:
        found = {name: _covered(path, missing) for name, path in candidates.items()}
        best = max(found, key=lambda name: len(found[name]))
        if not found[best]:
            break
        names.append(best)
        missing -= found[best]
        candidates = {name: path for name, path in candidates.items() if found[name] & missing}
    return names, "".join(sorted(missing))


def _installed() -> dict[str, str]:
    """Name -> file of every upright font of usual weight."""
    manager = font_manager.fontManager
    known = {entry.fname for entry in manager.ttflist}
    for path in font_manager.findSystemFonts():
        if path not in known:
            try:
                manager.addfont(path)
            except (OSError, RuntimeError, ValueError):
                continue  # no font that matplotlib can read
    return {
        entry.name: entry.fname
        for entry in manager.ttflist
        if entry.style == "normal"
        and _weight(entry.weight) in _REGULAR
        # draws a box for every character there is
        and not entry.name.startswith("Last Resort")
    }


def _weight(weight: int | str) -> int:
    return font_manager.weight_dict.get(weight, 400) if isinstance(weight, str) else int(weight)


def _covered(path: str, characters: set[str]) -> set[str]:
    """The characters that the font of a file has glyphs for."""
    try:
        font = ft2font.FT2Font(path)
    except (OSError, RuntimeError, ValueError):
        return set()
    if not font.face_flags & ft2font.FaceFlags.SCALABLE:
        return set()  # pictures of one size, as of coloured emoji
    return {character for character in characters if font.get_char_index(ord(character))}
