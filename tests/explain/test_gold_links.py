"""Reading gold alignments: counted from 0 or 1, either way round, and mistakes by line."""

import pytest

from attention_zoo.explain.gold_links import GoldFileError, GoldLinks, read_gold

SIZES = [(3, 2), (2, 5), (1, 1)]


@pytest.fixture
def gold_file(tmp_path):
    def write(content):
        path = tmp_path / "gold.txt"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def gold(sure, possible=()):
    return GoldLinks(frozenset(sure), frozenset([*sure, *possible]))


def test_sure_and_possible_links_from_1(gold_file):
    path = gold_file("1-1 3p2 2?1\n2-5\n\n")
    assert read_gold(path, SIZES) == [gold([(0, 0)], [(2, 1), (1, 0)]), gold([(1, 4)]), gold([])]


def test_a_0_says_that_the_file_counts_from_0(gold_file):
    path = gold_file("1-1\n0-4 1-2\n")
    assert read_gold(path, SIZES[:2]) == [gold([(1, 1)]), gold([(0, 4), (1, 2)])]
    assert read_gold(gold_file("1-1\n1-2\n"), SIZES[:2], base=0)[1] == gold([(1, 2)])


def test_reverse(gold_file):
    path = gold_file("3-1 1p2\r\n1-5\r\n1-1")
    assert read_gold(path, SIZES, reverse=True) == [
        gold([(0, 2)], [(1, 0)]),
        gold([(4, 0)]),
        gold([(0, 0)]),
    ]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("1-1\n1-2 2_3\n1-1\n", r"gold.txt:2: expected links such as 3-2 .*got '2_3'.*Fix"),
        ("1-1\n3-1\n1-1\n", r"gold.txt:2: the link 3-1 is outside the pair.* 2 and 5 words"),
        ("1-1\n1-1\n0-1 1p1\n", r"gold.txt:3: the link 0-1 .* counted from 0"),
        ("1-1\n1-1\n", r"expected a line for each of the 3 pairs, got 2 lines.*Fix"),
        (b"\xff\n\n\n", r"gold.txt: expected a readable file"),
    ],
)
def test_mistakes(gold_file, content, words):
    with pytest.raises(GoldFileError, match=words):
        read_gold(gold_file(content), SIZES)


def test_no_file(tmp_path):
    with pytest.raises(GoldFileError, match=r"nothing: expected a readable file.*Fix"):
        read_gold(tmp_path / "nothing", SIZES)
