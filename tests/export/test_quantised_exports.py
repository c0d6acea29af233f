"""An export with int8 files: written, loaded, counted, measured by the gate, and told of."""

import json
import shutil

import numpy as np
import pytest

from attention_zoo import create_model
from attention_zoo.export import (
    export_model,
    file_writer,
    load_check,
    validate_directory,
    validation,
)
from attention_zoo.export.errors import FileLoadError, ManifestError, QualityError
from attention_zoo.export.load_check import check_loads
from attention_zoo.export.quality_gate import QualityGate
from attention_zoo.export.runnable import runnables
from attention_zoo.export.runtime import LiteRTModel, OnnxModel, SplitOnnxModel
from attention_zoo.export.step_loop import step_loop
from attention_zoo.manifest import read_manifest, write_manifest

T_DEC = 7
SOURCES = [[5, 9, 41, 2], [7, 33, 2], [50, 2], [6, 6, 6, 6, 12, 2]]
FORMATS = ("tflite", "onnx", "onnx-split")
WRITTEN = runnables(FORMATS, ["int8"])
INT8 = [one for one in WRITTEN if one.quantize]
KINDS = {LiteRTModel: "model.tflite", OnnxModel: "model.onnx", SplitOnnxModel: "encoder.onnx"}


@pytest.fixture(scope="module")
def model(both_endings):
    """Large enough that its matrices are worth rounding."""
    import keras

    keras.utils.set_random_seed(5)
    made = create_model(
        "bahdanau_gru", vocab_source=53, vocab_target=47, d_emb=29, units=37, max_length=T_DEC
    )
    generator = np.random.default_rng(5)
    for weight in made.trainable_variables:
        weight.assign(generator.normal(0.0, 0.3, weight.shape))
    return both_endings(made)


@pytest.fixture(scope="module")
def folder(model, tmp_path_factory):
    """Everything that can be written of it; not to be changed."""
    path = tmp_path_factory.mktemp("quantised") / "all"
    export_model(
        model,
        path,
        formats=FORMATS,
        quantize="int8",
        gate=QualityGate(SOURCES, lambda _: 50.0, "BLEU", "drawn"),
    )
    return path


@pytest.fixture
def copied(folder, tmp_path):
    return shutil.copytree(folder, tmp_path / "copied")


def left_in(folder):
    return sorted(path.name for path in folder.iterdir())


def test_int8_files_stand_beside_the_others(folder):
    manifest = read_manifest(folder)
    for one in WRITTEN:
        for file in one.files:
            entry = manifest.files[file]
            assert entry.format == one.format
            assert entry.details.get("quantize") == one.quantize
            assert entry.signatures
    for quick, full in (
        ("model.int8.onnx", "model.onnx"),
        ("decoder_step.int8.onnx", "decoder_step.onnx"),
    ):
        assert manifest.files[quick].signatures == manifest.files[full].signatures
        assert manifest.files[quick].bytes < 0.7 * manifest.files[full].bytes
    assert manifest.bytes_of("onnx", "int8") == manifest.files["model.int8.onnx"].bytes
    assert manifest.bytes_of("onnx") == manifest.files["model.onnx"].bytes
    assert "EMBEDDING_LOOKUP" in manifest.files["model.int8.tflite"].details["operators"]


def test_every_signature_of_every_file_was_run(folder):
    parity = read_manifest(folder).parity
    for one in WRITTEN:
        expected = {"greedy", "beam"} if one.decodes else set()
        expected |= {"encode + step"} if one.steps else set()
        seen = parity["quantised" if one.quantize else "files"][one.name]
        assert set(seen) == expected, one.name
    for seen in parity["quantised"].values():
        for summary in seen.values():
            assert summary["rows"] >= 14
            assert summary["tokens"] >= 14
            assert summary["tokens_equal"] > 0.7


def test_the_gate_goes_into_manifest_and_card(folder):
    gate = read_manifest(folder).gate
    assert (gate["measure"], gate["data"], gate["sequences"]) == ("BLEU", "drawn", 4)
    assert (gate["limit"], gate["allow_loss"], gate["keras"]) == (0.5, False, 50.0)
    assert set(gate["files"]) == {one.name for one in INT8}
    for found in gate["files"].values():
        assert found["lost"] == 0.0
        assert 0.7 < found["tokens_equal"] <= 1.0
    card = (folder / "README.md").read_text(encoding="utf-8")
    assert "| file | tokens equal | BLEU | lost |" in card
    for one in INT8:
        assert f"| `{one.name}` |" in card
    assert 'step_loop(SplitOnnxModel("bahdanau_gru"), [[5, 9, 4, 2]], max_length=7)' in card
    assert 'variant="int8"' in card


def test_validation_knows_all_files(folder):
    report = validate_directory(folder)
    assert report.ok
    assert {one.file for one in report.agreements} == {one.name for one in INT8}
    assert {one.file for one in report.comparisons} == {
        one.name for one in WRITTEN if not one.quantize
    }
    recorded = read_manifest(folder).parity
    assert report.to_dict()["quantised"] == recorded["quantised"]


def test_every_file_is_tried_in_another_process(folder, monkeypatch):
    tried = []
    monkeypatch.setattr(validation, "check_loads", lambda kind, path: tried.append((kind, path)))
    monkeypatch.setattr(validation, "_run_cases", lambda *_: None)
    validate_directory(folder)
    assert tried == [(one.runtime, folder / one.files[0]) for one in WRITTEN]


@pytest.mark.parametrize("one", INT8, ids=lambda one: one.name)
def test_the_other_process_runs_it(folder, one):
    check_loads(one.runtime, folder / one.files[0])


def test_a_step_that_cannot_run_is_noticed_in_the_other_process(copied):
    # the step of another export, with the encoder of this one
    (copied / "manifest.json").unlink()
    shutil.copy(copied / "encoder.onnx", copied / "decoder_step.onnx")
    with pytest.raises(FileLoadError, match=r"encoder\.onnx: a process that loaded it"):
        check_loads("SplitOnnxModel", copied / "encoder.onnx")


def test_a_file_that_ends_the_process_is_an_error_of_ours(folder, monkeypatch):
    monkeypatch.setattr(load_check, "_PROGRAM", "import os; os.abort()")
    with pytest.raises(FileLoadError, match=r"model\.int8\.onnx: .* killed by SIGABRT"):
        check_loads("OnnxModel", folder / "model.int8.onnx")


def test_an_int8_file_that_does_not_load_leaves_nothing(model, tmp_path, monkeypatch):
    write = file_writer.onnx_writer.write_onnx

    def cut(model, folder, *options):
        signatures = write(model, folder, *options)
        for path in folder.glob("*.int8.onnx"):
            path.write_bytes(path.read_bytes()[:-2000])
        return signatures

    monkeypatch.setattr(file_writer.onnx_writer, "write_onnx", cut)
    with pytest.raises(FileLoadError, match=r"model\.int8\.onnx"):
        export_model(model, tmp_path / "out", formats="onnx", quantize="int8")
    assert left_in(tmp_path) == []


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_variant_is_chosen_in_a_folder(folder, kind):
    plain, small = kind(folder), kind(folder, variant="int8")
    assert plain.path.name == KINDS[kind]
    assert small.path.name == KINDS[kind].replace(".", ".int8.")
    assert (plain.vocab_source, small.vocab_source) == (53, 53)
    assert kind(small.path).path == small.path
    with pytest.raises(ValueError, match=r"a file, and variant='int8'.*Fix: "):
        kind(small.path, variant="int8")
    with pytest.raises(ValueError, match="variant: expected 'int8' or None, got 'int4'"):
        kind(folder, variant="int4")


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_variant_that_was_not_exported(folder, kind, tmp_path):
    with pytest.raises(FileLoadError, match="attention-zoo export --quantize int8"):
        kind(tmp_path, variant="int8")


def test_the_loop_of_the_host_writes_what_the_loop_of_the_file_writes(folder):
    for variant in (None, "int8"):
        lite, graph = LiteRTModel(folder, variant=variant), OnnxModel(folder, variant=variant)
        split = SplitOnnxModel(folder, variant=variant)
        for source in SOURCES:
            for stepper, whole in ((lite, lite), (split, graph)):
                got, expected = step_loop(stepper, [source], T_DEC), whole.predict([source])
                np.testing.assert_array_equal(got["tokens"], expected["tokens"])
                np.testing.assert_allclose(got["scores"], expected["scores"], rtol=0, atol=1e-3)


def test_a_loss_beyond_the_limit_leaves_nothing_unless_it_is_allowed(model, tmp_path):
    scores = iter([50.0, 40.0, 50.0, 40.0])
    gate = QualityGate(SOURCES, lambda _: next(scores), "BLEU", limit=9.5)
    options = {"formats": "onnx", "quantize": "int8", "gate": gate}
    with pytest.raises(QualityError, match=r"model\.int8\.onnx: BLEU 40\.00, 10\.00 lost"):
        export_model(model, tmp_path / "out", **options)
    assert left_in(tmp_path) == []
    manifest = export_model(model, tmp_path / "out", allow_loss=True, **options)
    assert manifest.gate["allow_loss"]
    assert manifest.gate["files"]["model.int8.onnx"]["lost"] == 10.0
    assert "9.5 may be lost, and more was allowed" in (tmp_path / "out" / "README.md").read_text()


def test_without_a_gate_the_manifest_and_the_card_say_so(model, tmp_path):
    manifest = export_model(model, tmp_path / "out", formats=["onnx"], quantize=["int8"])
    assert manifest.gate is None
    assert json.loads((tmp_path / "out" / "manifest.json").read_text())["gate"] is None
    assert "what their quantisation loses is not known" in (
        tmp_path / "out" / "README.md"
    ).read_text().replace("\n", " ")


def test_float16_is_a_quantisation_too_and_is_measured(model, tmp_path):
    seen = []

    def score(tokens):
        seen.append(tokens)
        return 50.0

    manifest = export_model(
        model,
        tmp_path / "out",
        formats="onnx",
        quantize=("float16", "int8"),
        gate=QualityGate(SOURCES, score, "BLEU"),
    )
    assert manifest.storage == "float16"
    assert set(manifest.gate["files"]) == {"weights in float16", "model.int8.onnx"}
    expected = model.greedy(SOURCES)
    first = [
        row[:n].tolist() for row, n in zip(*map(expected.get, ("tokens", "lengths")), strict=True)
    ]
    assert seen[0] == first  # the model as it was given
    assert len(seen) == 3


@pytest.mark.parametrize("file", ["model.int8.onnx", "decoder_step.onnx", "encoder.int8.onnx"])
@pytest.mark.parametrize("is_there", [True, False])
def test_no_file_is_passed_over(copied, file, is_there):
    manifest = read_manifest(copied)
    del manifest.files[file]
    write_manifest(copied, manifest)
    if not is_there:
        (copied / file).unlink()
    with pytest.raises(ManifestError, match=f"files should name {file}"):
        validate_directory(copied)


def test_manifests_from_before_int8_still_hold(copied):
    path = copied / "manifest.json"
    content = json.loads(path.read_text())
    del content["gate"], content["parity"]["quantised"]
    for one in WRITTEN:
        if one.quantize or one.format != "onnx":
            for file in one.files:
                del content["files"][file]
                (copied / file).unlink()
    path.write_text(json.dumps(content))
    assert read_manifest(copied).gate is None
    report = validate_directory(copied)
    assert report.agreements == []
    assert "quantised" not in report.to_dict()
