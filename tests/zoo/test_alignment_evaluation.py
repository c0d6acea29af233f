"""`attention-zoo evaluate --alignments`, and the alignment accuracy of copies."""

import json
import re

import pytest

from attention_zoo.cli import main

TWO_FILES = ("--test-source", "BITEXT", "--test-target", "BITEXT")
MODELS = ("bahdanau_gru.fr_en", "luong_general_gru.fr_en")


@pytest.fixture(scope="module")
def data(checkout):
    return checkout / "tests" / "data"


@pytest.fixture(scope="module")
def evaluated(data, tmp_path_factory):
    """(what the command printed, what it wrote) for the presets on the pairs of the tests."""
    from contextlib import redirect_stdout
    from io import StringIO

    path, out = tmp_path_factory.mktemp("numbers") / "aer.json", StringIO()
    with redirect_stdout(out):
        arguments = ["--alignments", str(data / "aligned.fr-en.gold"), "--json", str(path)]
        arguments += ["--bitext", str(data / "aligned.fr-en.txt")]
        assert main(["evaluate", *MODELS, *arguments]) == 0
    return out.getvalue(), json.loads(path.read_text())


def by_hand(lines, gold):
    """Precision, recall and AER of lines of links against lines of gold, from the definition."""
    found = sure = found_sure = found_possible = 0
    for line, people in zip(lines, gold, strict=True):
        links = set(line.split())
        kinds = {}
        for word in people.split():
            first, kind, second = re.fullmatch(r"(\d+)([-p])(\d+)", word).groups()
            kinds[f"{int(first) - 1}-{int(second) - 1}"] = kind
        found += len(links)
        sure += sum(kind == "-" for kind in kinds.values())
        found_sure += sum(kinds.get(link) == "-" for link in links)
        found_possible += sum(link in kinds for link in links)
    aer = 1 - (found_sure + found_possible) / (found + sure)
    return [round(100 * it, 2) for it in (found_possible / found, found_sure / sure, aer)]


@pytest.mark.parametrize("model", MODELS)
def test_figures_are_those_of_the_links_that_align_prints(data, evaluated, model, capfd):
    gold = (data / "aligned.fr-en.gold").read_text().splitlines()
    for convention in ("current", "next"):
        arguments = ["--bitext", str(data / "aligned.fr-en.txt"), "--words"]
        assert main(["align", model, *arguments, "--convention", convention]) == 0
        lines = capfd.readouterr().out.splitlines()
        figures = evaluated[1]["models"][model][convention]["argmax"]
        expected = by_hand(lines, gold)
        assert [figures[it] for it in ("precision", "recall", "aer")] == pytest.approx(expected)


def test_the_default_convention_is_the_better_one_and_beats_chance(evaluated):
    shown, content = evaluated
    assert content["pairs"] == 11
    assert content["gold"] == "aligned.fr-en.gold"
    for model in MODELS:
        current, following = (
            content["models"][model][it]["argmax"]["aer"] for it in ("current", "next")
        )
        assert current < following
        assert current < content["without_a_model"]["random"]["aer"]
        assert f"{current:.1f}" in shown
    assert len(content["models"][MODELS[0]]["current"]["threshold"]["thresholds"]) == 2


def test_the_other_way_round_and_in_two_files(data, evaluated, tmp_path, capfd):
    """Pairs and gold turned round and read with --reverse give the same figures."""
    rows = [line.split(" ||| ") for line in (data / "aligned.fr-en.txt").read_text().splitlines()]
    english, french, gold = (tmp_path / name for name in ("en", "fr", "gold"))
    french.write_text("\n".join(source for source, _ in rows))
    english.write_text("\n".join(target for _, target in rows))
    turned = re.sub(r"(\d+)([-p])(\d+)", r"\3\2\1", (data / "aligned.fr-en.gold").read_text())
    gold.write_text(turned)
    path = tmp_path / "numbers.json"
    arguments = ["--test-source", str(english), "--test-target", str(french), "--reverse"]
    arguments += ["--alignments", str(gold), "--json", str(path)]
    assert main(["evaluate", MODELS[1], *arguments]) == 0
    found = json.loads(path.read_text())["models"]
    assert found == {MODELS[1]: evaluated[1]["models"][MODELS[1]]}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--bitext", "BITEXT"], "--bitext goes with --alignments"),
        (["--alignments", "GOLD"], "name them by --bitext"),
        (["--alignments", "GOLD", "--bitext", "BITEXT", "--beam-width", "3"], "--beam-width"),
        (["--alignments", "GOLD", "--bitext", "BITEXT", "--plot", "x.png"], "--plot"),
        (["--alignments", "BITEXT", "--bitext", "BITEXT"], "aligned.fr-en.txt:1: expected links"),
        (
            ["--alignments", "GOLD", *("--bitext", "BITEXT"), *TWO_FILES],
            "name them by --bitext, or by",
        ),
    ],
)
def test_mistakes(data, arguments, words, capfd):
    places = {
        name: str(data / f"aligned.fr-en.{end}")
        for name, end in (("GOLD", "gold"), ("BITEXT", "txt"))
    }
    assert main(["evaluate", MODELS[0], *(places.get(it, it) for it in arguments)]) == 2
    err = capfd.readouterr().err
    assert words in err
    assert "Traceback" not in err


def test_copies_have_no_alignments_of_people(data, capfd):
    arguments = ["--alignments", str(data / "aligned.fr-en.gold")]
    assert main(["evaluate", "bahdanau_gru.copy", *arguments]) == 2
    assert "--alignments says nothing to a model that copies ids" in capfd.readouterr().err


def test_copies_are_held_against_the_diagonal(tmp_path, capfd):
    path = tmp_path / "numbers.json"
    models = ["luong_general_gru.copy", "seq2seq_gru.copy"]
    arguments = ["--lengths", "5,11", "-n", "7", "--json", str(path)]
    assert main(["evaluate", *models, *arguments]) == 0
    shown = capfd.readouterr().out
    attending, plain = json.loads(path.read_text())["models"]
    for figures in attending["lengths"].values():
        assert figures["alignment"] > 0.9
        assert f"{figures['alignment']:.4f}" in shown
    assert [figures["alignment"] for figures in plain["lengths"].values()] == [None, None]
    assert shown.count("alignment accuracy") == 1
