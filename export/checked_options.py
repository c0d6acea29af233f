"""The options of an export, checked before any work is done."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

from attention_zoo.export.decode_functions import DecodeSettings
from attention_zoo.export.quality_gate import QualityGate
from attention_zoo.export.runnable import (
    FLOAT16,
    INT8,
    ONNX,
    ONNX_SPLIT,
    QUANTIZATIONS,
    SAVED_MODEL,
    TFLITE,
)
from attention_zoo.manifest import STORAGES

ALL_FORMATS = (SAVED_MODEL, TFLITE, ONNX, ONNX_SPLIT)


@dataclasses.dataclass(frozen=True)
class Quantization:
    """How weights are stored.

    Attributes:
        storage: of all files with float weights: "float32", or "float16" for rounded ones.
        further: ("int8",) if files with int8 weights are written beside them.
    """

    storage: str
    further: tuple[str, ...]


def checked_formats(formats: Iterable[str]) -> tuple[str, ...]:
    """The formats, each once.

    Raises:
        ValueError: none, or one that is not known.
    """
    formats = (formats,) if isinstance(formats, str) else tuple(formats)
    unknown = sorted(set(formats) - set(ALL_FORMATS))
    if unknown or not formats:
        raise ValueError(
            f"formats: expected one or more of {', '.join(ALL_FORMATS)}, got "
            f"{', '.join(unknown) or 'none'}. Name the formats that should be written."
        )
    return tuple(dict.fromkeys(formats))


def checked_quantization(
    storage: str, quantize: str | Iterable[str], formats: tuple[str, ...], gate: QualityGate | None
) -> Quantization:
    """`storage` and `quantize` as one; "float16" says the same in both.

    Raises:
        ValueError: a storage or quantisation that is not known, int8 without a format that has
            it, or a gate where nothing is quantised.
    """
    if storage not in STORAGES:
        raise ValueError(
            f"storage: expected one of {', '.join(STORAGES)}, got {storage!r}. float16 halves the "
            "files."
        )
    kinds = (quantize,) if isinstance(quantize, str) else tuple(quantize)
    unknown = sorted(set(map(str, kinds)) - set(QUANTIZATIONS))
    if unknown:
        raise ValueError(
            f"quantize: expected any of {', '.join(QUANTIZATIONS)}, got {', '.join(unknown)}. "
            "Fix: int8 adds files of about a quarter of the size, float16 halves all files."
        )
    if INT8 in kinds and set(formats) <= {SAVED_MODEL}:
        raise ValueError(
            f"quantize: int8 is for tflite, onnx and onnx-split, got the formats "
            f"{', '.join(formats)}. Fix: add one of them, or leave int8 out."
        )
    storage = FLOAT16 if FLOAT16 in kinds else storage
    if gate is not None and storage != FLOAT16 and INT8 not in kinds:
        raise ValueError(
            "gate: nothing is quantised, so there is nothing to lose; expected quantize with a "
            'gate. Fix: quantize="int8", or leave the gate out.'
        )
    return Quantization(storage, (INT8,) if INT8 in kinds else ())


def checked_settings(
    model: Any, max_length: int | None, beam_width: int, length_penalty: float
) -> DecodeSettings:
    """What is fixed in the files; `max_length` None takes the model's own.

    Raises:
        ValueError: a size below 1, or a penalty that is not a finite number of at least 0.
    """
    steps = model.config.max_length if max_length is None else max_length
    for name, size in (("max_length", steps), ("beam_width", beam_width)):
        if isinstance(size, bool) or not isinstance(size, int) or size < 1:
            raise ValueError(
                f"{name}: expected a whole number of at least 1, got {size!r}. It is fixed in the "
                "files that are written."
            )
    if not 0 <= length_penalty < float("inf"):
        raise ValueError(
            f"length_penalty: expected a finite number of at least 0, got {length_penalty!r}. "
            "0 compares plain log-probabilities; 1 is usual."
        )
    return DecodeSettings(steps, beam_width, float(length_penalty))
