"""Explanations: words and pieces of one answer, and the numbers as they are written."""

import json

import numpy as np
import pytest

from attention_zoo.explain.alignment_files import write_numbers, write_page, write_picture
from attention_zoo.explain.explanation import Explanation, Origin
from attention_zoo.explain.weights_note import WEIGHTS_NOT_REASONS
from attention_zoo.explain.word_merging import merge_pieces, words_of

ORIGIN = Origin("bahdanau_gru.fr_en", "onnx", "greedy", "model.onnx", "ab" * 32)
PIECES = ["▁I", "▁am", "▁ti", "red.", "</s>"]
SOURCE_PIECES = ["▁Je", "▁suis", "▁fatig", "ué.", "</s>"]


@pytest.fixture
def explanation():
    weights = np.random.default_rng(0).dirichlet(np.ones(5), 5).astype(np.float32)
    return Explanation(
        "Je suis fatigué.",
        "I am tired.",
        -0.25,
        [5, 6, 7, 11, 2],
        PIECES,
        SOURCE_PIECES,
        weights,
        ORIGIN,
    )


def test_words_and_pieces(explanation):
    weights, source, target = explanation.view("words")
    assert source == ["Je", "suis", "fatigué.", "</s>"]
    assert target == ["I", "am", "tired.", "</s>"]
    expected = merge_pieces(explanation.alignments, words_of(PIECES), words_of(SOURCE_PIECES))
    np.testing.assert_array_equal(weights, expected)
    weights, source, target = explanation.view("pieces")
    assert (source, target) == (SOURCE_PIECES, PIECES)
    np.testing.assert_array_equal(weights, explanation.alignments)


def test_ids_are_no_words():
    ids = Explanation(
        "7 4",
        "7 4",
        -0.1,
        [7, 4, 2],
        ["7", "4", "</s>"],
        ["7", "4", "</s>"],
        np.eye(3),
        ORIGIN,
        is_text=False,
    )
    weights, source, target = ids.view("words")
    assert source == target == ["7", "4", "</s>"]
    np.testing.assert_array_equal(weights, np.eye(3))
    assert ids.to_dict()["merging"] is None


def test_numbers(explanation, tmp_path):
    write_numbers(explanation, tmp_path / "one.json")
    write_numbers([explanation, explanation], tmp_path / "two.json")
    one = json.loads((tmp_path / "one.json").read_text(encoding="utf-8"))
    assert json.loads((tmp_path / "two.json").read_text(encoding="utf-8")) == [one, one]
    assert (one["model"], one["runtime"], one["search"]) == ("bahdanau_gru.fr_en", "onnx", "greedy")
    assert (one["file"], one["sha256"]) == ("model.onnx", "ab" * 32)
    assert one["note"] == WEIGHTS_NOT_REASONS
    assert "mean over" in one["merging"]
    np.testing.assert_allclose(one["alignments"], explanation.alignments, atol=1e-6)
    np.testing.assert_allclose(one["word_alignments"], explanation.word_alignments, atol=1e-6)
    assert len(one["word_alignments"]) == len(one["words"]) == 4
    assert "fatigué" in (tmp_path / "one.json").read_text(encoding="utf-8")


def test_files_are_whole_or_not_there(explanation, tmp_path):
    write_picture(explanation, tmp_path / "a.png")
    write_page(explanation, tmp_path / "a.html", "pieces")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.html", "a.png"]
    nothing = Explanation("", "", 0.0, [], [], [], np.zeros((0, 0)), ORIGIN)
    with pytest.raises(ValueError, match="at least one target and one source label"):
        write_picture(nothing, tmp_path / "b.png")
    assert not (tmp_path / "b.png").exists()
    write_numbers(nothing, tmp_path / "b.json")
    assert json.loads((tmp_path / "b.json").read_text())["words"] == []
