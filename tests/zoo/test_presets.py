"""Presets are folders with a manifest; their bytes are checked before they are loaded."""

import dataclasses
import json

import numpy as np
import pytest

from attention_zoo import list_presets, load_pretrained, preset_folder, presets
from attention_zoo.manifest import (
    FileChangedError,
    Manifest,
    ManifestError,
    describe_file,
    read_manifest,
    write_manifest,
)

FILES = {"config.json": "config", "model.weights.h5": "keras"}


def write_preset(folder, model):
    """The part of an export that a preset is loaded from."""
    folder.mkdir()
    config = model.config.to_dict()
    text = json.dumps({"model": model.name, "config": config})
    (folder / "config.json").write_text(text)
    model.save_weights(folder / "model.weights.h5")
    files = {name: describe_file(folder / name, kind) for name, kind in FILES.items()}
    write_manifest(folder, Manifest(model.name, config, files))


@pytest.fixture(scope="module")
def model(new_model):
    return new_model("luong_general_gru")


@pytest.fixture
def root(model, tmp_path, monkeypatch):
    """saved_models/ with two presets, a folder that is none, and a file."""
    write_preset(tmp_path / "luong_general_gru.copy", model)
    write_preset(tmp_path / "luong_general_gru.fr_en", model)
    (tmp_path / "no_preset").mkdir()
    (tmp_path / "__init__.py").write_text("")
    monkeypatch.setattr(presets, "_root", lambda: tmp_path)
    return tmp_path


def test_list(root):
    assert list_presets() == ["luong_general_gru.copy", "luong_general_gru.fr_en"]
    assert list_presets("*.copy") == ["luong_general_gru.copy"]
    assert list_presets("bahdanau*") == []
    assert preset_folder("luong_general_gru.copy") == root / "luong_general_gru.copy"


def test_unknown_name_gets_the_nearest(root):
    for ask in (preset_folder, load_pretrained):
        with pytest.raises(ValueError, match=r"luong_general_gru\.copy"):
            ask("luong_general_gru.kopy")


def test_load_gives_the_same_answers(root, model, batch):
    loaded = load_pretrained("luong_general_gru.copy")
    assert (loaded.name, loaded.config) == (model.name, model.config)
    source = batch()["source"]
    for name, value in model.greedy(source).items():
        np.testing.assert_array_equal(loaded.greedy(source)[name], value)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("how", ["changed", "truncated", "missing"])
def test_changed_bytes_are_refused(root, name, how):
    path = root / "luong_general_gru.copy" / name
    content = path.read_bytes()
    path.unlink()
    if how != "missing":
        path.write_bytes(content[:-1] + (b"" if how == "truncated" else b"!"))
    with pytest.raises(FileChangedError, match=name):
        load_pretrained("luong_general_gru.copy")
    load_pretrained("luong_general_gru.fr_en")


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"model": "m"}', '{"model": "m", "config": {"cell": "tape"}}']
)
def test_broken_config_is_refused(root, text):
    folder = root / "luong_general_gru.copy"
    (folder / "config.json").write_text(text)
    files = {name: describe_file(folder / name, kind) for name, kind in FILES.items()}
    write_manifest(folder, Manifest("m", {}, files))
    with pytest.raises(ManifestError, match=r"config\.json"):
        load_pretrained("luong_general_gru.copy")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"config": {}}, r"config\.attention should be 'luong' as in config\.json, got 'bahdanau'"),
        ({"model": "../nosuch"}, r"model should be 'luong_general_gru' .* got '\.\./nosuch'"),
        ("units", r"config\.units should be \d+ as in config\.json, got 8191"),
        ("colour", r"config\.colour should be 'nothing' as in config\.json, got 8191"),
    ],
)
def test_a_manifest_of_another_model_is_refused(root, change, words):
    folder = root / "luong_general_gru.copy"
    manifest = read_manifest(folder)
    if isinstance(change, str):
        change = {"config": {**manifest.config, change: 8191}}
    write_manifest(folder, dataclasses.replace(manifest, **change))
    with pytest.raises(ManifestError, match=words):
        load_pretrained("luong_general_gru.copy")


@pytest.mark.parametrize(
    "content", [b"", b"no HDF5 at all" * 100, None], ids=["0", "text", "other"]
)
def test_weights_that_are_no_weights_are_named(root, new_model, content):
    folder = root / "luong_general_gru.copy"
    path = folder / "model.weights.h5"
    if content is None:
        new_model("bahdanau_lstm").save_weights(path)
    else:
        path.write_bytes(content)
    manifest = read_manifest(folder)
    manifest.files[path.name] = describe_file(path, "keras")
    write_manifest(folder, manifest)
    with pytest.raises(
        ManifestError, match=r"(?s)model\.weights\.h5: expected .* export the model"
    ):
        load_pretrained("luong_general_gru.copy")


def test_shipped_presets_load():
    for name in list_presets():
        assert load_pretrained(name).name == name.split(".")[0]
