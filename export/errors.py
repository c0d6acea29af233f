"""What can go wrong when a model leaves Python, most fundamental first.

    ExportError
      ConversionError       a converter refused the model
        UnsupportedOpsError   it converted, but the file needs custom or Flex ops
      FileLoadError         the written file does not load or run in its own runtime
      ParityError           it runs, and answers otherwise than Keras:
        OutputNamesError      outputs are missing or have other names
        OutputShapeError      an output has another shape
        OutputDtypeError      an output has another dtype
        OutputValueError      an output has other values
      QualityError          it is quantised, and loses more on an evaluation set than it may

A `ParityError` lists every output that failed. The class that is raised is the first of the four,
in this order, that any output earned: values are not worth reading while the shapes differ.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from attention_zoo.manifest import FileChangedError, ManifestError

__all__ = [
    "ConversionError",
    "Difference",
    "ExportError",
    "FileChangedError",
    "FileLoadError",
    "ManifestError",
    "OutputDtypeError",
    "OutputNamesError",
    "OutputShapeError",
    "OutputValueError",
    "ParityError",
    "QualityError",
    "UnsupportedOpsError",
    "parity_error",
]


class ExportError(Exception):
    """A model could not be exported, or an exported file does not do what the model does."""


class ConversionError(ExportError):
    """A converter refused the model."""


class UnsupportedOpsError(ConversionError):
    """A TFLite file needs ops that are not built in. `ops` names them."""

    def __init__(self, path: str, ops: list[str]):
        self.ops = ops
        super().__init__(
            f"{path}: expected built-in ops only, got {', '.join(ops)}. A phone's interpreter "
            "cannot run them: write the layer that makes them with ops that TFLite has."
        )


class FileLoadError(ExportError):
    """A file does not load or run in its own runtime."""


@dataclasses.dataclass(frozen=True)
class Difference:
    """One output of one file that differs from Keras in one case.

    `kind` is "names", "shape", "dtype" or "values"; `largest` the largest absolute difference
    (None where there are no values to subtract); `detail` says what was expected and what came.
    """

    file: str
    signature: str
    output: str
    case: str
    kind: str
    detail: str
    largest: float | None = None


class ParityError(ExportError):
    """A file answers otherwise than Keras. `differences` holds every output that failed."""

    def __init__(self, message: str, differences: list[Difference]):
        self.differences = differences
        super().__init__(message)


class OutputNamesError(ParityError):
    """Outputs are missing, or there are others."""


class OutputShapeError(ParityError):
    """An output has another shape than Keras gives."""


class OutputDtypeError(ParityError):
    """An output has another dtype than Keras gives."""


class OutputValueError(ParityError):
    """An output has other values than Keras gives."""


class QualityError(ExportError):
    """A quantised file loses more than its gate allows. `report` holds what was measured."""

    def __init__(self, message: str, report: Any):
        self.report = report
        super().__init__(message)


_BY_KIND: dict[str, type[ParityError]] = {
    "names": OutputNamesError,
    "shape": OutputShapeError,
    "dtype": OutputDtypeError,
    "values": OutputValueError,
}


def parity_error(differences: list[Difference], tolerance: float) -> ParityError:
    """The error that lists every failed output once, with its worst case.

    Raises:
        ValueError: `differences` is empty.
    """
    if not differences:
        raise ValueError("differences: expected at least one, got none. Call this on failure only.")
    kinds = list(_BY_KIND)
    groups: dict[tuple[str, str, str, str], list[Difference]] = {}
    for difference in differences:
        key = (difference.kind, difference.file, difference.signature, difference.output)
        groups.setdefault(key, []).append(difference)
    lines = []
    for key in sorted(groups, key=lambda key: (kinds.index(key[0]), *key[1:])):
        kind, file, signature, output = key
        worst = max(groups[key], key=lambda difference: difference.largest or 0.0)
        size = "" if worst.largest is None else f" (largest difference {worst.largest:.3g})"
        lines.append(
            f"  {file} {signature} {output}: {kind}{size} in {len(groups[key])} of the cases, "
            f"at worst in {worst.case!r}: {worst.detail}"
        )
    message = (
        f"{len(lines)} outputs differ from Keras (scores and alignments may differ by "
        f"{tolerance:g}, or one millionth of a score beyond 100, tokens and lengths not at all):\n"
        + "\n".join(lines)
    )
    first = min((difference.kind for difference in differences), key=kinds.index)
    return _BY_KIND[first](message, differences)
