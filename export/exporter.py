"""Exports a model: writes every file, compares it with Keras, and only then renames the folder."""

from __future__ import annotations

import dataclasses
import platform
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attention_zoo.export.card import write_card
from attention_zoo.export.checked_options import (
    checked_formats,
    checked_quantization,
    checked_settings,
)
from attention_zoo.export.decode_functions import DecodeSettings
from attention_zoo.export.file_writer import FileWriter, write_tokenizers
from attention_zoo.export.half_weights import rounded_copy
from attention_zoo.export.integration import write_integration
from attention_zoo.export.publish import publish_folder
from attention_zoo.export.quality_gate import Decode, GateReport, QualityGate
from attention_zoo.export.recorded import (
    recorded_formats,
    recorded_quantizations,
    recorded_settings,
)
from attention_zoo.export.runnable import FLOAT16, ONNX, SAVED_MODEL, TFLITE, runnables
from attention_zoo.export.validation import Report, validate_files
from attention_zoo.manifest import (
    MANIFEST_FILE,
    STORAGES,
    FileEntry,
    Manifest,
    check_files,
    read_manifest,
    write_manifest,
)

if TYPE_CHECKING:
    from attention_zoo.tokenizer import TokenizerPair

FORMATS = (SAVED_MODEL, TFLITE, ONNX)
"""What is written unless formats are named; `onnx-split` is for hosts that drive the loop."""
_PACKAGES = (
    "attention-zoo",
    "tensorflow",
    "keras",
    "tf2onnx",
    "onnx",
    "onnxruntime",
    "ai-edge-litert",
    "numpy",
)
_DATA = "data_"


def export_model(
    model: Any,
    directory: str | Path,
    formats: Iterable[str] = FORMATS,
    max_length: int | None = None,
    beam_width: int = 4,
    length_penalty: float = 1.0,
    record: Mapping[str, Any] | None = None,
    preset_name: str | None = None,
    command: str | None = None,
    force: bool = False,
    storage: str = STORAGES[0],
    tokenizers: TokenizerPair | None = None,
    quantize: str | Iterable[str] = (),
    gate: QualityGate | None = None,
    allow_loss: bool = False,
) -> Manifest:
    """Write `model` into `directory`: config, weights, the formats, manifest and model card.

    All of it goes into a temporary folder beside `directory` first. Every file is run by its own
    runtime and compared with Keras there (see `validation.py`); then the folder is renamed. On any
    failure, Ctrl-C included, the temporary folder is removed and `directory` is as it was.

    Args:
        model: a `Seq2Seq`.
        directory: the folder to write; must be new or empty, unless `force`.
        formats: of "savedmodel", "tflite", "onnx", "onnx-split".
        max_length: decode steps (T_dec of the files); None takes the model's own.
        beam_width: beams that are kept and returned.
        length_penalty: see beam search.
        record: what is known of the training: `data` (with `data_licence`, `data_sha256`, ...),
            `metrics` and `seed` go under these names into the manifest, the rest under `training`.
        preset_name: the name under which the folder will be found.
        command: the command line that made it.
        force: replace `directory` if it exists; it must have been exported before.
        storage: how the weights lie in the files. "float16" first rounds them to what float16
            holds, so that all files are half as large and still agree with each other and with the
            Keras model that is loaded from the folder; a SavedModel keeps float32.
        tokenizers: of a translation model; their files go into the folder too.
        quantize: any of "int8" and "float16". int8 adds files with int8 weights beside the others:
            `model.int8.tflite`, `model.int8.onnx`, `encoder.int8.onnx`, ... as far as the formats
            go. float16 is the same as that storage.
        gate: an evaluation set on which quantisation may lose no more than its limit. Without one
            the manifest says that nothing was measured.
        allow_loss: record what the gate measured, and write the folder all the same.

    Returns:
        The manifest that was written.

    Raises:
        FileExistsError: `directory` exists and `force` is not given, or it holds other files.
        ValueError: an unknown format or storage, a size below 1, a model that is not float32, a
            weight beyond the range of float16, tokenizers of another size than the vocabularies,
            or a gate where nothing is quantised.
        ConversionError, FileLoadError, ParityError, QualityError: see `errors.py`.
    """
    directory = Path(directory)
    _refuse_other_folder(directory)
    _refuse_other_precision(model)
    formats = checked_formats(formats)
    settings = checked_settings(model, max_length, beam_width, length_penalty)
    quantization = checked_quantization(storage, quantize, formats, gate)
    writer = FileWriter(formats, settings, quantization.storage, quantization.further)
    _check_tokenizers(model, tokenizers)
    given = model
    if writer.storage == FLOAT16:
        model = rounded_copy(model)
    with publish_folder(directory, force, _refuse_other_folder) as folder:
        entries = writer.write_model(model, folder)
        if tokenizers is not None:
            entries |= write_tokenizers(tokenizers, folder)
        entries |= writer.write_formats(model, folder, preset_name)
        report = _validated(model, folder, writer)
        loss = None if gate is None else _measured(gate, given, model, folder, writer)
        if loss is not None and not allow_loss:
            loss.raise_if_failed()
        manifest = _manifest(model, entries, writer.settings, report, record or {})
        manifest = dataclasses.replace(
            manifest,
            preset=preset_name,
            command=command,
            storage=writer.storage,
            parameters=int(model.count_params()),
            gate=None if loss is None else {**loss.to_dict(), "allow_loss": allow_loss},
        )
        write_manifest(folder, manifest)
        write_card(folder, manifest)
        write_integration(folder, manifest)
    return manifest


def validate_directory(directory: str | Path) -> Report:
    """Repeat the validation of an exported folder: first its bytes, then its answers.

    The Keras model is built again from `config.json` and the weights. Nothing is converted, so the
    kinds of ending that no input brings about are named in the report instead of being forced.

    Raises:
        ManifestError: no manifest, one that cannot be read, or one that contradicts the folder.
        FileChangedError: a file is missing, truncated, or its bytes changed.
        FileLoadError, ParityError: see `errors.py`.
    """
    from attention_zoo.presets import load_folder

    directory = Path(directory)
    manifest = read_manifest(directory)
    check_files(directory, manifest)
    settings = recorded_settings(directory, manifest)
    formats = recorded_formats(directory, manifest)
    model = load_folder(directory)
    quantize = recorded_quantizations(directory, manifest)
    report = validate_files(model, directory, formats, settings, quantize=quantize)
    report.raise_if_failed()
    return report


def _refuse_other_folder(directory: Path) -> None:
    # a slip such as directory="." with force must not cost anybody their files
    if not directory.is_dir() or (directory / MANIFEST_FILE).is_file():
        return
    if any(directory.iterdir()):
        raise FileExistsError(
            f"{directory}: expected a folder that is new, empty, or was exported before (then "
            f"force replaces it), got one with files and no {MANIFEST_FILE}. Give another folder."
        )


def _refuse_other_precision(model: Any) -> None:
    # config.json does not record the precision, and 1e-4 is no fair tolerance for 16 bits
    policy = model.dtype_policy.name
    if policy != "float32":
        raise ValueError(
            f"{model.name}: its dtype policy is {policy}; expected float32, in which files are "
            "written and compared. Fix: create the model again with the policy float32, and give "
            "it the weights: new.set_weights(model.get_weights()). A training run that was stopped "
            "is written in float32 by `attention-zoo train ... --finish`."
        )


def _check_tokenizers(model: Any, tokenizers: TokenizerPair | None) -> None:
    if tokenizers is None:
        return
    for side, tokenizer in (("source", tokenizers.source), ("target", tokenizers.target)):
        size = getattr(model.config, f"vocab_{side}")
        if tokenizer.vocab_size != size:
            raise ValueError(
                f"{model.name}: vocab_{side} is {size}, but the {side} tokenizer has "
                f"{tokenizer.vocab_size} ids; expected the same. Fix: pass the tokenizers that the "
                "model was trained with."
            )


def _validated(model: Any, folder: Path, writer: FileWriter) -> Report:
    report = validate_files(
        model,
        folder,
        writer.formats,
        writer.settings,
        write_variant=dataclasses.replace(writer, quantize=()).write_formats,
        quantize=writer.quantize,
    )
    report.raise_if_failed()
    return report


def _measured(
    gate: QualityGate, given: Any, model: Any, folder: Path, writer: FileWriter
) -> GateReport:
    """What quantisation loses against the model as it was given, before any rounding."""

    def greedy(model: Any) -> Decode:
        return lambda sources: model.greedy(sources, writer.settings.max_length)

    quantised: dict[str, Decode] = {}
    if model is not given:
        # the files with float16 weights were shown to answer as this model does
        quantised["weights in float16"] = greedy(model)
    for one in runnables(writer.formats, writer.quantize):
        if one.quantize is not None:
            quantised[one.name] = one.greedy(
                folder, model.config.vocab_source, writer.settings.max_length
            )
    return gate.measured(greedy(given), quantised)


def _manifest(
    model: Any,
    entries: dict[str, FileEntry],
    settings: DecodeSettings,
    report: Report,
    record: Mapping[str, Any],
) -> Manifest:
    return Manifest(
        model=model.name,
        config=model.config.to_dict(),
        files=entries,
        decoding=dataclasses.asdict(settings),
        parity=report.to_dict(),
        data=_data(record),
        metrics=dict(record.get("metrics") or {}),
        versions={
            "python": platform.python_version(),
            **{package: version(package) for package in _PACKAGES},
        },
        seed=record.get("seed"),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        training={
            name: value
            for name, value in record.items()
            if name not in ("metrics", "seed", "data") and not name.startswith(_DATA)
        },
    )


def _data(record: Mapping[str, Any]) -> dict[str, Any]:
    """What the record says of the data: `data`, and `data_licence`, `data_sha256`, ..."""
    described = record.get("data") or {}
    if not isinstance(described, Mapping):
        described = {"description": described}
    more = {
        name.removeprefix(_DATA): value for name, value in record.items() if name.startswith(_DATA)
    }
    return {**described, **more}
