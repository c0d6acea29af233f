"""What an evaluation of several models and test sets writes."""

from pathlib import Path

import pytest

from attention_zoo.commands.held_out import HeldOut
from attention_zoo.commands.translation_evaluation import (
    Evaluation,
    Method,
    content,
    path_for,
    plot,
    show,
    write_hypotheses,
)
from attention_zoo.training.bleu import score_translations
from attention_zoo.training.corpus_translation import Beam
from attention_zoo.training.translation_data import Referenced

PARTS = {
    "test2016": [Referenced("a b c", ("the cat is here now",)), Referenced("d", ("yes",))],
    "test2017": [Referenced("e f", ("the dog was there then", "so it was"))],
}
DATA = HeldOut("some data", PARTS)
METHOD = Method(Beam(12, 0.6), "none", True, 64)


def evaluation(model, part, hypotheses):
    entries = PARTS[part]
    scores = score_translations(
        hypotheses, [entry.references for entry in entries], [entry.source for entry in entries]
    )
    return Evaluation(model, part, scores, hypotheses, 0.5)


EVERY = [
    evaluation("runs/a", "test2016", ["the cat is here", "a line\nand another"]),
    evaluation("runs/a", "test2017", ["the dog was there then"]),
    evaluation("runs/b", "test2016", ["the cat is here now", "yes"]),
    evaluation("runs/b", "test2017", ["so"]),
]


def test_hypotheses_have_a_file_for_each_model_and_part(tmp_path):
    written = write_hypotheses(EVERY, tmp_path / "out.txt")
    assert [path.name for path in written] == [
        "out.a.test2016.txt",
        "out.a.test2017.txt",
        "out.b.test2016.txt",
        "out.b.test2017.txt",
    ]
    assert written[0].read_text() == "the cat is here\na line and another\n"
    assert write_hypotheses(EVERY[:1], tmp_path / "one.txt") == [tmp_path / "one.txt"]


@pytest.mark.parametrize(
    ("models", "names"),
    [
        (["runs/a"], ["out.txt"]),
        (["runs/a", "b.keras"], ["out.a.txt", "out.b.keras.txt"]),
        (["x/run", "y/run"], ["out.x_run.txt", "out.y_run.txt"]),
        (["bahdanau_gru.fr_en", "x"], ["out.bahdanau_gru.fr_en.txt", "out.x.txt"]),
    ],
)
def test_no_two_models_write_to_one_file(models, names):
    every = [evaluation(model, "test2017", ["so it was"]) for model in models]
    assert [path_for(Path("out.txt"), one, every).name for one in every] == names


def test_a_picture_for_each_part(tmp_path):
    written = plot(EVERY, DATA, tmp_path / "bleu.png")
    assert [path.name for path in written] == ["bleu.test2016.png", "bleu.test2017.png"]
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in written)


def test_the_tables_and_the_json_hold_every_score(capsys):
    show(EVERY, DATA, METHOD)
    shown = capsys.readouterr().out
    assert "some data: beam 12, length penalty 0.6" in shown
    found = content(EVERY, DATA, METHOD)
    assert found["search"] == {"beam_width": 12, "length_penalty": 0.6}
    for one in EVERY:
        entry = found["models"][one.model][one.part]
        assert entry.pop("seconds") == 0.5
        assert entry == one.scores.to_dict()
        assert any(
            one.model in line and one.part in line and f"{one.scores.bleu:.2f}" in line
            for line in shown.splitlines()
        )
    # the parts differ in their references, so each has its signature
    assert shown.count("BLEU nrefs:1|") == shown.count("BLEU nrefs:2|") == 1
