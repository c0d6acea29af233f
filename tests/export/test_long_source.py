"""Where a source that is too long is cut."""

import pytest

from attention_zoo.export.long_source import parts_of

SPACE = "\u2581"


def cut(text, room):
    pieces = text.replace("_", SPACE).split()
    parts = parts_of(pieces, room)
    # in order, all of it, nothing twice
    assert [piece for part in parts for piece in pieces[part]] == pieces
    assert all(len(pieces[part]) <= room for part in parts)
    return [" ".join(pieces[part]).replace(SPACE, "_") for part in parts]


@pytest.mark.parametrize(
    ("text", "room", "expected"),
    [
        ("_a _b _c", 3, ["_a _b _c"]),
        ("_a . _b . _c _d", 5, ["_a . _b .", "_c _d"]),
        ("_a _! _b _c _d", 4, ["_a _!", "_b _c _d"]),
        ("_a . _b _c _d _e", 3, ["_a .", "_b _c _d", "_e"]),
        ("_a b _c d e", 3, ["_a b", "_c d e"]),
        ("_a b c d e", 2, ["_a b", "c d", "e"]),
        ("_a 。 b c d", 4, ["_a 。", "b c d"]),
        ("_3 . 1 4 _b", 4, ["_3 . 1 4", "_b"]),
        ("_a . _b", 2, ["_a .", "_b"]),
        ("_a _b", 1, ["_a", "_b"]),
    ],
)
def test_cut(text, room, expected):
    assert cut(text, room) == expected


def test_a_text_without_any_boundary_is_cut_into_full_parts():
    parts = parts_of(["<0xE4>"] * 5003, 61)
    assert {part.stop - part.start for part in parts[:-1]} == {61}
    assert parts[-1].stop == 5003
    assert len(parts) == -(-5003 // 61)
