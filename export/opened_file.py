"""What every class of the runtime does before it opens a file: find it, and check its bytes."""

from __future__ import annotations

from pathlib import Path

from attention_zoo.export.errors import FileLoadError
from attention_zoo.export.whole_number import at_least_one
from attention_zoo.manifest import (
    MANIFEST_FILE,
    Manifest,
    ManifestError,
    check_files,
    read_manifest,
)


def found_file(path: str | Path, name: str, variant: str | None = None) -> Path:
    """The file itself, or the one called `name` in a folder.

    Args:
        path: a file or a folder.
        name: such as "model.onnx".
        variant: "int8" takes "model.int8.onnx" of the folder.

    Raises:
        ValueError: another variant, or one beside the path of a file.
        FileLoadError: no such file.
    """
    path = Path(path)
    if variant not in (None, "int8"):
        raise ValueError(
            f"variant: expected 'int8' or None, got {variant!r}. Fix: leave it out for the file "
            "with float weights."
        )
    if variant is not None and path.is_file():
        raise ValueError(
            f"{path}: a file, and variant={variant!r} chooses one in a folder; expected one of the "
            "two. Fix: leave variant out."
        )
    if path.is_dir():
        stem, _, suffix = name.rpartition(".")
        path = path / (name if variant is None else f"{stem}.{variant}.{suffix}")
    if not path.is_file():
        how = "" if variant is None else f" --quantize {variant}"
        raise FileLoadError(
            f"{path}: no such file. Expected a file that `attention-zoo export{how}` wrote, or the "
            "folder it wrote."
        )
    return path


def manifest_beside(folder: Path) -> Manifest | None:
    """The manifest of a folder, if it has one."""
    return read_manifest(folder) if (folder / MANIFEST_FILE).is_file() else None


def check_bytes(manifest: Manifest | None, folder: Path, *paths: Path) -> None:
    """Refuse a file that is not the one its manifest names: a bad one can end the process."""
    if manifest is not None:
        names = (path.relative_to(folder).as_posix() for path in paths)
        check_files(folder, manifest, only=tuple(name for name in names if name in manifest.files))


def known_vocabulary(manifest: Manifest | None, given: int | None) -> int | None:
    """vocab_source: as given, or as the manifest says; None where neither does.

    Raises:
        ValueError: what is given is not a whole number of at least 1.
        ManifestError: what the manifest says is none.
    """
    if given is not None:
        return at_least_one("vocab_source", given, "leave it out: the files of an export know it.")
    if manifest is None:
        return None
    size = manifest.config.get("vocab_source")
    if isinstance(size, bool) or not isinstance(size, int) or size < 1:
        raise ManifestError(
            f"{MANIFEST_FILE}: config should hold vocab_source (a whole number), got {size!r}. "
            "Export the model again."
        )
    return size


def refused(path: Path, runtime: str, error: Exception) -> FileLoadError:
    """The error for a file that its runtime does not take."""
    return FileLoadError(
        f"{path}: {runtime} does not accept this file ({error}). It may be truncated: run "
        "`attention-zoo validate` on its folder, or export the model again."
    )
