"""Making the files of the contenders."""

import inference_contenders
import pytest
from inference_contenders import CONTENDERS, PLAIN, make_files

from attention_zoo.export.errors import ConversionError


@pytest.fixture
def exports(monkeypatch):
    """The calls of `export_model` in place of their files."""
    calls = []
    monkeypatch.setattr(inference_contenders, "_write", lambda *a, **more: calls.append((a, more)))
    monkeypatch.setattr(
        inference_contenders, "write_plain_onnx", lambda _, path, steps: path.write_bytes(b"plain")
    )
    return calls


def keys(*chosen):
    return [one for one in CONTENDERS if one.key in chosen]


def test_two_folders_hold_all_files(exports, tmp_path):
    files = make_files("model", CONTENDERS, tmp_path, 9)
    assert exports == [
        (
            ("model", tmp_path / "float32", ["onnx", "savedmodel", "tflite"], 9, "float32"),
            {"quantize": "int8"},
        ),
        (("model", tmp_path / "float16", ["tflite"], 9, "float16"), {}),
    ]
    assert files.path(PLAIN).read_bytes() == b"plain"
    assert files.found(CONTENDERS) == list(CONTENDERS)


def test_no_more_is_exported_than_is_asked_for(exports, tmp_path):
    make_files("model", keys("keras"), tmp_path, 9)
    make_files("model", keys("plain"), tmp_path, 9)
    make_files("model", keys("onnx", "keras"), tmp_path, 9)
    folder = tmp_path / "float32"
    assert exports == [(("model", folder, ["onnx"], 9, "float32"), {})] * 2


def test_weights_that_cannot_be_quantised_leave_the_others(monkeypatch, tmp_path):
    calls = []

    def write(*arguments, **more):
        calls.append(arguments[2])
        if more:
            raise ConversionError("no int8 for this cell\nand more lines")

    monkeypatch.setattr(inference_contenders, "_write", write)
    chosen = keys("onnx", "onnx-int8", "tflite-int8")
    files = make_files("model", chosen, tmp_path, 9)
    assert calls == [["onnx", "tflite"]] * 2
    assert files.left_out == dict.fromkeys(("onnx-int8", "tflite-int8"), "no int8 for this cell")
    assert files.found(chosen) == keys("onnx")


def test_without_tf2onnx_its_row_is_left_out(exports, monkeypatch, tmp_path):
    monkeypatch.setattr(inference_contenders.importlib.util, "find_spec", lambda name: None)
    files = make_files("model", keys("plain", "onnx"), tmp_path, 9)
    assert files.left_out == {"plain": "tf2onnx is not installed"}
    assert files.found(keys("plain", "onnx")) == keys("onnx")


def test_every_contender_has_a_file_of_its_own():
    places = [(one.kind, one.path) for one in CONTENDERS]
    assert len(set(places)) == len({one.key for one in CONTENDERS}) == len(CONTENDERS)
