"""Runs the split form of a model: `encoder.onnx` once a sequence, `decoder_step.onnx` each step."""

from __future__ import annotations

import json
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
from attention_zoo.export.step_signature import StepInput, StepSignature
from attention_zoo.export.whole_number import checked_threads
from attention_zoo.source_batch import source_batch

Outputs = dict[str, np.ndarray]

NEXT = "next_"
"""Before the names of the states that a step gives: a graph has no two tensors of one name."""
ENCODER, DECODER_STEP = "encoder.onnx", "decoder_step.onnx"
_SIZES = {"vocab_source", "vocab_target"}
_DTYPES = {
    "tensor(float)": np.float32,
    "tensor(int32)": np.int32,
    "tensor(int64)": np.int64,
    "tensor(bool)": np.bool_,
}


class SplitOnnxModel:
    """Runs `encoder.onnx` and `decoder_step.onnx` with onnxruntime's CPU provider.

    The loop is the host's: `attention_zoo.export.step_loop` is one in NumPy.

    Args:
        path: the folder that holds both, or the path of the encoder; the step is then the file
            beside it.
        vocab_source: ids must be below it. Read from `manifest.json` beside the files if there is
            one, otherwise from the encoder's own metadata.
        threads: threads that one operator may use; None lets onnxruntime choose.
        variant: "int8" takes `encoder.int8.onnx` and `decoder_step.int8.onnx` of a folder.

    Raises:
        ValueError: `vocab_source` or `threads` is not a whole number of at least 1.
        FileLoadError: a file is missing or onnxruntime does not accept it.
        FileChangedError: its bytes are not those that the manifest beside it recorded.
    """

    rows_at_once: int | None = None

    def __init__(
        self,
        path: str | Path,
        vocab_source: int | None = None,
        threads: int | None = None,
        variant: str | None = None,
    ):
        threads = checked_threads(threads)
        self.path = found_file(path, ENCODER, variant)
        step_path = found_file(self.path.with_name(_step_name(self.path)), DECODER_STEP)
        manifest = manifest_beside(self.path.parent)
        self.vocab_source = known_vocabulary(manifest, vocab_source)
        check_bytes(manifest, self.path.parent, self.path, step_path)
        self._encoder = open_session(self.path, threads)
        self._step = open_session(step_path, threads)
        self._encoded, self._stepped = _outputs(self._encoder), _outputs(self._step)
        self._next = [name.removeprefix(NEXT) for name in self._stepped]
        config = recorded_config(self._encoder, self.path)
        if self.vocab_source is None:
            self.vocab_source = config.get("vocab_source")
        self._signature = StepSignature(
            f"{type(self).__name__}.step",
            {one.name: _input(one) for one in self._step.get_inputs()},
            vocab_target=config.get("vocab_target"),
            file=step_path.name,
            manifest=manifest,
        )

    def encode(self, source: Any) -> Outputs:
        """The states (and keys, values, mask) from which `step` decodes, for each row of `source`.

        Raises ValueError if `source` is not what the model can read.
        """
        batch = source_batch(source, self.vocab_source, f"{type(self).__name__}.encode")
        values = self._encoder.run(self._encoded, {"source": batch})
        return dict(zip(self._encoded, values, strict=True))

    def step(self, tokens: Any, encoded: Outputs) -> Outputs:
        """One step: `tokens` (batch,) int32 and all of `encode`'s outputs -> logits, next states.

        The next states have the names under which they are passed back in. Raises ValueError, which
        names the tensor, if one is not what the file can read.
        """
        values = self._step.run(self._stepped, self._signature.checked(tokens, encoded))
        return dict(zip(self._next, values, strict=True))


def open_session(path: Path, threads: int | None) -> Any:
    """An onnxruntime session on the CPU.

    Raises:
        FileLoadError: onnxruntime does not accept the file.
    """
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    if threads is not None:
        options.intra_op_num_threads = threads
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise refused(path, "onnxruntime", error) from error


def recorded_config(session: Any, path: Path) -> dict[str, Any]:
    """The model's config, from the metadata of the file; empty if it has none.

    Raises:
        FileLoadError: it is no config, or its vocabularies have no size.
    """
    text = session.get_modelmeta().custom_metadata_map.get("config", "{}")
    try:
        config = json.loads(text)
    except ValueError:
        config = None
    if not isinstance(config, dict) or not all(
        type(config[size]) is int and config[size] >= 1 for size in _SIZES & config.keys()
    ):
        raise FileLoadError(
            f"{path}: its metadata should hold a config with the sizes of the vocabularies, got "
            f"{text[:80]!r}. Fix: export the model again."
        )
    return config


def _outputs(session: Any) -> list[str]:
    return [output.name for output in session.get_outputs()]


def _step_name(encoder: Path) -> str:
    head, middle, tail = encoder.name.partition("encoder")
    if not middle:
        raise FileLoadError(
            f"{encoder}: expected a file called {ENCODER} or encoder.int8.onnx, with the file of "
            "the step beside it. Fix: name the folder that `attention-zoo export` wrote."
        )
    return f"{head}decoder_step{tail}"


def _input(value: Any) -> StepInput:
    shape = [size if isinstance(size, int) else -1 for size in value.shape]
    axes = tuple(size if isinstance(size, str) else None for size in value.shape)
    return StepInput(shape, np.dtype(_DTYPES.get(value.type, np.float32)), axes)
