"""Runs exported files: one class a format, all with `predict(source)` and `beam_search(source)`.

    OnnxModel("saved_models/bahdanau_gru.copy")      needs numpy and onnxruntime
    LiteRTModel("saved_models/bahdanau_gru.copy")    needs numpy and ai-edge-litert
    SavedModel("saved_models/bahdanau_gru.copy")     needs TensorFlow

`variant="int8"` takes the file with int8 weights of a folder. Hosts that drive the loop have
`encode` and `step`: of `LiteRTModel`, and of `SplitOnnxModel`, which is named here too.

`source` is an integer array (batch, T_enc) padded with 0, or a list of lists of ids. The answer is
a dictionary of NumPy arrays: `tokens` (batch, T_dec) int32 padded with 0 after eos, `lengths`
(batch,) int32, `scores` (batch,) float32, `alignments` (batch, T_dec, T_enc) float32; those of beam
search have a beam axis after batch, best first.

Neither this module nor the first two classes import TensorFlow.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np

from attention_zoo.export.errors import FileLoadError
from attention_zoo.export.opened_file import (
    check_bytes,
    found_file,
    known_vocabulary,
    manifest_beside,
    refused,
)
from attention_zoo.export.split_onnx_model import (
    Outputs,
    SplitOnnxModel,
    open_session,
    recorded_config,
)
from attention_zoo.export.step_signature import StepInput, StepSignature
from attention_zoo.export.whole_number import checked_threads
from attention_zoo.manifest import Manifest
from attention_zoo.source_batch import source_batch

__all__ = ["LiteRTModel", "OnnxModel", "Outputs", "SavedModel", "SplitOnnxModel"]

# before the names of the outputs of an ONNX file that have a beam axis
_BEAM = "beam_"


class OnnxModel:
    """Runs `model.onnx` with onnxruntime's CPU provider.

    Args:
        path: the file, or the folder that holds it.
        vocab_source: ids must be below it. Read from `manifest.json` beside the file if there is
            one, otherwise from the file's own metadata.
        threads: threads that one operator may use; None lets onnxruntime choose.
        variant: "int8" takes `model.int8.onnx` of a folder.

    Raises:
        ValueError: `vocab_source` or `threads` is not a whole number of at least 1.
        FileLoadError: the file is missing, onnxruntime does not accept it, or it does not decode.
        FileChangedError: its bytes are not those that the manifest beside it recorded.
    """

    def __init__(
        self,
        path: str | Path,
        vocab_source: int | None = None,
        threads: int | None = None,
        variant: str | None = None,
    ):
        threads = checked_threads(threads)
        self.path = found_file(path, "model.onnx", variant)
        manifest = manifest_beside(self.path.parent)
        self.vocab_source = known_vocabulary(manifest, vocab_source)
        check_bytes(manifest, self.path.parent, self.path)
        self._session = open_session(self.path, threads)
        if self.vocab_source is None:
            self.vocab_source = recorded_config(self._session, self.path).get("vocab_source")
        names = [output.name for output in self._session.get_outputs()]
        if "tokens" not in names:
            raise FileLoadError(
                f"{self.path}: it does not decode; expected an output tokens, got "
                f"{', '.join(names)}. Fix: SplitOnnxModel runs encoder.onnx and "
                "decoder_step.onnx; here name the folder, or model.onnx."
            )
        # what stands without the prefix is the answer to whoever knows nothing of beams
        self._greedy = [name for name in names if not name.startswith(_BEAM)]
        self._beam = [name for name in names if name.startswith(_BEAM)]

    def predict(self, source: Any) -> Outputs:
        """Greedy decoding. Raises ValueError if `source` is not what the model can read."""
        batch = source_batch(source, self.vocab_source, "OnnxModel")
        values = self._session.run(self._greedy, {"source": batch})
        return dict(zip(self._greedy, values, strict=True))

    def beam_search(self, source: Any) -> Outputs:
        """Beam search, best first. Raises as `predict`, and FileLoadError if the file has none."""
        if not self._beam:
            raise FileLoadError(
                f"{self.path}: expected outputs for beam search ({_BEAM}tokens, ...), got "
                f"{', '.join(self._greedy)}. Export the model again."
            )
        batch = source_batch(source, self.vocab_source, "OnnxModel")
        values = self._session.run(self._beam, {"source": batch, "beam": np.array(True)})
        names = [name.removeprefix(_BEAM) for name in self._beam]
        return dict(zip(names, values, strict=True))


class LiteRTModel:
    """Runs the signatures of `model.tflite` with LiteRT. The file's batch is 1: rows run in turn.

    Threads may share one: a lock lets one row (or one step) into the interpreter at a time. To run
    rows in parallel, make one `LiteRTModel` a thread.

    Args:
        path: the file, or the folder that holds it.
        vocab_source: ids must be below it. Read from `manifest.json` beside the file if there is
            one; without either only the sign of an id is checked.
        threads: threads that one operator may use; None lets LiteRT choose.
        variant: "int8" takes `model.int8.tflite` of a folder.

    Raises:
        ValueError: `vocab_source` or `threads` is not a whole number of at least 1.
        FileLoadError: the file is missing or LiteRT does not accept it.
        FileChangedError: its bytes are not those that the manifest beside it recorded.
    """

    rows_at_once: int | None = 1

    def __init__(
        self,
        path: str | Path,
        vocab_source: int | None = None,
        threads: int | None = None,
        variant: str | None = None,
    ):
        from ai_edge_litert.interpreter import Interpreter

        threads = checked_threads(threads)
        self.path = found_file(path, "model.tflite", variant)
        manifest = manifest_beside(self.path.parent)
        self.vocab_source = known_vocabulary(manifest, vocab_source)
        check_bytes(manifest, self.path.parent, self.path)
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
            raise refused(self.path, "LiteRT", error) from error
        self._step = (
            _step_signature(self._runners["step"], self.path.name, manifest)
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
        if len(rows) == 1:
            return rows[0]
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
        ValueError: `vocab_source` is not a whole number of at least 1.
        FileLoadError: the folder is missing or TensorFlow does not accept it.
        FileChangedError: its bytes are not those that the manifest beside it recorded.
    """

    def __init__(self, path: str | Path, vocab_source: int | None = None):
        import tensorflow as tf

        self.path = _saved_model_folder(Path(path))
        folder = self.path.parent.parent
        manifest = manifest_beside(folder)
        self.vocab_source = known_vocabulary(manifest, vocab_source)
        check_bytes(manifest, folder, *(one for one in self.path.rglob("*") if one.is_file()))
        try:
            self._module = tf.saved_model.load(str(self.path))
            self._greedy = self._module.signatures["serving_default"]
            self._beam = self._module.signatures["beam"]
        except Exception as error:
            raise refused(self.path, "TensorFlow", error) from error

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


def _step_signature(runner: Any, file: str, manifest: Manifest | None) -> StepSignature:
    inputs = {
        name: StepInput([int(size) for size in one["shape_signature"]], np.dtype(one["dtype"]))
        for name, one in runner.get_input_details().items()
    }
    logits = runner.get_output_details().get("logits", {}).get("shape_signature", ())
    width = int(logits[-1]) if len(logits) and logits[-1] > 1 else None
    return StepSignature("LiteRTModel.step", inputs, width, file, manifest)


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
