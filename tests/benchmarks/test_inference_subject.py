"""The model of an inference benchmark, and its work."""

import shutil

import numpy as np
import pytest
from inference_subject import RANDOM_STEPS, Size, random_subject, trained_subject

SIZE = Size(n=5, batch=3)
SETTINGS = {"units": 7, "d_emb": 5, "vocab_source": 23, "vocab_target": 19}


@pytest.mark.parametrize(
    ("max_length", "more", "expected"),
    [(None, {}, RANDOM_STEPS), (13, {}, 13), (None, {"max_length": 11}, 11)],
)
def test_drawn_weights_never_end(max_length, more, expected):
    subject = random_subject("bahdanau_gru", {**SETTINGS, **more}, SIZE, max_length)
    assert subject.max_length == expected
    for source in (*subject.workload.singles, *subject.workload.batches):
        answer = subject.model.greedy(source, subject.max_length)
        assert np.all(answer["lengths"] == expected)
    assert subject.quality_told()[0] == ""


def test_drawn_weights_are_the_same_each_time():
    first, again = (random_subject("seq2seq_gru", SETTINGS, SIZE, 7).model for _ in range(2))
    assert all(
        np.array_equal(one, other)
        for one, other in zip(first.get_weights(), again.get_weights(), strict=True)
    )


def test_a_model_of_the_copy_task_copies():
    subject = trained_subject("bahdanau_gru.copy", None, SIZE, None, None, 3)
    assert (subject.name, subject.n_copies) == ("bahdanau_gru.copy", 3)
    assert subject.max_length == subject.model.config.max_length
    assert subject.quality_told() == (
        "accuracy, %",
        "Accuracy: symbols copied right, 3 sequences of each length.",
    )


def test_a_preset_from_french_has_sentences(translation_folder):
    subject = trained_subject(str(translation_folder), None, SIZE, 13, None, None)
    assert subject.max_length == 13
    assert "5 sentences of pairs.fr-en.tsv" in subject.workload.described
    assert subject.quality_told() == ("", "No BLEU: no test set was given (--evaluate).")


def test_other_languages_need_a_file(translation_folder, tmp_path):
    folder = tmp_path / "bahdanau_gru.xx_en"
    shutil.copytree(translation_folder, folder)
    with pytest.raises(ValueError, match=r"expected source sentences.*Fix: --sentences FILE"):
        trained_subject(str(folder), None, SIZE, None, None, None)
    path = tmp_path / "own.txt"
    path.write_text("Merci.\nBonne nuit.\n", encoding="utf-8")
    subject = trained_subject(str(folder), path, SIZE, None, None, None)
    assert "2 sentences of own.txt" in subject.workload.described


def test_a_model_of_ids_reads_no_sentences(pairs_file):
    with pytest.raises(ValueError, match="a model of ids reads no sentences"):
        trained_subject("bahdanau_gru.copy", pairs_file, SIZE, None, None, None)
