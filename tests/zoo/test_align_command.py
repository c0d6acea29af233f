"""`attention-zoo align`: one line out for each pair, wherever pairs come from."""

import io
import sys

import pytest

from attention_zoo.cli import main
from attention_zoo.explain.pair_alignment import align_pairs
from attention_zoo.explain.word_links import format_links, links_by_argmax, links_by_threshold

PAIRS = [
    ("Je suis là .", "I am here ."),
    ("", "Nobody ."),
    ("Il pleut beaucoup .", "It rains a lot ."),
    ("", ""),
    ("Bonjour !", ""),
    ("Bonjour !", "Good morning !"),
]


@pytest.fixture
def align(translation_folder, capfd, monkeypatch):
    """Run the command on some input; returns (exit code, standard output, standard error)."""

    def run(*arguments, content=b"", model=translation_folder):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
        code = main(["align", str(model), *map(str, arguments)])
        return code, *capfd.readouterr()

    return run


@pytest.fixture
def file(tmp_path):
    def write(name, lines, end="\n"):
        path = tmp_path / name
        path.write_text(end.join(lines) + end, encoding="utf-8", newline="")
        return path

    return write


@pytest.fixture(scope="module")
def expected(translation_folder, tokenizers):
    """(link, **options) -> the lines for PAIRS, by the functions that the command joins."""
    from attention_zoo.presets import load_folder

    model = load_folder(translation_folder)

    def lines(link=links_by_argmax, pairs=PAIRS, **options):
        found = align_pairs(model, tokenizers, pairs, **options)
        return "".join(f"{format_links(link(weights))}\n" for weights in found)

    return lines


def tabbed(pairs=PAIRS):
    return [f"{source}\t{target}" for source, target in pairs]


def test_every_pair_has_a_line_wherever_it_comes_from(align, file, expected):
    wanted = expected()
    assert wanted.count("\n") == len(PAIRS)
    assert [bool(line) for line in wanted.split("\n")[:-1]] == [
        True,
        False,
        True,
        False,
        False,
        True,
    ]
    a = file("a.fr", [source for source, _ in PAIRS])
    b = file("a.en", [target for _, target in PAIRS], end="\r\n")
    tsv = file("pairs.tsv", tabbed())
    bitext = file("pairs.txt", [f"{source} ||| {target}" for source, target in PAIRS])
    content = tsv.read_bytes()
    for arguments, given in (
        (("--source-file", a, "--target-file", b), b""),
        (("--tsv", tsv), b""),
        (("--bitext", bitext), b""),
        (("--batch-size", 1), content.removesuffix(b"\n")),
    ):
        assert align(*arguments, content=given) == (0, wanted, "")


def test_options(align, file, expected):
    content = "\n".join(tabbed()).encode()
    _, out, _ = align("--threshold", 0.25, "--convention", "next", content=content)
    wanted = expected(lambda weights: links_by_threshold(weights, 0.25), convention="next")
    assert out == wanted
    assert out != expected()
    pairs = [("a\u00a0b 我们 c", "x y 我们")]
    content = "\n".join(tabbed(pairs)).encode()
    _, out, _ = align("--words", content=content)
    assert out == expected(pairs=pairs, split_on_spaces=True)
    columns = "\n".join(f"0\t{target}\t{source}" for source, target in PAIRS).encode()
    turned = ("--source-column", 1, "--target-column", 2, "--reverse")
    _, out, _ = align(*turned, content=columns)
    assert out == expected()


def test_places_are_those_of_the_words(align):
    _, out, _ = align("--words", content=b"un deux trois\ta b c d\n")
    links = [tuple(map(int, link.split("-"))) for link in out.split()]
    assert sorted(target for _, target in links) == [0, 1, 2, 3]
    assert all(0 <= source < 3 for source, _ in links)


def test_mistakes(align, file):
    a, b = file("a", ["x"]), file("b", ["x", "y"])
    for arguments, content, words in (
        (("--source-file", a), b"", "go together"),
        (("--source-file", a, "--target-file", b), b"", "b:2: expected as many lines"),
        (("--tsv", a, "--bitext", b), b"", "choose one"),
        (
            ("--bitext", a),
            b"",
            "a:1: expected at least 2 |||-separated columns, got 1. Fix: put |||",
        ),
        ((), b"x\ty\nz\n", "standard input:2: expected at least 2 tab-separated columns"),
        ((), b"x\t\xff\n", "expected UTF-8"),
        ((), b"", "expected sentence pairs, got none"),
        (("--threshold", 0), b"x\ty\n", "--threshold"),
        (("--threshold", 1.5), b"x\ty\n", "--threshold"),
        # before anything is read or loaded
        (("--threshold", "nan"), b"", "--threshold"),
        (("--threshold", "-NaN"), b"", "--threshold"),
        (("--threshold", "inf"), b"", "--threshold"),
    ):
        code, out, err = align(*arguments, content=content)
        assert (code, out) == (2, ""), err
        assert words in err
        assert "Traceback" not in err
        assert "--skip-bad" not in err


def test_models_that_cannot_align(align):
    for model, words in (
        ("bahdanau_gru.copy", "no tokenizer"),
        ("seq2seq_gru.fr_en", "without attention"),
    ):
        code, out, err = align(content=b"x\ty\n", model=model)
        assert (code, out) == (2, "")
        assert words in err
