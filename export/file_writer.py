"""Writes the files of an exported folder, and says of each what the manifest records."""

from __future__ import annotations

import dataclasses
import json
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attention_zoo.export import onnx_split, onnx_writer, saved_model, tflite
from attention_zoo.export.decode_functions import DecodeSettings
from attention_zoo.export.half_weights import halve_weights_file
from attention_zoo.export.runnable import ONNX, ONNX_SPLIT, RUNNABLES, SAVED_MODEL, TFLITE
from attention_zoo.manifest import CONFIG_FILE, WEIGHTS_FILE, FileEntry, describe_file

if TYPE_CHECKING:
    from attention_zoo.tokenizer import TokenizerPair


@dataclasses.dataclass(frozen=True)
class FileWriter:
    """What holds for all files of one export.

    Attributes:
        formats: of "savedmodel", "tflite", "onnx", "onnx-split".
        settings: what is fixed in the files.
        storage: "float32", or "float16" for a model whose weights were rounded to it.
        quantize: ("int8",) for files with int8 weights beside the others.
    """

    formats: tuple[str, ...]
    settings: DecodeSettings
    storage: str = "float32"
    quantize: tuple[str, ...] = ()

    def write_model(self, model: Any, folder: Path) -> dict[str, FileEntry]:
        """Write what Keras loads: `config.json` and the weights."""
        config = {"model": model.name, "config": model.config.to_dict()}
        (folder / CONFIG_FILE).write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
        model.save_weights(folder / WEIGHTS_FILE)
        if self.storage == "float16":
            halve_weights_file(folder / WEIGHTS_FILE)
        return {
            CONFIG_FILE: describe_file(folder / CONFIG_FILE, "config"),
            WEIGHTS_FILE: describe_file(folder / WEIGHTS_FILE, "keras"),
        }

    def write_formats(
        self, model: Any, folder: Path, preset_name: str | None = None
    ) -> dict[str, FileEntry]:
        """Write the files that run without this package."""
        entries: dict[str, FileEntry] = {}
        if SAVED_MODEL in self.formats:
            entries |= self._write_saved_model(model, folder)
        if TFLITE in self.formats:
            entries |= self._write_tflite(model, folder)
        metadata = self._metadata(model, preset_name)
        for quantize in (None, *self.quantize):
            details = {"opset": onnx_writer.OPSET, **_quantized(quantize)}
            if ONNX in self.formats:
                signatures = onnx_writer.write_onnx(
                    model, folder, self.settings, metadata, self.storage, quantize
                )
                (name,) = _files(ONNX, quantize)
                entries[name] = describe_file(folder / name, ONNX, signatures, details)
            if ONNX_SPLIT in self.formats:
                written = onnx_split.write_split_onnx(
                    model, folder, metadata, self.storage, quantize
                )
                for name, signatures in written.items():
                    entries[name] = describe_file(folder / name, ONNX_SPLIT, signatures, details)
        return entries

    def _write_saved_model(self, model: Any, folder: Path) -> dict[str, FileEntry]:
        entries = {}
        signatures = saved_model.write_saved_model(model, folder, self.settings)
        for path in sorted((folder / saved_model.FOLDER).rglob("*")):
            if path.is_file():
                graph = path.name == "saved_model.pb"
                name = path.relative_to(folder).as_posix()
                entries[name] = describe_file(path, SAVED_MODEL, signatures if graph else {})
        return entries

    def _write_tflite(self, model: Any, folder: Path) -> dict[str, FileEntry]:
        signatures = tflite.write_tflite(model, folder, self.settings, self.storage, self.quantize)
        entries = {}
        for quantize in (None, *self.quantize):
            (name,) = _files(TFLITE, quantize)
            operators = tflite.operators((folder / name).read_bytes())
            details = {"operators": operators, **_quantized(quantize)}
            entries[name] = describe_file(folder / name, TFLITE, signatures, details)
        return entries

    def _metadata(self, model: Any, preset_name: str | None) -> dict[str, str]:
        """What an ONNX file says of itself."""
        return {
            "model": model.name,
            "preset": preset_name or "",
            "decoding": json.dumps(dataclasses.asdict(self.settings)),
            "config": json.dumps(model.config.to_dict()),
            "attention-zoo": version("attention-zoo"),
        }


def _files(format: str, quantize: str | None) -> tuple[str, ...]:
    return next(one.files for one in RUNNABLES if (one.format, one.quantize) == (format, quantize))


def _quantized(quantize: str | None) -> dict[str, Any]:
    return {} if quantize is None else {"quantize": quantize}


def write_tokenizers(tokenizers: TokenizerPair, folder: Path) -> dict[str, FileEntry]:
    """Copy the tokenizer files of a translation model into `folder`."""
    from attention_zoo.tokenizer import TOKENIZER_FILES

    tokenizers.save(folder)
    found = [name for name in TOKENIZER_FILES if (folder / name).is_file()]
    return {name: describe_file(folder / name, "tokenizer") for name in found}
