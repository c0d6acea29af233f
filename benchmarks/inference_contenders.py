"""What the inference benchmark compares, and the files that it makes of one model for it."""

from __future__ import annotations

import importlib.util
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from plain_tf2onnx import write_plain_onnx

FLOAT32, FLOAT16, INT8 = "float32", "float16", "int8"


@dataclass(frozen=True)
class Contender:
    """One way to run a model.

    Attributes:
        key: its name on the command line and in the CSV file.
        format: its name in the tables.
        weights: how the file holds the weights: "float32", "float16" or "int8".
        kind: how `inference_worker.py` opens it.
        path: of its file or folder, inside the folder of all files.
        exported: what `export_model` has to write for it; None if it writes no format for it.
    """

    key: str
    format: str
    weights: str
    kind: str
    path: str
    exported: str | None = None

    @property
    def name(self) -> str:
        """Format and weights, for a legend."""
        return f"{self.format}, {self.weights}"


KERAS = Contender("keras", "Keras, graph", FLOAT32, "keras", "float32")
PLAIN = Contender("plain", "plain tf2onnx", FLOAT32, "onnx", "plain/model.onnx")
ONNX = Contender("onnx", "ONNX", FLOAT32, "onnx", "float32/model.onnx", "onnx")
ONNX_INT8 = Contender("onnx-int8", "ONNX", INT8, "onnx", "float32/model.int8.onnx", "onnx")
TFLITE = Contender("tflite", "TFLite", FLOAT32, "tflite", "float32/model.tflite", "tflite")
TFLITE_INT8 = Contender(
    "tflite-int8", "TFLite", INT8, "tflite", "float32/model.int8.tflite", "tflite"
)
CONTENDERS = (
    KERAS,
    Contender("savedmodel", "SavedModel", FLOAT32, "savedmodel", "float32", "savedmodel"),
    PLAIN,
    ONNX,
    ONNX_INT8,
    TFLITE,
    Contender("tflite-float16", "TFLite", FLOAT16, "tflite", "float16/model.tflite", "tflite"),
    TFLITE_INT8,
)


@dataclass
class Files:
    """The files of the contenders, and why some have none."""

    folder: Path
    left_out: dict[str, str] = field(default_factory=dict)

    def path(self, contender: Contender) -> Path:
        """Its file, or folder."""
        return self.folder / contender.path

    def bytes(self, contender: Contender) -> int:
        """What it takes on the disk."""
        path = self.path(contender)
        if path.is_file():
            return path.stat().st_size
        # of an export folder, what belongs to this contender alone
        parts = (
            [path / "config.json", path / "model.weights.h5"]
            if contender.kind == "keras"
            else (path / "saved_model").rglob("*")
        )
        return sum(part.stat().st_size for part in parts if part.is_file())

    def found(self, chosen: Sequence[Contender]) -> list[Contender]:
        """Those of the chosen that have their file."""
        return [contender for contender in chosen if contender.key not in self.left_out]


def make_files(model: Any, chosen: Sequence[Contender], folder: Path, max_length: int) -> Files:
    """Write what the contenders need into `folder`, each file checked by its own runtime.

    A contender whose file cannot be made is left out, with the reason.
    """
    files = Files(folder)
    _export(model, [one for one in chosen if one.weights != FLOAT16], files, max_length)
    _export(model, [one for one in chosen if one.weights == FLOAT16], files, max_length)
    if PLAIN in chosen:
        _plain(model, files, max_length)
    return files


def _export(model: Any, chosen: Sequence[Contender], files: Files, max_length: int) -> None:
    """The files of one folder; those with int8 weights lie beside the float32 ones."""
    from attention_zoo.export.errors import ExportError

    chosen = [one for one in chosen if one != PLAIN]
    if not chosen:
        return
    storage = FLOAT16 if chosen[0].weights == FLOAT16 else FLOAT32
    folder = files.folder / storage
    formats = _formats(chosen)
    small = [one for one in chosen if one.weights == INT8]
    try:
        if small:
            _write(model, folder, formats, max_length, storage, quantize=INT8)
            return
    except ExportError as error:
        files.left_out |= {one.key: _first_line(error) for one in small}
    _write(model, folder, formats, max_length, storage)


def _write(
    model: Any, folder: Path, formats: Collection[str], max_length: int, storage: str, **more: Any
) -> None:
    from attention_zoo.export import export_model

    export_model(
        model, folder, formats=formats, max_length=max_length, storage=storage, force=True, **more
    )


def _formats(chosen: Sequence[Contender]) -> list[str]:
    wanted = {one.exported for one in chosen} - {None}
    # a folder needs one format at least; Keras reads none of them
    return sorted(str(one) for one in wanted) or ["onnx"]


def _plain(model: Any, files: Files, max_length: int) -> None:
    if importlib.util.find_spec("tf2onnx") is None:
        files.left_out[PLAIN.key] = "tf2onnx is not installed"
        return
    path = files.path(PLAIN)
    path.parent.mkdir()
    write_plain_onnx(model, path, max_length)


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0]
