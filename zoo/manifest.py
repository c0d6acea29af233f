"""The manifest of an exported model: what lies in the folder, and how each file can be proved.

`manifest.json` stands beside the files it describes. It names every file with its sha256 and its
size, the signatures of the files that run (inputs and outputs with axes and dtypes in the words of
the layers), the parity that was measured at export, the data the model was trained on and its
licence, metrics, versions, seed and command. It needs neither TensorFlow nor Keras to read.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import reprlib
from pathlib import Path
from typing import Any

MANIFEST_FILE = "manifest.json"
CONFIG_FILE = "config.json"
WEIGHTS_FILE = "model.weights.h5"
CARD_FILE = "README.md"
FORMAT_VERSION = 1
FILE_FORMATS = ("config", "keras", "tokenizer", "savedmodel", "tflite", "onnx", "onnx-split")
STORAGES = ("float32", "float16")
"""How weights lie in the files of a folder; float16 where no weight loses anything by it."""


class ManifestError(ValueError):
    """A manifest is missing, cannot be read, or was written in another version of the format."""


class FileChangedError(ManifestError):
    """A file named in a manifest is missing, or does not hold the bytes that were recorded."""


@dataclasses.dataclass(frozen=True)
class FileEntry:
    """One file: its fingerprint, its format, and the signatures it answers to (if it runs).

    `signatures` maps a name (`greedy`, `beam`, `encode`, `step`) to
    `{"inputs": [...], "outputs": [...]}`, each a list of
    `{"name": ..., "axes": [...], "shape": [...], "dtype": ...}` with -1 for a size that is
    only known at run time. `details` holds what belongs to some files only, such as the opset, or
    `quantize`: "int8" where the weights are int8.
    """

    sha256: str
    bytes: int
    format: str
    signatures: dict[str, Any] = dataclasses.field(default_factory=dict)
    details: dict[str, Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Manifest:
    """Everything `manifest.json` says. `files` maps a path inside the folder to its `FileEntry`.

    `storage` says how the weights are stored; in a SavedModel they are float32 always. `parameters`
    is how many numbers training finds; a tied matrix counts once. `gate` is what quantisation was
    found to lose on an evaluation set; None if there was none, or nothing to measure.
    """

    model: str
    config: dict[str, Any]
    files: dict[str, FileEntry]
    decoding: dict[str, Any] = dataclasses.field(default_factory=dict)
    parity: dict[str, Any] = dataclasses.field(default_factory=dict)
    preset: str | None = None
    data: dict[str, Any] = dataclasses.field(default_factory=dict)
    metrics: dict[str, Any] = dataclasses.field(default_factory=dict)
    versions: dict[str, str] = dataclasses.field(default_factory=dict)
    seed: int | None = None
    command: str | None = None
    created: str | None = None
    training: dict[str, Any] = dataclasses.field(default_factory=dict)
    storage: str = STORAGES[0]
    parameters: int | None = None
    gate: dict[str, Any] | None = None

    def to_dict(self) -> dict[str, Any]:
        """The content of `manifest.json`; the version of the format comes first."""
        return {"format_version": FORMAT_VERSION, **dataclasses.asdict(self)}

    @classmethod
    def from_dict(cls, content: Any, origin: str = MANIFEST_FILE) -> Manifest:
        """The manifest that `content` describes.

        Raises:
            ManifestError: another version of the format, a field missing or of the wrong type,
                or a field this version does not know.
        """
        if not isinstance(content, dict):
            raise ManifestError(
                f"{origin}: expected a JSON object, got {type(content).__name__}. {_FIX}"
            )
        version = content.get("format_version")
        if version != FORMAT_VERSION or isinstance(version, bool):
            raise ManifestError(
                f"{origin}: expected format_version {FORMAT_VERSION}, got {version!r}. "
                f"Read it with the attention-zoo that wrote it, or export the model again."
            )
        fields = {name: value for name, value in content.items() if name != "format_version"}
        known = {field.name for field in dataclasses.fields(cls)}
        unknown, missing = sorted(set(fields) - known), sorted(_REQUIRED - set(fields))
        if unknown or missing:
            raise ManifestError(
                f"{origin}: fields missing: {missing or 'none'}; not known: {unknown or 'none'}. "
                f"{_FIX}"
            )
        for name, value in fields.items():
            _check_type(name, value, origin)
        if fields.get("storage", STORAGES[0]) not in STORAGES:
            raise ManifestError(
                f"{origin}: storage should be one of {', '.join(STORAGES)}, got "
                f"{reprlib.repr(fields['storage'])}. {_FIX}"
            )
        files = {path: _entry(path, entry, origin) for path, entry in fields["files"].items()}
        return cls(**{**fields, "files": files})

    def total_bytes(self) -> int:
        """The size of all files that are named here."""
        return sum(entry.bytes for entry in self.files.values())

    def bytes_of(self, format: str, quantize: str | None = None) -> int:
        """The size of the files of one of `FILE_FORMATS`: those that are quantised so, or not."""
        return sum(
            entry.bytes
            for entry in self.files.values()
            if (entry.format, entry.details.get("quantize")) == (format, quantize)
        )


_REQUIRED = {"model", "config", "files"}
_TYPES = {
    "model": str,
    "storage": str,
    **dict.fromkeys(
        ("config", "files", "decoding", "parity", "data", "metrics", "versions", "training"), dict
    ),
}
_TYPES_OR_NONE = {
    "preset": str,
    "seed": int,
    "command": str,
    "created": str,
    "parameters": int,
    "gate": dict,
}
_FIX = "Export the model again to write a new one."


def _check_type(name: str, value: Any, origin: str) -> None:
    kind = _TYPES.get(name) or _TYPES_OR_NONE[name]
    if value is None and name in _TYPES_OR_NONE:
        return
    if not isinstance(value, kind) or isinstance(value, bool):
        # reprlib: what stands there may be of any length and depth
        raise ManifestError(
            f"{origin}: {name} should be a {kind.__name__}, got {reprlib.repr(value)}. {_FIX}"
        )


def _entry(path: str, content: Any, origin: str) -> FileEntry:
    required = {"sha256": str, "bytes": int, "format": str}
    kinds = {**required, "signatures": dict, "details": dict}
    if (
        not isinstance(content, dict)
        or set(content) - set(kinds)
        or set(required) - set(content)
        or any(not isinstance(value, kinds[name]) for name, value in content.items())
        or isinstance(content["bytes"], bool)
    ):
        raise ManifestError(
            f"{origin}: the entry of {path!r} should hold sha256 (text), bytes (a whole number), "
            "format (text), and may hold signatures and details (objects), got "
            f"{reprlib.repr(content)}. {_FIX}"
        )
    if content["format"] not in FILE_FORMATS:
        raise ManifestError(
            f"{origin}: the format of {path!r} should be one of {', '.join(FILE_FORMATS)}, got "
            f"{reprlib.repr(content['format'])}. {_FIX}"
        )
    parts = Path(path).parts
    if Path(path).is_absolute() or ".." in parts or not parts:
        raise ManifestError(
            f"{origin}: file {path!r} should be a path inside the folder of the manifest. {_FIX}"
        )
    return FileEntry(**content)


def sha256_of(path: str | Path) -> str:
    """The sha256 of a file, in hexadecimal, read in pieces so that size does not matter."""
    digest = hashlib.sha256()
    with open(path, "rb") as stream:
        for piece in iter(lambda: stream.read(1 << 20), b""):
            digest.update(piece)
    return digest.hexdigest()


def describe_file(
    path: str | Path,
    format: str,
    signatures: dict[str, Any] | None = None,
    details: dict[str, Any] | None = None,
) -> FileEntry:
    """The `FileEntry` of a file as it lies on the disk now."""
    path = Path(path)
    return FileEntry(
        sha256=sha256_of(path),
        bytes=path.stat().st_size,
        format=format,
        signatures=signatures or {},
        details=details or {},
    )


def write_manifest(folder: str | Path, manifest: Manifest) -> Path:
    """Write `manifest.json` into `folder`, and return its path."""
    path = Path(folder) / MANIFEST_FILE
    path.write_text(json.dumps(manifest.to_dict(), indent=2) + "\n", encoding="utf-8")
    return path


def read_manifest(folder: str | Path) -> Manifest:
    """Read `manifest.json` of `folder` (the path of the file itself is accepted too).

    Raises:
        ManifestError: there is none, it cannot be read, it is not JSON, or it is of another
            version.
    """
    path = Path(folder)
    if path.name != MANIFEST_FILE:
        path = path / MANIFEST_FILE
    try:
        text = path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError) as error:
        raise ManifestError(
            f"{path}: no manifest here. Expected the folder that `attention-zoo export` wrote."
        ) from error
    except OSError as error:
        raise ManifestError(
            f"{path}: expected a file that can be read, got an error: {error}. {_FIX}"
        ) from error
    except UnicodeDecodeError as error:
        raise ManifestError(f"{path}: not UTF-8 text ({error}). {_FIX}") from error
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:  # a number of 5000 digits; 100000 brackets
        raise ManifestError(f"{path}: not valid JSON ({error}). {_FIX}") from error
    return Manifest.from_dict(content, origin=str(path))


def check_files(
    folder: str | Path, manifest: Manifest, only: tuple[str, ...] | None = None
) -> None:
    """Check that the files of a manifest hold the recorded bytes.

    Args:
        folder: where the files lie.
        manifest: what was recorded.
        only: check just these paths; they must be in the manifest.

    Raises:
        FileChangedError: lists every file that is missing, shorter or longer than recorded, or
            of the same size with other bytes.
    """
    faults = []
    for path in manifest.files if only is None else only:
        if path not in manifest.files:
            faults.append(f"{path}: not named in the manifest")
            continue
        fault = _fault(Path(folder) / path, manifest.files[path])
        if fault:
            faults.append(f"{path}: {fault}")
    if faults:
        listed = "\n  ".join(faults)
        raise FileChangedError(
            f"{folder}: {len(faults)} of the files differ from {MANIFEST_FILE}:\n  {listed}\n"
            f"Export the model again, or restore the files."
        )


def _fault(path: Path, entry: FileEntry) -> str | None:
    if not path.is_file():
        return "missing"
    size = path.stat().st_size
    if size != entry.bytes:
        kind = "truncated" if size < entry.bytes else "longer"
        return f"{kind}: expected {entry.bytes} bytes, got {size}"
    digest = sha256_of(path)
    if digest != entry.sha256:
        return f"its bytes changed: expected sha256 {entry.sha256}, got {digest}"
    return None
