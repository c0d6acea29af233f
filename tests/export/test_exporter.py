"""What `export_model` refuses, and that a failure leaves nothing behind."""

import numpy as np
import pytest

from attention_zoo import Seq2Seq
from attention_zoo.export import export_model, exporter, saved_model, tflite
from attention_zoo.export.errors import (
    ConversionError,
    FileLoadError,
    OutputValueError,
    UnsupportedOpsError,
)
from attention_zoo.export.file_writer import FileWriter
from attention_zoo.export.quality_gate import QualityGate

MODEL = "luong_general_gru"
GATE = QualityGate([[5, 2]], lambda _: 100.0, "token accuracy")


@pytest.fixture
def model(exported):
    """A model with both kinds of ending, so that no copy has to be exported; not to be changed."""
    return exported(MODEL).model


def left_in(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"formats": ("onnx", "coreml")}, "got coreml"),
        ({"formats": ()}, "expected one or more of savedmodel, tflite, onnx, onnx-split, got none"),
        ({"max_length": 0}, "max_length: expected a whole number of at least 1, got 0"),
        ({"max_length": 2.5}, "max_length"),
        ({"beam_width": 0}, "beam_width: expected"),
        ({"beam_width": True}, "beam_width: expected"),
        ({"length_penalty": -0.1}, "length_penalty: expected a finite number"),
        ({"length_penalty": float("nan")}, "length_penalty"),
        ({"storage": "bfloat16"}, "storage: expected one of float32, float16, got 'bfloat16'"),
        ({"quantize": "int4"}, "quantize: expected any of int8, float16, got int4"),
        ({"quantize": ("int8", 8)}, "quantize: expected any of int8, float16, got 8"),
        ({"quantize": "int8", "formats": "savedmodel"}, "int8 is for tflite, onnx and onnx-split"),
        ({"gate": GATE}, "gate: nothing is quantised"),
    ],
)
def test_options_are_checked_first(model, tmp_path, options, words):
    with pytest.raises(ValueError, match=words):
        export_model(model, tmp_path / "out", **options)
    assert left_in(tmp_path) == []


def test_half_precision_is_refused(model, tmp_path):
    half = Seq2Seq(model.config, dtype="mixed_float16")
    with pytest.raises(ValueError, match="mixed_float16; expected float32"):
        export_model(half, tmp_path / "out")
    assert left_in(tmp_path) == []


def test_existing_folder_is_refused_before_conversion(model, tmp_path, monkeypatch):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "manifest.json").write_text("old")
    monkeypatch.setattr(FileWriter, "write_formats", lambda *_: pytest.fail("converted already"))
    with pytest.raises(FileExistsError, match="force"):
        export_model(model, tmp_path / "out")
    assert left_in(tmp_path / "out") == ["manifest.json"]


@pytest.mark.parametrize("force", [False, True])
def test_a_folder_of_other_files_is_never_replaced(model, tmp_path, force):
    (tmp_path / "thesis.txt").write_text("old")
    with pytest.raises(FileExistsError, match=r"no manifest\.json"):
        export_model(model, tmp_path, force=force)
    assert left_in(tmp_path) == ["thesis.txt"]


def test_an_earlier_export_is_replaced_on_request(model, tmp_path):
    (tmp_path / "out").mkdir()
    for name in ("manifest.json", "stale"):
        (tmp_path / "out" / name).write_text("old")
    export_model(model, tmp_path / "out", formats=["savedmodel"], force=True)
    assert "stale" not in left_in(tmp_path / "out")
    assert left_in(tmp_path) == ["out"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_interruption_leaves_nothing(model, tmp_path, monkeypatch, error):
    def interrupted(*_, **__):
        raise error

    monkeypatch.setattr(exporter, "validate_files", interrupted)
    with pytest.raises(error):
        export_model(model, tmp_path / "out", formats=["savedmodel"])
    assert left_in(tmp_path) == []


def test_refusal_of_a_converter_is_typed(model, tmp_path, monkeypatch):
    def refuse(*_):
        raise RuntimeError("failed to legalize operation")

    monkeypatch.setattr(tflite, "_convert", refuse)
    with pytest.raises(ConversionError, match=r"TFLite: .*failed to legalize"):
        export_model(model, tmp_path / "out", formats="tflite")
    assert left_in(tmp_path) == []


def test_flex_ops_are_refused(model, tmp_path, monkeypatch, flex_file):
    monkeypatch.setattr(tflite, "_convert", lambda *_: flex_file)
    with pytest.raises(UnsupportedOpsError, match="CUSTOM:Flex") as caught:
        export_model(model, tmp_path / "out", formats="tflite")
    assert all(name.startswith("CUSTOM:Flex") for name in caught.value.ops)
    assert left_in(tmp_path) == []


def test_file_that_does_not_load_is_refused(model, tmp_path, monkeypatch):
    monkeypatch.setattr(tflite, "_convert", lambda *_: b"")
    for change in ("update_in_place", "pass_over_main_graphs"):
        monkeypatch.setattr(tflite, change, lambda content: content)
    monkeypatch.setattr(tflite, "operators", lambda _: [])
    with pytest.raises(FileLoadError, match=r"model\.tflite.*exit status 1"):
        export_model(model, tmp_path / "out", formats="tflite")
    assert left_in(tmp_path) == []


def test_file_that_answers_otherwise_is_refused(model, new_model, tmp_path, monkeypatch):
    # the file gets the weights of another model
    other = new_model(MODEL, seed=1)
    write = saved_model.write_saved_model
    monkeypatch.setattr(saved_model, "write_saved_model", lambda _, *rest: write(other, *rest))
    with pytest.raises(OutputValueError) as caught:
        export_model(model, tmp_path / "out", formats=["savedmodel"])
    text = str(caught.value)
    for signature in ("greedy", "beam"):
        for output in ("tokens", "scores", "alignments"):
            assert f"saved_model/1 {signature} {output}: values (largest difference " in text
    assert all(np.isfinite(one.largest) for one in caught.value.differences)
    assert left_in(tmp_path) == []


def test_other_formats_are_left_out(model, tmp_path):
    manifest = export_model(model, tmp_path / "out", formats=["savedmodel"], max_length=3)
    assert left_in(tmp_path / "out") == [
        "README.md",
        "config.json",
        "manifest.json",
        "model.weights.h5",
        "saved_model",
    ]
    assert manifest.decoding == {"max_length": 3, "beam_width": 4, "length_penalty": 1.0}
    assert set(manifest.parity["files"]) == {"saved_model/1"}
    assert (manifest.data, manifest.metrics, manifest.training) == ({}, {}, {})
