"""Lines of text as they come."""

import io

import pytest

from attention_zoo.commands.text_lines import argument_lines, read_lines


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (b"", []),
        (b"a", ["a"]),
        (b"a\n", ["a"]),
        (b"a\r\nb\r\n", ["a", "b"]),
        (b"a\n\n\nb", ["a", "", "", "b"]),
        (b"\n", [""]),
        (b"\r\n", [""]),
        ("\ufeffa\n\ufeffb".encode(), ["a", "\ufeffb"]),
        (b"a\x00b\n", ["a\x00b"]),
        ("🙂 雨\u2028x\n".encode(), ["🙂 雨\u2028x"]),
        (b"a\rb\n", ["a\rb"]),
    ],
)
def test_lines(content, lines):
    assert list(read_lines(io.BytesIO(content), "f.txt")) == lines


def test_lines_come_one_by_one():
    class Typed(io.RawIOBase):
        asked = 0

        def readline(self):
            self.asked += 1
            return b"x\n"

    typed = Typed()
    lines = read_lines(typed, "f.txt")
    assert [next(lines), next(lines)] == ["x", "x"]
    assert typed.asked == 2


def test_the_place_of_what_is_not_utf8_is_told():
    lines = read_lines(io.BytesIO(b"good\nfatigu\xe9\n"), "f.txt")
    assert next(lines) == "good"
    with pytest.raises(ValueError, match=r"f\.txt:2: byte 0xe9 at column 7 is not UTF-8.*iconv"):
        next(lines)
    utf16 = read_lines(io.BytesIO("a".encode("utf-16")), "f.txt")
    with pytest.raises(ValueError, match=r"f\.txt:1: byte 0xff at column 1"):
        next(utf16)


@pytest.mark.parametrize(
    ("text", "lines"),
    [("a", ["a"]), ("", [""]), ("a\nb\n", ["a", "b"]), ("a\r\n\r\nb", ["a", "", "b"])],
)
def test_an_argument_is_a_line_or_several(text, lines):
    assert argument_lines(text) == lines


def test_an_argument_that_is_not_utf8():
    with pytest.raises(ValueError, match="TEXT: byte 0xe9 at column 2 is not UTF-8"):
        argument_lines("a\udce9")
