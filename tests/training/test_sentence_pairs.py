"""Sentence pairs from files, good and bad."""

import gzip
import zipfile

import pytest

from attention_zoo.training import SentencePair
from attention_zoo.training.sentence_pairs import PairFileError, read_aligned, read_tsv

TWO = [SentencePair("Va !", "Go."), SentencePair("Il pleut.", "It's raining.")]
TEXT = b"Va !\tGo.\nIl pleut.\tIt's raining.\n"


def packed(path, content):
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(content))
    elif path.suffix == ".zip":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("_about.txt", "not pairs")
            archive.writestr("fra.txt", content)
    else:
        path.write_bytes(content)
    return path


@pytest.mark.parametrize("name", ["pairs.tsv", "pairs.txt", "pairs.tsv.gz", "fra-eng.zip"])
def test_a_file_is_read_however_it_is_packed(tmp_path, name):
    read = read_tsv(packed(tmp_path / name, TEXT))
    assert read.pairs == TWO
    assert read.skipped == {}


@pytest.mark.parametrize(
    "content",
    [
        TEXT.removesuffix(b"\n"),
        TEXT.replace(b"\n", b"\r\n"),
        b"\xef\xbb\xbf" + TEXT,
        TEXT.replace(b"\n", b"\tCC-BY 2.0 (France) Attribution: tatoeba.org #1\n"),
        TEXT.replace(b"\t", b" \t  "),
    ],
    ids=["no last line end", "Windows", "byte order mark", "third column", "spaces"],
)
def test_what_differs_between_files_of_one_content(tmp_path, content):
    assert read_tsv(packed(tmp_path / "pairs.tsv", content)).pairs == TWO


def test_columns_are_chosen(tmp_path):
    path = packed(tmp_path / "x.tsv", b"1\tfra\tVa !\teng\tGo.\n")
    assert read_tsv(path, 2, 4).pairs == TWO[:1]
    assert read_tsv(path, 4, 2).pairs == [SentencePair("Go.", "Va !")]
    with pytest.raises(PairFileError, match=r"target_column must be 0 or more, got -1"):
        read_tsv(path, 0, -1)


def test_a_line_separator_within_a_sentence_does_not_end_the_line(tmp_path):
    path = packed(tmp_path / "x.tsv", "a\u2028b\x0bc\td\x85e\n".encode())
    assert read_tsv(path).pairs == [SentencePair("a\u2028b\x0bc", "d\x85e")]


BAD_LINES = {
    "too few columns": (b"only one column", "expected at least 2 tab-separated columns, got 1"),
    "bad UTF-8": (b"caf\xe9\tcoffee", "expected UTF-8, got the byte 0xe9 at byte 4"),
    "NUL byte": (b"a\0b\tc", "got a NUL byte"),
    "empty line": (b" \t", "expected a pair of sentences, got nothing"),
    "empty source": (b" \tc", "expected a source sentence, got nothing"),
    "empty target": (b"a\t\t", "expected a target sentence, got nothing"),
}


@pytest.mark.parametrize("reason", BAD_LINES)
def test_a_bad_line_is_an_error_with_its_number_or_a_counted_skip(tmp_path, reason):
    line, told = BAD_LINES[reason]
    first, second, end = TEXT.split(b"\n")
    path = packed(tmp_path / "pairs.tsv", b"\n".join([first, line, line, second, end]))
    with pytest.raises(PairFileError, match="--skip-bad") as error:
        read_tsv(path)
    assert str(error.value).startswith(f"{path}:2: ")
    if reason != "empty line":
        assert told in str(error.value)
    read = read_tsv(path, skip_bad=True)
    assert read.pairs == TWO
    assert read.skipped == {reason: 2}


def test_a_file_in_another_encoding_is_told_by_its_first_line(tmp_path):
    path = packed(tmp_path / "pairs.tsv", TEXT.decode().encode("utf-16"))
    with pytest.raises(PairFileError, match=r"pairs\.tsv:1: expected UTF-8, got the byte 0xff"):
        read_tsv(path)


def test_a_column_that_no_line_has_says_so_and_counts_them(tmp_path):
    path = packed(tmp_path / "pairs.tsv", TEXT)
    with pytest.raises(PairFileError, match=r":1: expected at least 6 .* got 2"):
        read_tsv(path, 0, 5)
    with pytest.raises(PairFileError, match=r"got none \(2 x too few columns\)"):
        read_tsv(path, 0, 5, skip_bad=True)


def test_an_empty_file_is_an_error(tmp_path):
    with pytest.raises(PairFileError, match=r"got none \(no lines\)"):
        read_tsv(packed(tmp_path / "pairs.tsv", b""))


@pytest.mark.parametrize("name", ["none.tsv", "none.gz", "none.zip"])
def test_a_missing_file_is_an_error_that_names_it(tmp_path, name):
    with pytest.raises(PairFileError, match=rf"{name}: .*No such file"):
        read_tsv(tmp_path / name)


def test_a_folder_is_an_error(tmp_path):
    with pytest.raises(PairFileError, match=r"Is a directory"):
        read_tsv(tmp_path)


@pytest.mark.parametrize("name", ["pairs.gz", "pairs.zip"])
@pytest.mark.parametrize("share", [0.0, 0.3, 0.9])
def test_a_packed_file_that_was_cut_is_an_error(tmp_path, name, share):
    content = packed(tmp_path / name, TEXT * 99).read_bytes()
    path = tmp_path / name
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(PairFileError, match=rf"{name}: expected"):
        read_tsv(path)


def test_a_packed_file_with_a_changed_byte_is_an_error(tmp_path):
    path = packed(tmp_path / "pairs.gz", TEXT * 99)
    content = bytearray(path.read_bytes())
    content[20] ^= 0xFF
    path.write_bytes(content)
    with pytest.raises(PairFileError, match=r"pairs\.gz: expected a readable file"):
        read_tsv(path)


@pytest.mark.parametrize("names", [[], ["a.txt", "b.tsv"]])
def test_an_archive_must_hold_one_file_of_pairs(tmp_path, names):
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        for name in names:
            archive.writestr(name, TEXT)
    with pytest.raises(PairFileError, match=r"x\.zip: expected one \.txt or \.tsv file"):
        read_tsv(tmp_path / "x.zip")


@pytest.fixture
def aligned(tmp_path):
    """A function that writes two files and gives their paths."""

    def write(source, target):
        return packed(tmp_path / "train.fr", source), packed(tmp_path / "train.en.gz", target)

    return write


def test_aligned_files_are_read_line_by_line(aligned):
    read = read_aligned(*aligned(b"Va !\r\nIl pleut.", b"Go.\nIt's raining.\n"))
    assert read.pairs == TWO
    assert read.skipped == {}


@pytest.mark.parametrize(
    ("source", "target", "where", "reason"),
    [
        (b"Va !\n\nIl pleut.\n", b"Go.\nx\nIt's raining.\n", "train.fr:2", "empty source"),
        (b"Va !\nx\nIl pleut.\n", b"Go.\n \nIt's raining.\n", "train.en.gz:2", "empty target"),
        (b"Va !\n\nIl pleut.\n", b"Go.\n\nIt's raining.\n", "train.fr:2", "empty line"),
        (b"Va !\n\xff\nIl pleut.\n", b"Go.\nx\nIt's raining.\n", "train.fr:2", "bad UTF-8"),
        (b"Va !\nx\nIl pleut.\n", b"Go.\n\xff\nIt's raining.\n", "train.en.gz:2", "bad UTF-8"),
        (b"Va !\nx\nIl pleut.\n", b"Go.\n\0\nIt's raining.\n", "train.en.gz:2", "NUL byte"),
        (b"Va !\nIl pleut.\nx\n", b"Go.\nIt's raining.\n", "train.fr:3", "line in one file only"),
        (b"Va !\nIl pleut.\n", b"Go.\nIt's raining.\nx", "train.en.gz:3", "line in one file only"),
    ],
)
def test_bad_lines_of_aligned_files(aligned, source, target, where, reason):
    paths = aligned(source, target)
    with pytest.raises(PairFileError) as error:
        read_aligned(*paths)
    assert str(error.value).startswith(f"{paths[0].parent / where}: expected ")
    read = read_aligned(*paths, skip_bad=True)
    assert read.pairs == TWO
    assert read.skipped == {reason: 1}


def test_unequal_line_counts_name_the_shorter_file_and_where_it_ends(aligned):
    with pytest.raises(PairFileError, match=r"train\.fr:2: .*train\.en\.gz, which ends at line 1"):
        read_aligned(*aligned(b"a\nb\nc\n", b"x\n"))


def test_our_own_pairs_are_whole(pairs_file):
    read = read_tsv(pairs_file)
    assert len(read.pairs) >= 150
    assert len({*read.pairs}) == len(read.pairs)
    assert read.pairs[0] == SentencePair("Bonjour !", "Hello!")


def test_one_column_cannot_be_both_sides(tmp_path):
    path = tmp_path / "pairs.tsv"
    path.write_text("Va !\tGo.\n", encoding="utf-8")
    with pytest.raises(PairFileError, match="source_column and target_column are both 1"):
        read_tsv(path, source_column=1)
