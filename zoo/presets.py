"""Trained models by name: `<model>.<task>`, each a folder of `saved_models/` with its manifest."""

from __future__ import annotations

import json
import reprlib
from fnmatch import fnmatchcase
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from attention_zoo.manifest import (
    CONFIG_FILE,
    MANIFEST_FILE,
    WEIGHTS_FILE,
    Manifest,
    ManifestError,
    check_files,
    read_manifest,
)
from attention_zoo.model_config import ModelConfig, check_names

if TYPE_CHECKING:
    from attention_zoo.seq2seq import Seq2Seq
    from attention_zoo.tokenizer import TokenizerPair


def list_presets(pattern: str = "*") -> list[str]:
    """Names of the presets that match a pattern such as ``"bahdanau_*"``, sorted."""
    found = (path.parent.name for path in _root().glob(f"*/{MANIFEST_FILE}"))
    return sorted(name for name in found if fnmatchcase(name, pattern))


def preset_folder(preset: str) -> Path:
    """The folder of a preset: weights, exported files, manifest and card.

    Raises:
        ValueError: no preset has this name; says the nearest ones.
    """
    check_names("preset", [preset], list_presets())
    return _root() / preset


def load_pretrained(preset: str) -> Seq2Seq:
    """The model of a preset with its trained weights, after its bytes were checked.

    Raises:
        ValueError: no preset has this name.
        FileChangedError: config or weights do not hold the bytes that the manifest recorded.
    """
    return load_folder(preset_folder(preset))


def load_folder(folder: str | Path) -> Seq2Seq:
    """The Keras model of a folder that an export wrote, from `config.json` and the weights.

    Raises:
        ManifestError: no manifest, one that cannot be read or that contradicts `config.json`, a
            config that is not a model's, or weights that are not this model's.
        FileChangedError: config, weights or tokenizer do not hold the bytes that the manifest
            recorded.
    """
    folder = Path(folder)
    manifest = read_manifest(folder)
    check_files(folder, manifest, only=(CONFIG_FILE, WEIGHTS_FILE, *_tokenizer_files(manifest)))
    name, config = _read_config(folder / CONFIG_FILE)
    _check_agrees(folder, manifest, name, config)
    from attention_zoo.seq2seq import Seq2Seq  # here: it imports TensorFlow

    model = Seq2Seq(config, name=name)
    _load_weights(model, folder / WEIGHTS_FILE)
    return model


def load_tokenizers(preset: str) -> TokenizerPair:
    """The tokenizers of a preset that translates.

    Raises:
        ValueError: no preset has this name.
        FileChangedError: a tokenizer does not hold the bytes that the manifest recorded.
        TokenizerError: the preset has none; it reads and writes ids.
    """
    return folder_tokenizers(preset_folder(preset))


def folder_tokenizers(folder: str | Path) -> TokenizerPair:
    """The tokenizers in the folder of an export, or in that of a training run.

    Raises:
        FileChangedError: a tokenizer does not hold the bytes that a manifest recorded.
        TokenizerError: there is none, or it cannot be read.
    """
    from attention_zoo.tokenizer import TokenizerError, TokenizerPair

    folder = Path(folder)
    if not (folder / MANIFEST_FILE).is_file():
        return TokenizerPair.load(folder)
    manifest = read_manifest(folder)
    recorded = _tokenizer_files(manifest)
    check_files(folder, manifest, only=recorded)
    if not recorded:
        raise TokenizerError(
            f"{folder}: expected a tokenizer in {MANIFEST_FILE}, got none: this model reads and "
            "writes ids. Fix: a translation model, or `attention-zoo predict` with ids."
        )
    pair = TokenizerPair.load(folder)
    unrecorded = sorted(set(pair.files()) - set(recorded))
    if unrecorded:
        raise ManifestError(
            f"{folder}: {', '.join(unrecorded)} is not named in {MANIFEST_FILE}, expected "
            f"{', '.join(recorded)} alone. Fix: remove it, or export the model again."
        )
    return pair


def _tokenizer_files(manifest: Manifest) -> tuple[str, ...]:
    return tuple(path for path, entry in manifest.files.items() if entry.format == "tokenizer")


def _load_weights(model: Seq2Seq, path: Path) -> None:
    try:
        model.load_weights(path)
    except Exception as error:  # h5py and Keras raise many kinds, most without the path
        raise ManifestError(
            f"{path}: expected the weights of {model.name} as an HDF5 file, got an error: {error}. "
            "Restore the file, or export the model again."
        ) from error


def _check_agrees(folder: Path, manifest: Manifest, name: str, config: ModelConfig) -> None:
    """Refuse a manifest that tells of another model than `config.json` builds."""
    # a manifest that is older than a field of ModelConfig means its default
    recorded, built = {**ModelConfig().to_dict(), **manifest.config}, config.to_dict()
    pairs = {"model": (manifest.model, name)}
    for field in [*built, *(field for field in recorded if field not in built)]:
        pairs[f"config.{field}"] = (recorded.get(field, "nothing"), built.get(field, "nothing"))
    for field, (told, expected) in pairs.items():
        if told != expected:
            raise ManifestError(
                f"{folder / MANIFEST_FILE}: {field} should be {expected!r} as in {CONFIG_FILE}, "
                f"got {reprlib.repr(told)}. Restore the file, or export the model again."
            )


def _read_config(path: Path) -> tuple[str, ModelConfig]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        return content["model"], ModelConfig.from_dict(content["config"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ManifestError(
            f"{path}: expected the name of a model and the fields of ModelConfig ({error}). "
            "Export the model again with this version of attention-zoo."
        ) from error


def _root() -> Path:
    # asked for without importing it, and so without TensorFlow
    spec = find_spec("attention_zoo.saved_models")
    if spec is None or not spec.submodule_search_locations:
        raise ManifestError(
            "attention_zoo.saved_models is not installed; expected it beside attention_zoo. "
            "Install attention-zoo again."
        )
    return Path(next(iter(spec.submodule_search_locations)))
