"""`attention-zoo explain`: files of one sentence, from Keras and from exported files alike."""

import json
import shutil
import subprocess
import sys

import numpy as np
import pytest

from attention_zoo.cli import main
from attention_zoo.explain.weights_note import WEIGHTS_NOT_REASONS
from attention_zoo.manifest import sha256_of

TEXT = "Je suis là."
FILES = ["alignment.json", "alignment.png"]


@pytest.fixture
def explain(translation_folder, tmp_path, capfd):
    """(*arguments, model, output) -> exit code, standard output, standard error."""

    def run(*arguments, model=translation_folder, output="out"):
        code = main(["explain", str(model), *map(str, arguments), "-o", str(tmp_path / output)])
        return code, *capfd.readouterr()

    return run


def numbers(folder):
    return json.loads((folder / "alignment.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("search", [(), ("--beam",)])
def test_every_runtime_gives_the_same(explain, translation_folder, tmp_path, search):
    found = {}
    for runtime in ("onnx", "tflite", "keras"):
        code, out, _ = explain(TEXT, "--runtime", runtime, *search, output=runtime)
        assert code == 0
        assert sorted(path.name for path in (tmp_path / runtime).iterdir()) == FILES
        found[runtime] = content = numbers(tmp_path / runtime)
        assert out.splitlines()[0] == content["text"]
        assert content["runtime"] == runtime
        assert content["sha256"] == sha256_of(translation_folder / content["file"])
        assert content["search"] == ("beam" if search else "greedy")
    for content in found.values():
        assert content["tokens"] == found["keras"]["tokens"]
        for name in ("alignments", "word_alignments"):
            np.testing.assert_allclose(content[name], found["keras"][name], atol=2e-3)


def test_a_file_is_a_model_and_the_folder_takes_its_first_file(
    explain, translation_folder, tmp_path
):
    assert explain(TEXT, model=translation_folder / "model.tflite")[0] == 0
    assert numbers(tmp_path / "out")["file"] == "model.tflite"
    assert explain(*TEXT.split(), output="other")[0] == 0
    assert numbers(tmp_path / "other")["file"] == "model.onnx"
    assert numbers(tmp_path / "other")["note"] == WEIGHTS_NOT_REASONS


def test_a_given_target_is_written_with_the_weights_of_greedy(explain, tmp_path):
    assert explain(TEXT, "--runtime", "keras", output="greedy")[0] == 0
    greedy = numbers(tmp_path / "greedy")
    target = greedy["text"]
    code, out, _ = explain(TEXT, "--target", target, output="forced")
    forced = numbers(tmp_path / "forced")
    assert (code, out.splitlines()[0], forced["search"]) == (0, target, "forced")
    if forced["tokens"] == greedy["tokens"]:  # the text has several spellings in pieces
        np.testing.assert_allclose(forced["alignments"], greedy["alignments"], atol=1e-5)
        assert forced["score"] == pytest.approx(greedy["score"], abs=1e-3)
    assert len(forced["alignments"]) == len(forced["tokens"])
    assert explain(TEXT, "--target", "Something else.", "--html", output="page")[0] == 0
    assert "Something" in (tmp_path / "page" / "alignment.html").read_text(encoding="utf-8")


def test_copies_are_explained_by_their_ids(explain, tmp_path):
    ids = "7 4 19 12 5"
    for number, runtime in enumerate(("onnx", "keras", "tflite")):
        code, out, _ = explain(
            ids, "--runtime", runtime, "--html", model="bahdanau_gru.copy", output=str(number)
        )
        assert (code, out.splitlines()[0]) == (0, ids)
        content = numbers(tmp_path / str(number))
        assert content["pieces"] == content["words"] == [*ids.split(), "</s>"]
        assert np.argmax(content["alignments"], axis=1)[:5].tolist() == [0, 1, 2, 3, 4]
        assert content["merging"] is None
    code, out, _ = explain("7", "4", "--target", "7 9", model="bahdanau_gru.copy", output="forced")
    assert (code, numbers(tmp_path / "forced")["tokens"]) == (0, [7, 9, 2])


def test_pieces_and_words_draw_different_pictures(explain, tmp_path):
    text = "Je comprends aujourd'hui."
    assert explain(text, output="words")[0] == 0
    assert explain(text, "--pieces", output="pieces")[0] == 0
    words, pieces = (
        (tmp_path / name / "alignment.png").read_bytes() for name in ("words", "pieces")
    )
    assert words != pieces
    assert numbers(tmp_path / "words") == numbers(tmp_path / "pieces")


def test_a_folder_keeps_what_is_in_it(explain, tmp_path):
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "notes.txt").write_text("mine")
    assert explain(TEXT)[0] == 0
    before = (folder / "alignment.json").read_bytes()
    code, _, err = explain("Bonjour !")
    assert code == 2
    assert "alignment.json: exists already" in err
    assert (folder / "alignment.json").read_bytes() == before
    assert explain("Bonjour !", "--force")[0] == 0
    assert (folder / "alignment.json").read_bytes() != before
    assert sorted(path.name for path in folder.iterdir()) == [*FILES, "notes.txt"]


@pytest.mark.parametrize("name", FILES)
def test_a_folder_in_the_place_of_a_file_stops_it_before_anything_is_replaced(
    explain, tmp_path, name
):
    folder = tmp_path / "out"
    assert explain(TEXT)[0] == 0
    (folder / name).unlink()
    (folder / name).mkdir()
    (folder / name / "mine").write_text("mine")
    (other,) = set(FILES) - {name}
    before = (folder / other).read_bytes()
    code, out, err = explain("Bonjour !", "--force")
    assert (code, out) == (2, "")  # no answer either: it is refused before the work
    assert f"{name}: is a folder" in err
    assert "Traceback" not in err
    assert (folder / other).read_bytes() == before
    assert (folder / name / "mine").read_text() == "mine"
    assert sorted(path.name for path in folder.iterdir()) == FILES


def test_mistakes_leave_nothing_behind(explain, translation_folder, tmp_path):
    onnx = translation_folder / "model.onnx"
    for arguments, model, words in (
        ((TEXT, "--beam", "--target", "x"), translation_folder, "choose one"),
        (("  ",), translation_folder, "not blank"),
        (("a\nb",), translation_folder, "one line of text"),
        ((TEXT, "--target", " "), translation_folder, "--target: expected text"),
        ((TEXT, "--target", "x"), onnx, "name the folder"),
        ((TEXT, "--target", "x", "--runtime", "onnx"), translation_folder, "leave --runtime out"),
        ((TEXT, "--runtime", "tflite"), onnx, "cannot run"),
        (("x y",), "bahdanau_gru.copy", "IDS: expected ids"),
        (("7 99",), "bahdanau_gru.copy", "id 99"),
        (("0", "1", "2"), "bahdanau_gru.copy", "IDS: id 0 is padding"),
        (("7 0 4", "--beam"), "bahdanau_gru.copy", "IDS: id 0 is padding"),
        (("7 4", "--target", "0 4"), "bahdanau_gru.copy", "--target: id 0 is padding"),
        (("7 4",), "seq2seq_gru.copy", "without attention"),
        (("7",), "bahdanau_gru.copi", "Did you mean bahdanau_gru.copy"),
        ((TEXT,), "bahdanau_gru.fr_n", "Did you mean bahdanau_gru.fr_en"),
        (
            (TEXT,),
            "/nowhere/at/all",
            "'/nowhere/at/all': no preset has this name, and no such file",
        ),
    ):
        code, out, err = explain(*arguments, model=model)
        assert (code, out) == (2, ""), err
        assert words in err
        assert "Traceback" not in err
    assert list(tmp_path.iterdir()) == []


def test_a_runtime_without_its_file(explain, translation_folder, tmp_path):
    folder = tmp_path / "model"
    shutil.copytree(translation_folder, folder)
    (folder / "model.tflite").unlink()
    code, _, err = explain(TEXT, "--runtime", "tflite", model=folder)
    assert code == 2
    assert "model.tflite: no such file. Fix: --runtime keras" in err


def test_a_text_of_several_parts_cannot_be_checked(explain):
    code, _, err = explain("Je suis là. " * 30, "--check")
    assert code == 2
    assert "more than the model reads at once" in err


def test_check_writes_its_report_beside(explain, tmp_path):
    code, out, _ = explain("7 4 19 12", "--check", "--html", model="luong_general_gru.copy")
    assert code == 0
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert {*FILES, "alignment.html", "check.md", "check.json", "check.png"} == names
    verdict = out.splitlines()[1]
    assert verdict in (tmp_path / "out" / "check.md").read_text(encoding="utf-8")
    page = (tmp_path / "out" / "alignment.html").read_text(encoding="utf-8")
    assert WEIGHTS_NOT_REASONS.split(";")[0] not in page


def test_through_a_file_there_is_no_tensorflow(translation_folder, tmp_path):
    code = (
        "import sys\n"
        "from attention_zoo.cli import main\n"
        "main(['explain', *sys.argv[1:]])\n"
        "print(sorted({'tensorflow', 'keras'} & set(sys.modules)))\n"
    )
    arguments = [str(translation_folder), TEXT, "--html", "-o", str(tmp_path / "out")]
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=300
    )
    assert done.stdout.splitlines()[-1] == "[]", done.stderr
