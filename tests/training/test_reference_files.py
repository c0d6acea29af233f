"""Test sets in line-aligned files."""

import pytest

from attention_zoo.training import read_references
from attention_zoo.training.sentence_pairs import PairFileError
from attention_zoo.training.translation_data import Referenced


@pytest.fixture
def files(tmp_path):
    """Name -> path of a file of three lines; `broken` lacks a sentence in the second."""
    texts = {"source": "un\ndeux\nun\n", "a": "one\ntwo\n1", "b": "a\r\nb\r\nc", "broken": "x\n\ny"}
    for name, text in texts.items():
        (tmp_path / name).write_bytes(text.encode())
    return {name: tmp_path / name for name in texts}


def test_lines_stay_one_each_with_the_references_of_every_file(files):
    assert read_references(files["source"], [files["a"], files["b"]]) == [
        Referenced("un", ("one", "a")),
        Referenced("deux", ("two", "b")),
        Referenced("un", ("1", "c")),
    ]


def test_reverse_and_skipped_lines(files):
    back = read_references(files["source"], [files["a"]], reverse=True)
    assert back[1] == Referenced("two", ("deux",))
    kept = read_references(files["source"], [files["broken"]], skip_bad=True)
    assert kept == [Referenced("un", ("x",)), Referenced("un", ("y",))]


def test_what_cannot_be_read_is_told_with_its_line(files):
    with pytest.raises(PairFileError, match=r"broken:2: expected a target sentence"):
        read_references(files["source"], [files["a"], files["broken"]])


@pytest.mark.parametrize("option", ["reverse", "skip_bad"])
def test_several_references_do_not_go_with_every_option(files, option):
    with pytest.raises(ValueError, match=f"{option} needs one file of references, got 2"):
        read_references(files["source"], [files["a"], files["b"]], **{option: True})
    with pytest.raises(ValueError, match="at least one file of references, got none"):
        read_references(files["source"], [])
