"""Manifests say what lies in a folder, and notice when it is no longer so."""

import dataclasses
import hashlib
import json

import pytest

from attention_zoo.manifest import (
    FileChangedError,
    FileEntry,
    Manifest,
    ManifestError,
    check_files,
    describe_file,
    read_manifest,
    sha256_of,
    write_manifest,
)


@pytest.fixture
def manifest():
    return Manifest(
        model="bahdanau_gru",
        config={"vocab_source": 23},
        files={
            "model.onnx": FileEntry("00", 17, "onnx", {"greedy": {}}, {"opset": 18}),
            "saved_model/1/saved_model.pb": FileEntry("11", 19, "savedmodel"),
        },
        parity={"tolerance": 1e-4},
        preset="bahdanau_gru.copy",
        data={"licence": "none"},
        metrics={"token_accuracy": 0.5},
        versions={"keras": "3"},
        seed=7,
        command="attention-zoo export",
        created="2026-01-01",
        training={"steps": 11},
    )


def test_round_trip(manifest, tmp_path):
    path = write_manifest(tmp_path, manifest)
    assert read_manifest(tmp_path) == manifest
    assert read_manifest(path) == manifest
    content = json.loads(path.read_text())
    assert next(iter(content)) == "format_version"
    assert content["files"]["model.onnx"]["details"] == {"opset": 18}
    assert manifest.total_bytes() == 36


def test_sizes_are_those_of_a_format_and_a_quantisation(manifest):
    files = {
        **manifest.files,
        "model.int8.onnx": FileEntry("22", 5, "onnx", details={"quantize": "int8"}),
        "encoder.onnx": FileEntry("33", 7, "onnx-split"),
        "decoder_step.onnx": FileEntry("44", 11, "onnx-split"),
    }
    more = dataclasses.replace(manifest, files=files)
    assert (more.bytes_of("onnx"), more.bytes_of("onnx", "int8")) == (17, 5)
    assert (more.bytes_of("onnx-split"), more.bytes_of("onnx-split", "int8")) == (18, 0)
    assert more.total_bytes() == 59


def test_a_gate_is_kept(manifest, tmp_path):
    gate = {"measure": "BLEU", "files": {"model.int8.onnx": {"lost": 0.25}}}
    write_manifest(tmp_path, dataclasses.replace(manifest, gate=gate))
    assert read_manifest(tmp_path).gate == gate
    content = {**manifest.to_dict(), "gate": [0.25]}
    with pytest.raises(ManifestError, match=r"gate should be a dict, got \[0\.25\]"):
        Manifest.from_dict(content)


def test_what_may_be_left_out(tmp_path):
    content = {"format_version": 1, "model": "m", "config": {}, "files": {}}
    (tmp_path / "manifest.json").write_text(json.dumps(content))
    assert read_manifest(tmp_path) == Manifest("m", {}, {})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "not valid JSON"),
        ("", "not valid JSON"),
        ("[]", "expected a JSON object, got list"),
        ("{}", "expected format_version 1, got None"),
        ('{"format_version": 2}', "expected format_version 1, got 2"),
        ('{"format_version": "1"}', "expected format_version 1, got '1'"),
        ('{"format_version": true}', "expected format_version 1, got True"),
        ("[" * 100_000, "not valid JSON"),
        ('{"a": ' * 100_000, "not valid JSON"),
        ('{"seed": ' + "9" * 5000 + "}", "not valid JSON"),
        ('{"format_version": 1}', "fields missing: ['config', 'files', 'model']"),
    ],
)
def test_broken_text(tmp_path, text, words):
    (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(ManifestError) as caught:
        read_manifest(tmp_path)
    assert words in str(caught.value)
    assert str(tmp_path / "manifest.json") in str(caught.value)


def test_not_text(tmp_path):
    (tmp_path / "manifest.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ManifestError, match="not UTF-8"):
        read_manifest(tmp_path)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"colour": "red"}, r"not known: \['colour'\]"),
        ({"model": 3}, "model should be a str, got 3"),
        ({"files": []}, "files should be a dict"),
        ({"config": None}, "config should be a dict, got None"),
        ({"decoding": [11]}, r"decoding should be a dict, got \[11\]"),
        ({"parity": None}, "parity should be a dict, got None"),
        ({"training": "long"}, "training should be a dict, got 'long'"),
        ({"versions": []}, "versions should be a dict"),
        ({"seed": "7"}, "seed should be a int, got '7'"),
        ({"storage": None}, "storage should be a str, got None"),
        ({"storage": "int8"}, "storage should be one of float32, float16, got 'int8'"),
        ({"preset": 7}, "preset should be a str, got 7"),
        ({"files": {"a": 3}}, "the entry of 'a'"),
        (
            {"files": {"a": {"sha256": "0", "format": "zzz", "bytes": 9}}},
            "the format of 'a' should be one of config, keras, .*, onnx-split, got 'zzz'",
        ),
        (
            {"files": {"a": {"sha256": "0", "format": "onnx", "bytes": 9, "signatures": None}}},
            "the entry of 'a'",
        ),
        ({"files": {"a": {"sha256": "0", "format": "onnx", "bytes": True}}}, "the entry of 'a'"),
        ({"files": {"a": {"sha256": "0", "format": "onnx"}}}, "the entry of 'a'"),
        ({"files": {"a": {"sha256": "0", "format": "onnx", "bytes": "9"}}}, "the entry of 'a'"),
        (
            {"files": {"a": {"sha256": "0", "format": "onnx", "bytes": 9, "x": 1}}},
            "the entry of 'a'",
        ),
        (
            {"files": {"../a": {"sha256": "0", "format": "onnx", "bytes": 9}}},
            "inside the folder",
        ),
        (
            {"files": {"/etc/a": {"sha256": "0", "format": "onnx", "bytes": 9}}},
            "inside the folder",
        ),
    ],
)
def test_fields_are_checked(manifest, change, words):
    with pytest.raises(ManifestError, match=words):
        Manifest.from_dict({**manifest.to_dict(), **change})


def test_no_manifest(tmp_path):
    with pytest.raises(ManifestError, match="no manifest here"):
        read_manifest(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(ManifestError, match="no manifest here"):
        read_manifest(tmp_path / "file")


def test_a_folder_in_the_place_of_the_manifest(tmp_path):
    (tmp_path / "manifest.json").mkdir()
    with pytest.raises(ManifestError, match=r"manifest\.json: expected a file that can be read"):
        read_manifest(tmp_path)


def test_sha256_of_a_file_larger_than_one_piece(tmp_path):
    content = bytes(range(256)) * 8192 + b"end"
    (tmp_path / "large").write_bytes(content)
    assert sha256_of(tmp_path / "large") == hashlib.sha256(content).hexdigest()
    entry = describe_file(tmp_path / "large", "onnx", details={"opset": 18})
    assert (entry.bytes, entry.format) == (len(content), "onnx")
    assert entry.details == {"opset": 18}


def test_files_are_checked(manifest, tmp_path):
    names = ("one", "two", "three", "four")
    for name in names:
        (tmp_path / name).write_text(name * 5)
    files = {name: describe_file(tmp_path / name, "onnx") for name in names}
    manifest = dataclasses.replace(manifest, files=files)
    check_files(tmp_path, manifest)
    (tmp_path / "one").unlink()
    (tmp_path / "two").write_text("two")
    (tmp_path / "three").write_text("eerht" * 5)
    with pytest.raises(FileChangedError) as caught:
        check_files(tmp_path, manifest)
    text = str(caught.value)
    assert "3 of the files differ" in text
    assert "one: missing" in text
    assert "two: truncated: expected 15 bytes, got 3" in text
    assert "three: its bytes changed: expected sha256" in text
    assert "four" not in text
    check_files(tmp_path, manifest, only=("four",))
    with pytest.raises(FileChangedError, match="five: not named"):
        check_files(tmp_path, manifest, only=("four", "five"))


def test_a_folder_in_the_place_of_a_file(manifest, tmp_path):
    (tmp_path / "one").write_text("one")
    manifest = dataclasses.replace(manifest, files={"one": describe_file(tmp_path / "one", "onnx")})
    (tmp_path / "one").unlink()
    (tmp_path / "one").mkdir()
    with pytest.raises(FileChangedError, match="one: missing"):
        check_files(tmp_path, manifest)
