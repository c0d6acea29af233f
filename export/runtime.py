"""Runs exported files: one class a format, all with `predict(source)` and `beam_search(source)`.

    OnnxModel("saved_models/bahdanau_gru.copy")      needs numpy and onnxruntime
    LiteRTModel("saved_models/bahdanau_gru.copy")    needs numpy and ai-edge-litert
    SavedModel("saved_models/bahdanau_gru.copy")     needs TensorFlow

`source` is an integer array (batch, T_enc) padded with 0, or a list of lists of ids. The answer is
a dictionary of NumPy arrays: `tokens` (batch, T_dec) int32 padded with 0 after eos, `lengths`
(batch,) int32, `scores` (batch,) float32, `alignments` (batch, T_dec, T_enc) float32; those of beam
search have a beam axis after batch, best first.

Neither this module nor the first two classes import TensorFlow.
"""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import numpy as np

from attention_zoo.export.errors import FileLoadError
from attention_zoo.export.step_signature import StepSignature
from attention_zoo.manifest import (
    MANIFEST_FILE,
    Manifest,
    ManifestError,
    check_files,
    read_manifest,
)
from attention_zoo.source_batch import source_batch

Outputs = dict[str, np.ndarray]

# before the names of the outputs of an ONNX file that have a beam axis
_BEAM = "beam_"


class OnnxModel:
    """Runs `model.onnx` with onnxruntime's CPU provider.

    Args:
        path: the file, or the folder that holds it.
        vocab_source: ids must be below it. Read from `manifest.json` beside the file if there is
            one, otherwise from the file's own metadata.
        threads: threads that one operator may use; None lets onnxruntime choose.

    Raises:
        FileLoadError: the file is missing or onnxruntime does not accept it.
        FileChangedError: its bytes are not those that the manifest beside it recorded.
    """

    def __init__(
        self, path: str | Path, vocab_source: int | None = None, threads: int | None = None
    ):
        self.path = _file(path, "model.onnx")
        self._manifest = _manifest(self.path.parent)
        self.vocab_source = _vocabulary(self._manifest, vocab_source)
        self._threads = threads
        self._session = self._open()
        if self.vocab_source is None:
            config = self._session.get_modelmeta().custom_metadata_map.get("config", "{}")
            self.vocab_source = json.loads(config).get("vocab_source")
        self._names = [output.name for output in self._session.get_outputs()]

    def predict(self, source: Any) -> Outputs:
        """Greedy decoding. Raises ValueError if `source` is not what the model can read."""
        return self._run(source, "")

    def beam_search(self, source: Any) -> Outputs:
        """Beam search, best first. Raises as `predict`, and FileLoadError if the file has none."""
        if not any(name.startswith(_BEAM) for name in self._names):
            raise FileLoadError(
                f"{self.path}: expected outputs for beam search ({_BEAM}tokens, ...), got "
                f"{', '.join(self._names)}. Export the model again."
            )
        return self._run(source, _BEAM, beam=np.array(True))

    def _run(self, source: Any, prefix: str, **switch: np.ndarray) -> Outputs:
        batch = source_batch(source, self.vocab_source, type(self).__name__)
        # what stands without the prefix is the answer to whoever knows nothing of beams
        names = [name for name in self._names if name.startswith(_BEAM) == bool(prefix)]
        outputs = self._session.run(names, {"source": batch, **switch})
        return {
            name.removeprefix(prefix): value for name, value in zip(names, outputs, strict=True)
        }

    def _open(self) -> Any:
        import onnxruntime

        _check_bytes(self._manifest, self.path.parent, self.path)
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        if self._threads is not None:
            options.intra_op_num_threads = self._threads
        try:
            return onnxruntime.InferenceSession(
                str(self.path), options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:
            raise _refused(self.path, "onnxruntime", error) from error


class LiteRTModel:
    """Runs the signatures of `model.tflite` with LiteRT. The file's batch is 1: rows run in turn.

    Threads may share one: a lock lets one row (or one step) into the interpreter at a time. To run
    rows in parallel, make one `LiteRTModel` a thread.

    Args:
        path: the file, or the folder that holds it.
        vocab_source: ids must be below it. Read from `manifest.json` beside the file if there is
            one; without either only the sign of an id is checked.
        threads: threads that one operator may use; None lets LiteRT choose.

    Raises:
        FileLoadError: the file is missing or LiteRT does not accept it.
        FileChangedError: its bytes are not those that the manifest beside it recorded.
    """

    def __init__(
        self, path: str | Path, vocab_source: int | None = None, threads: int | None = None
    ):
        from ai_edge_litert.interpreter import Interpreter

        self.path = _file(path, "model.tflite")
        manifest = _manifest(self.path.parent)
        self.vocab_source = _vocabulary(manifest, vocab_source)
        _check_bytes(manifest, self.path.parent, self.path)
        try:
            # from memory: a file that is replaced while it is mapped would change under the model
            self._interpreter = Interpreter(
                model_content=self.path.read_bytes(), num_threads=threads
            )
            self._runners = {
                name: self._interpreter.get_signature_runner(name)
                for name in self._interpreter.get_signature_list()
            }
        except (ValueError, RuntimeError) as error:
            raise _refused(self.path, "LiteRT", error) from error
        self._step = (
            StepSignature(self._runners["step"], self.path.name, manifest)
            if "step" in self._runners
            else None
        )
        # all signatures share the tensors of one interpreter, and resizing them is not atomic
        self._lock = threading.Lock()

    def predict(self, source: Any) -> Outputs:
        """Greedy decoding. Raises ValueError if `source` is not what the model can read."""
        return self._rows("greedy", source)

    def beam_search(self, source: Any) -> Outputs:
        """Beam search, best first. Raises as `predict`."""
        return self._rows("beam", source)

    def encode(self, source: Any) -> Outputs:
        """The states (and keys, memory, mask) from which `step` decodes; `source` has one row."""
        batch = source_batch(source, self.vocab_source, "LiteRTModel.encode")
        if len(batch) != 1:
            raise ValueError(
                f"LiteRTModel.encode: source has shape {batch.shape}; expected (1, T_enc). "
                "Fix: encode one sequence at a time."
            )
        return self._invoke("encode", source=batch)

    def step(self, tokens: Any, encoded: Outputs) -> Outputs:
        """One step: `tokens` (1,) int32 and all of `encode`'s outputs -> logits, next states.

        Raises ValueError, which names the tensor, if one is not what the file can read.
        """
        if self._step is None:
            raise self._no_signature("step")
        return self._invoke("step", **self._step.checked(tokens, encoded))

    def _rows(self, signature: str, source: Any) -> Outputs:
        batch = source_batch(source, self.vocab_source, type(self).__name__)
        rows = [self._invoke(signature, source=row[None]) for row in batch]
        return {name: np.concatenate([row[name] for row in rows]) for name in rows[0]}

    def _invoke(self, signature: str, **inputs: np.ndarray) -> Outputs:
        runner = self._runner(signature)
        with self._lock:
            # copied before another thread may write into the interpreter's memory
            return {name: np.array(value) for name, value in runner(**inputs).items()}

    def _runner(self, signature: str) -> Any:
        if signature not in self._runners:
            raise self._no_signature(signature)
        return self._runners[signature]

    def _no_signature(self, signature: str) -> FileLoadError:
        return FileLoadError(
            f"{self.path}: expected a signature {signature!r}, got {sorted(self._runners)}. "
            "Export the model again."
        )


class SavedModel:
    """Runs a SavedModel with TensorFlow.

    Args:
        path: the folder with `saved_model.pb`, or the export folder (its newest version is taken).
        vocab_source: ids must be below it. Read from the `manifest.json` of the export if there is
            one; without either only the sign of an id is checked.

    Raises:
        FileLoadError: the folder is missing or TensorFlow does not accept it.
        FileChangedError: its bytes are not those that the manifest beside it recorded.
    """

    def __init__(self, path: str | Path, vocab_source: int | None = None):
        import tensorflow as tf

        self.path = _saved_model_folder(Path(path))
        folder = self.path.parent.parent
        manifest = _manifest(folder)
        self.vocab_source = _vocabulary(manifest, vocab_source)
        _check_bytes(manifest, folder, *(one for one in self.path.rglob("*") if one.is_file()))
        try:
            self._module = tf.saved_model.load(str(self.path))
            self._greedy = self._module.signatures["serving_default"]
            self._beam = self._module.signatures["beam"]
        except Exception as error:
            raise _refused(self.path, "TensorFlow", error) from error

    def predict(self, source: Any) -> Outputs:
        """Greedy decoding. Raises ValueError if `source` is not what the model can read."""
        return self._run(self._greedy, source)

    def beam_search(self, source: Any) -> Outputs:
        """Beam search, best first. Raises as `predict`."""
        return self._run(self._beam, source)

    def _run(self, signature: Any, source: Any) -> Outputs:
        import tensorflow as tf

        batch = source_batch(source, self.vocab_source, type(self).__name__)
        return {name: out.numpy() for name, out in signature(source=tf.constant(batch)).items()}


def _file(path: str | Path, name: str) -> Path:
    path = Path(path)
    if name and path.is_dir():
        path = path / name
    if not path.is_file():
        raise FileLoadError(
            f"{path}: no such file. Expected a file that `attention-zoo export` wrote, or the "
            "folder it wrote."
        )
    return path


def _saved_model_folder(path: Path) -> Path:
    candidates = [path, *sorted(path.glob("saved_model/*"), key=_version, reverse=True)]
    for candidate in candidates:
        if (candidate / "saved_model.pb").is_file():
            return candidate
    raise FileLoadError(
        f"{path}: no saved_model.pb here or in saved_model/<version>. Expected the folder that "
        "`attention-zoo export` wrote."
    )


def _version(path: Path) -> int:
    return int(path.name) if path.name.isdecimal() else -1


def _manifest(folder: Path) -> Manifest | None:
    return read_manifest(folder) if (folder / MANIFEST_FILE).is_file() else None


def _check_bytes(manifest: Manifest | None, folder: Path, *paths: Path) -> None:
    """Refuse a file that is not the one its manifest names: a bad one can end the process."""
    if manifest is not None:
        names = (path.relative_to(folder).as_posix() for path in paths)
        check_files(folder, manifest, only=tuple(name for name in names if name in manifest.files))


def _vocabulary(manifest: Manifest | None, given: int | None) -> int | None:
    if given is not None or manifest is None:
        return given
    size = manifest.config.get("vocab_source")
    if not isinstance(size, int):
        raise ManifestError(
            f"{MANIFEST_FILE}: config should hold vocab_source (a whole number), got {size!r}. "
            "Export the model again."
        )
    return size


def _refused(path: Path, runtime: str, error: Exception) -> FileLoadError:
    return FileLoadError(
        f"{path}: {runtime} does not accept this file ({error}). It may be truncated: run "
        "`attention-zoo validate` on its folder, or export the model again."
    )
