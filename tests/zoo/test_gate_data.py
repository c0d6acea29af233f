"""What `--gate` stands for, and what `attention-zoo export` hands on of its options."""

import dataclasses
import json

import numpy as np
import pytest
from click.testing import CliRunner

from attention_zoo import export
from attention_zoo.cli import Session, main
from attention_zoo.commands import model_source
from attention_zoo.commands.export import command
from attention_zoo.commands.gate_data import gate_data
from attention_zoo.export.runtime import OnnxModel
from attention_zoo.manifest import read_manifest
from attention_zoo.training.sentence_pairs import PairFileError


@dataclasses.dataclass(frozen=True)
class Sizes:
    """As much of a model as a gate looks at."""

    vocab_source: int
    vocab_target: int
    max_length: int


class Model:
    name = "stub"

    def __init__(self, vocab=20, max_length=11):
        self.config = Sizes(vocab, vocab, max_length)


def test_copies_are_scored_by_symbol():
    gate = gate_data("copy", None, "runs/copy").gate(Model(), 0.25)
    assert (gate.measure, gate.limit, len(gate.sources)) == ("token accuracy", 0.25, 500)
    assert gate.data == "the copy task, lengths 1 to 10, seed 1000003"
    lengths = {len(source) for source in gate.sources}
    assert lengths == set(range(2, 12))  # the symbols and eos
    assert {source[-1] for source in gate.sources} == {2}
    answers = [list(source) for source in gate.sources]
    assert gate.score(answers) == 100.0
    symbols = sum(len(source) - 1 for source in gate.sources)
    answers[0][0] += 1
    answers[1] = answers[1][:-1]  # without the eos, which is not counted
    answers[2] = [*answers[2][:-1], 7, 7, 7]  # runs on; only the symbols are counted
    assert gate.score(answers) == pytest.approx(100.0 * (1 - 1 / symbols))
    assert gate.score([[] for _ in answers]) == 0.0


def test_copies_are_the_same_each_time():
    one, other = (gate_data("copy", None, "x").gate(Model(), 0.5) for _ in range(2))
    assert one.sources == other.sources


def test_translations_are_scored_against_all_references(tokenizers, tmp_path):
    file = tmp_path / "held_out.tsv"
    lines = ["Je suis là.\tI am here now.", "Il pleut.\tIt is raining.", "Je suis là.\tHere I am."]
    file.write_text("\n".join(lines), encoding="utf-8")
    gate = gate_data(str(file), tokenizers, "runs/fr_en").gate(Model(400), 0.5)
    assert (gate.measure, gate.data) == ("BLEU", "held_out.tsv")
    assert gate.sources == tokenizers.source.encode_batch(["Je suis là.", "Il pleut."])
    texts = ["I am here now.", "It is raining."]
    right = [tokenizers.target.encode(text) for text in texts]
    assert [tokenizers.target.decode(ids) for ids in right] == texts
    assert gate.score(right) == pytest.approx(100.0)
    assert 0 <= gate.score([right[1], right[0]]) < 30


def test_a_gate_of_the_other_task_is_refused(tokenizers):
    with pytest.raises(ValueError, match=r"runs/x translates; expected a file .*Fix: --gate FILE"):
        gate_data("copy", tokenizers, "runs/x")
    with pytest.raises(ValueError, match=r"runs/x reads and writes ids.*Fix: --gate copy"):
        gate_data("held_out.tsv", None, "runs/x")


def test_a_file_that_cannot_be_read(tokenizers, tmp_path):
    (tmp_path / "bad.tsv").write_text("one column")
    with pytest.raises(PairFileError, match=r"bad\.tsv:1"):
        gate_data(str(tmp_path / "bad.tsv"), tokenizers, "runs/x")


@pytest.mark.parametrize(
    "content",
    [b"", b"\n", b"one column\n", b"a\tb\n\nc\td\n", b"a\t\n", b"\xff\tb\n", b"a\0\tb\n", None],
)
def test_a_gate_file_has_a_fix_that_a_gate_knows(tokenizers, tmp_path, content):
    file = tmp_path / "held_out.tsv"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(PairFileError, match=r"held_out\.tsv.* Fix: --gate takes") as caught:
        gate_data(str(file), tokenizers, "runs/x")
    assert str(caught.value).count("Fix: ") == 1
    for unknown in ("skip", "column of", "other columns"):
        assert unknown not in str(caught.value)


def test_the_tokenizers_must_be_the_models(tokenizers, pairs_file):
    with pytest.raises(ValueError, match="401"):
        gate_data(str(pairs_file), tokenizers, "runs/x").gate(Model(401), 0.5)


@pytest.fixture
def given(monkeypatch, tmp_path):
    """Run the command on the copy preset; returns what `export_model` was given."""

    def run(*arguments):
        seen = {}

        def record(model, output, **options):
            seen.update(options)
            raise ValueError("enough")

        monkeypatch.setattr(export, "export_model", record, raising=False)
        line = ["seq2seq_gru.copy", "-o", str(tmp_path / "out"), *arguments]
        result = CliRunner().invoke(command, line, obj=Session("attention-zoo export"))
        seen["error"] = str(result.exception)
        seen["text"] = result.output
        return seen

    return run


@pytest.mark.parametrize(
    ("arguments", "quantize"),
    [
        ([], ()),
        (["--half"], ("float16",)),
        (["--quantize", "float16"], ("float16",)),
        (["--quantize", "int8", "--half"], ("int8", "float16")),
        (["--quantize", "int8", "--quantize", "float16"], ("int8", "float16")),
    ],
)
def test_quantizations_are_handed_on(given, arguments, quantize):
    seen = given(*arguments)
    assert seen["error"] == "enough"
    assert seen["quantize"] == quantize
    assert seen["gate"] is None
    assert seen["allow_loss"] is False


def test_the_gate_is_handed_on(given):
    seen = given("--quantize", "int8", "--gate", "copy", "--gate-limit", "1.5", "--allow-loss")
    assert seen["gate"].measure == "token accuracy"
    assert seen["gate"].limit == 1.5
    assert seen["allow_loss"] is True


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--gate", "copy"], "--gate measures what quantisation loses: add --quantize"),
        (["--quantize", "int8", "--allow-loss"], "--allow-loss is about what a --gate measures"),
        (["--quantize", "int4"], "int4"),
        (["--quantize", "int8", "--gate-limit", "-1"], "got -1. Fix: --gate-limit 0.5"),
        (["--quantize", "int8", "--gate-limit", "nan"], "got nan. Fix: --gate-limit 0.5"),
        (["--quantize", "int8", "--gate-limit", "inf"], "got inf. Fix: --gate-limit 0.5"),
        (["--quantize", "int8", "--gate-limit", "0.5"], "--gate-limit is about what a --gate"),
        (["--quantize", "int8", "--format", "savedmodel"], "Fix: add one of them"),
        (["--quantize", "int8", "--gate", "held_out.tsv"], "reads and writes ids"),
    ],
)
def test_what_makes_no_sense_ends_with_exit_code_2(capfd, tmp_path, monkeypatch, arguments, words):
    def load(_):
        raise AssertionError("a model was loaded for nothing")

    monkeypatch.setattr(model_source, "load_source", load)
    line = ["export", "seq2seq_gru.copy", "-o", str(tmp_path / "out"), *arguments]
    assert main(line) == 2
    said = capfd.readouterr().err
    assert words in said
    assert "Traceback" not in said
    assert list(tmp_path.iterdir()) == []


def test_a_preset_in_int8_passes_the_gate(capfd, tmp_path):
    output = tmp_path / "out"
    arguments = ["--format", "onnx", "--quantize", "int8", "--gate", "copy", "-o", str(output)]
    assert main(["export", "bahdanau_gru.copy", *arguments]) == 0
    said = capfd.readouterr().out
    assert "500 sequences of the copy task" in said
    manifest = read_manifest(output)
    found = manifest.gate["files"]["model.int8.onnx"]
    assert manifest.gate["keras"] > 99.0
    assert found["tokens_equal"] > 0.99
    assert found["lost"] <= 0.5
    small, full = (manifest.files[name].bytes for name in ("model.int8.onnx", "model.onnx"))
    assert small < 0.45 * full
    got = OnnxModel(output, variant="int8").predict([[7, 4, 19, 12, 2]])
    assert got["tokens"][0, :5].tolist() == [7, 4, 19, 12, 2]
    assert np.isfinite(got["scores"]).all()
    assert json.loads((output / "manifest.json").read_text())["gate"]["limit"] == 0.5
