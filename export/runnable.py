"""What of an exported folder runs: its files, and the class of the runtime that runs them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from attention_zoo.export.step_loop import step_loop

FLOAT16, INT8 = "float16", "int8"
QUANTIZATIONS = (INT8, FLOAT16)
"""int8 writes further files beside the others; float16 changes how all files store weights."""

SAVED_MODEL, TFLITE, ONNX, ONNX_SPLIT = "savedmodel", "tflite", "onnx", "onnx-split"


@dataclasses.dataclass(frozen=True)
class Runnable:
    """One thing that answers: a file, or files that belong together.

    Attributes:
        files: paths in the folder; the first is the one that `runtime` opens.
        format: as in the manifest.
        runtime: a class of `runtime.py`.
        quantize: "int8" if its weights are, otherwise None.
    """

    files: tuple[str, ...]
    format: str
    runtime: str
    quantize: str | None = None

    @property
    def name(self) -> str:
        """What reports and manifests call it."""
        if self.format == SAVED_MODEL:
            return str(Path(self.files[0]).parent.as_posix())
        return " + ".join(self.files)

    @property
    def decodes(self) -> bool:
        """Whether the decode loop is in the file."""
        return self.format != ONNX_SPLIT

    @property
    def steps(self) -> bool:
        """Whether a host can drive the loop."""
        return self.format in (TFLITE, ONNX_SPLIT)

    def open(self, folder: Path, vocab_source: int | None = None) -> Any:
        """The object of the runtime that runs it."""
        from attention_zoo.export import runtime

        first = folder / self.files[0]
        path = first.parent if self.format == SAVED_MODEL else first
        return getattr(runtime, self.runtime)(path, vocab_source=vocab_source)

    def greedy(
        self, folder: Path, vocab_source: int | None, max_length: int
    ) -> Callable[[Any], dict[str, np.ndarray]]:
        """How it decodes greedily: the loop of the file, or that of the host."""
        model = self.open(folder, vocab_source)
        if self.decodes:
            decode: Callable[[Any], dict[str, np.ndarray]] = model.predict
            return decode
        return lambda source: step_loop(model, source, max_length)


RUNNABLES = (
    Runnable(("saved_model/1/saved_model.pb",), SAVED_MODEL, "SavedModel"),
    Runnable(("model.tflite",), TFLITE, "LiteRTModel"),
    Runnable(("model.int8.tflite",), TFLITE, "LiteRTModel", INT8),
    Runnable(("model.onnx",), ONNX, "OnnxModel"),
    Runnable(("model.int8.onnx",), ONNX, "OnnxModel", INT8),
    Runnable(("encoder.onnx", "decoder_step.onnx"), ONNX_SPLIT, "SplitOnnxModel"),
    Runnable(("encoder.int8.onnx", "decoder_step.int8.onnx"), ONNX_SPLIT, "SplitOnnxModel", INT8),
)


def runnables(formats: Iterable[str], quantize: Iterable[str] = ()) -> list[Runnable]:
    """What an export with these options writes, in the order of `RUNNABLES`."""
    formats, kinds = set(formats), {None, *quantize}
    return [one for one in RUNNABLES if one.format in formats and one.quantize in kinds]
