"""What a manifest recorded of an export, checked before a validation relies on it."""

from __future__ import annotations

import dataclasses
import reprlib
from pathlib import Path

from attention_zoo.export.decode_functions import DecodeSettings
from attention_zoo.export.runnable import QUANTIZATIONS, RUNNABLES
from attention_zoo.manifest import (
    CONFIG_FILE,
    MANIFEST_FILE,
    WEIGHTS_FILE,
    Manifest,
    ManifestError,
)
from attention_zoo.tokenizer import TOKENIZER_FILES

_FORMAT_OF = {
    CONFIG_FILE: "config",
    WEIGHTS_FILE: "keras",
    **dict.fromkeys(TOKENIZER_FILES, "tokenizer"),
    **{file: one.format for one in RUNNABLES for file in one.files},
}
_RUNNABLE = tuple(dict.fromkeys(one.format for one in RUNNABLES))
_FIX = "Restore the file, or export the model again."


def recorded_settings(folder: Path, manifest: Manifest) -> DecodeSettings:
    """The `decoding` of a manifest.

    Raises:
        ManifestError: a field is missing, not known, or not a number that decoding can use.
    """
    decoding = manifest.decoding
    known = [field.name for field in dataclasses.fields(DecodeSettings)]
    wrong = [name for name in known if name not in decoding]
    wrong += [name for name in decoding if name not in known]
    if wrong:
        raise ManifestError(
            f"{folder / MANIFEST_FILE}: decoding should hold {', '.join(known)} and nothing else, "
            f"missing or not known: {', '.join(wrong)}. {_FIX}"
        )
    for name in ("max_length", "beam_width"):
        value = decoding[name]
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            _refuse(folder, name, "a whole number of at least 1", value)
    penalty = decoding["length_penalty"]
    number = isinstance(penalty, (int, float)) and not isinstance(penalty, bool)
    if not number or not 0 <= penalty < float("inf"):
        _refuse(folder, "length_penalty", "a finite number of at least 0", penalty)
    return DecodeSettings(decoding["max_length"], decoding["beam_width"], float(penalty))


def recorded_formats(folder: Path, manifest: Manifest) -> tuple[str, ...]:
    """The formats that a manifest names files of.

    Raises:
        ManifestError: a file is recorded under another format than an export gives it (it would
            be passed over), lies in the folder unrecorded, or no file is there to be run.
    """
    for path, expected in _FORMAT_OF.items():
        entry = manifest.files.get(path)
        if entry is not None and entry.format != expected:
            raise ManifestError(
                f"{folder / MANIFEST_FILE}: the format of {path} should be {expected}, got "
                f"{entry.format}. {_FIX}"
            )
        if entry is None and (folder / path).exists():
            raise ManifestError(
                f"{folder / MANIFEST_FILE}: files should name {path}, which lies in the folder. "
                f"{_FIX}"
            )
    found = tuple(name for name in _RUNNABLE if name in _formats(manifest))
    if not found:
        raise ManifestError(
            f"{folder / MANIFEST_FILE}: files should name at least one of the formats "
            f"{', '.join(_RUNNABLE)}, got none. {_FIX}"
        )
    return found


def recorded_quantizations(folder: Path, manifest: Manifest) -> tuple[str, ...]:
    """How files of a manifest are quantised, besides those with float weights.

    Raises:
        ManifestError: a format that is recorded lacks such a file which another format has.
    """
    formats = _formats(manifest)
    found = {one.quantize for one in RUNNABLES if one.quantize and one.files[0] in manifest.files}
    for one in RUNNABLES:
        if one.format not in formats or (one.quantize and one.quantize not in found):
            continue
        for file in one.files:
            if file not in manifest.files:
                raise ManifestError(
                    f"{folder / MANIFEST_FILE}: files should name {file}, as they name others of "
                    f"its kind. {_FIX}"
                )
    return tuple(name for name in QUANTIZATIONS if name in found)


def _formats(manifest: Manifest) -> set[str]:
    return {_FORMAT_OF[path] for path in manifest.files if path in _FORMAT_OF}


def _refuse(folder: Path, name: str, expected: str, value: object) -> None:
    raise ManifestError(
        f"{folder / MANIFEST_FILE}: decoding.{name} should be {expected}, got "
        f"{reprlib.repr(value)}. {_FIX}"
    )
