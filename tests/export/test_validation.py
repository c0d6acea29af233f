"""Existing files are checked again: first their bytes, then their answers."""

import json
import shutil

import onnx
import pytest
from onnx import numpy_helper

from attention_zoo.export import export_model, validate_directory
from attention_zoo.export.decode_functions import DecodeSettings
from attention_zoo.export.errors import (
    FileChangedError,
    FileLoadError,
    ManifestError,
    OutputDtypeError,
    OutputNamesError,
    OutputValueError,
)
from attention_zoo.export.load_check import check_loads
from attention_zoo.export.validation import validate_files
from attention_zoo.manifest import describe_file, read_manifest, write_manifest

MODEL = "luong_general_gru"
FILES = [
    "config.json",
    "model.weights.h5",
    "model.onnx",
    "model.tflite",
    "saved_model/1/saved_model.pb",
    "saved_model/1/variables/variables.data-00000-of-00001",
]


@pytest.fixture
def folder(exported, tmp_path):
    """A copy of the exported folder that a test may spoil."""
    return shutil.copytree(exported(MODEL).folder, tmp_path / "copy")


def record_anew(folder, name):
    """Make the manifest name the bytes that the file has now."""
    manifest = read_manifest(folder)
    old = manifest.files[name]
    entry = describe_file(folder / name, old.format, old.signatures, old.details)
    manifest.files[name] = entry
    write_manifest(folder, manifest)


def test_untouched_folder_passes(exported):
    report = validate_directory(exported(MODEL).folder)
    assert report.ok
    assert report.to_dict()["files"] == exported(MODEL).manifest.parity["files"]
    assert report.to_dict()["eos"] == exported(MODEL).manifest.parity["eos"]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.rsplit("/")[-1])
@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda content: content[:-1] + bytes([content[-1] ^ 1]), "its bytes changed"),
        (lambda content: content[: len(content) // 3], "truncated"),
        (lambda content: content + b"\n", "longer"),
        (None, "missing"),
    ],
    ids=["changed", "truncated", "longer", "missing"],
)
def test_changed_bytes_are_noticed(folder, file, spoil, words):
    path = folder / file
    content = path.read_bytes()
    path.unlink()
    if spoil is not None:
        path.write_bytes(spoil(content))
    with pytest.raises(FileChangedError, match=f"{file}: {words}"):
        validate_directory(folder)


def test_every_changed_file_is_listed(folder):
    for name in FILES:
        (folder / name).write_bytes(b"")
    with pytest.raises(FileChangedError) as caught:
        validate_directory(folder)
    assert all(f"{name}: truncated" in str(caught.value) for name in FILES)


def test_no_manifest(tmp_path):
    with pytest.raises(ManifestError, match="no manifest"):
        validate_directory(tmp_path)


def test_other_weights_in_a_file_are_noticed(folder):
    graph = onnx.load(folder / "model.onnx")
    # both searches read the weights from the outer graph
    weight = max(graph.graph.initializer, key=lambda one: numpy_helper.to_array(one).size)
    values = numpy_helper.to_array(weight)
    weight.CopyFrom(numpy_helper.from_array(values * 0.5, weight.name))
    onnx.save(graph, folder / "model.onnx")
    record_anew(folder, "model.onnx")
    with pytest.raises(OutputValueError, match=r"model\.onnx greedy") as caught:
        validate_directory(folder)
    assert {(one.file, one.signature) for one in caught.value.differences} == {
        ("model.onnx", "greedy"),
        ("model.onnx", "beam"),
    }


def test_other_names_and_dtypes_are_noticed(folder):
    graph = onnx.load(folder / "model.onnx")
    lengths = next(one for one in graph.graph.output if one.name == "lengths")
    node = onnx.helper.make_node("Cast", ["lengths"], ["lengths_64"], to=onnx.TensorProto.INT64)
    graph.graph.node.append(node)
    lengths.name = "lengths_64"
    lengths.type.tensor_type.elem_type = onnx.TensorProto.INT64
    onnx.save(graph, folder / "model.onnx")
    record_anew(folder, "model.onnx")
    with pytest.raises(OutputNamesError, match="lengths: names") as caught:
        validate_directory(folder)
    assert {one.output for one in caught.value.differences} == {"lengths", "lengths_64"}
    for end in graph.graph.node:
        for side in (end.input, end.output):
            for index, name in enumerate(side):
                swapped = {"lengths": "lengths_32", "lengths_64": "lengths"}
                side[index] = swapped.get(name, name)
    lengths.name = "lengths"
    onnx.save(graph, folder / "model.onnx")
    record_anew(folder, "model.onnx")
    with pytest.raises(OutputDtypeError, match="expected int32, got int64"):
        validate_directory(folder)


def test_garbage_is_tried_in_another_process(folder):
    (folder / "model.tflite").write_bytes(b"TFL3" * 1000)
    record_anew(folder, "model.tflite")
    with pytest.raises(FileLoadError, match=r"model\.tflite: a process that loaded it"):
        validate_directory(folder)


def test_a_process_that_does_not_end_is_given_up(exported):
    with pytest.raises(FileLoadError, match=r"within 0\.01 seconds"):
        check_loads("OnnxModel", exported(MODEL).folder / "model.onnx", timeout=0.01)


def test_config_that_is_no_models_is_an_error(folder):
    content = json.loads((folder / "config.json").read_text())
    content["config"]["cell"] = "transformer"
    (folder / "config.json").write_text(json.dumps(content))
    record_anew(folder, "config.json")
    with pytest.raises(ManifestError, match="cell"):
        validate_directory(folder)


DECODING = {"max_length": 11, "beam_width": 3, "length_penalty": 0.7}


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("decoding", None, r"missing or not known: max_length, beam_width, length_penalty"),
        ("decoding", {**DECODING, "width": 3}, "missing or not known: width"),
        ("decoding", [11, 3], "decoding should be a dict"),
        ("decoding", {**DECODING, "max_length": "x"}, r"decoding\.max_length should be .* got 'x'"),
        ("decoding", {**DECODING, "beam_width": 0}, r"decoding\.beam_width should be .* got 0"),
        ("decoding", {**DECODING, "length_penalty": "x"}, r"decoding\.length_penalty .* got 'x'"),
        ("decoding", {**DECODING, "length_penalty": float("nan")}, r"decoding\.length_penalty"),
        ("config", {}, r"config\.attention should be 'luong'"),
        ("model", "../nosuch", f"model should be '{MODEL}'"),
        ("parity", "null", "parity should be a dict"),
    ],
)
def test_a_manifest_that_cannot_be_relied_on_is_an_error(folder, field, value, words):
    path = folder / "manifest.json"
    content = json.loads(path.read_text())
    content[field] = None if value == "null" else value
    if value is None:
        del content[field]
    path.write_text(json.dumps(content))
    with pytest.raises(ManifestError, match=words) as caught:
        validate_directory(folder)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("file", ["model.onnx", "model.tflite", "saved_model/1/saved_model.pb"])
@pytest.mark.parametrize("change", ["zzz", "config", None])
def test_no_file_is_passed_over(folder, file, change):
    path = folder / "manifest.json"
    content = json.loads(path.read_text())
    if change is None:
        del content["files"][file]
    else:
        content["files"][file]["format"] = change
    path.write_text(json.dumps(content))
    with pytest.raises(ManifestError, match=file):
        validate_directory(folder)


def test_a_folder_with_nothing_to_run_is_an_error(folder):
    path = folder / "manifest.json"
    content = json.loads(path.read_text())
    for name in list(content["files"]):
        if name not in ("config.json", "model.weights.h5"):
            del content["files"][name]
            (folder / name).unlink()
    path.write_text(json.dumps(content))
    with pytest.raises(ManifestError, match="at least one of the formats"):
        validate_directory(folder)


def test_kinds_of_ending_that_no_input_brings_about(new_model, tmp_path):
    # a vocabulary bias that no sequence overcomes: nothing ever ends by itself
    model = new_model("luong_dot_gru")
    bias = model.output_layer.b.numpy()
    bias[2] -= 100.0
    model.output_layer.b.assign(bias)
    manifest = export_model(model, tmp_path / "out", formats=["savedmodel"], max_length=5)
    assert manifest.parity["eos"] == {
        "no eos": "the model as it is",
        "early eos": "a copy of the model with the logit of eos shifted by 120",
    }
    assert manifest.parity["cases"][-1]["name"] == "early eos"
    report = validate_files(model, tmp_path / "out", ["savedmodel"], DecodeSettings(5))
    assert report.eos["early eos"] == "not tried: no input made the model do it"
