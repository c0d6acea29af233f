"""Runs the written files in their own runtimes and compares every answer with Keras."""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from attention_zoo.export.cases import Case, ending_cases, standard_cases
from attention_zoo.export.comparison import TOLERANCE, Comparison
from attention_zoo.export.decode_functions import BEAM, GREEDY, DecodeSettings
from attention_zoo.export.errors import Difference, ExportError, FileLoadError, parity_error
from attention_zoo.export.keras_reference import KerasReference, Outputs, ShiftedEos
from attention_zoo.export.load_check import check_loads
from attention_zoo.export.runtime import LiteRTModel, OnnxModel, SavedModel
from attention_zoo.export.step_loop import step_loop

STEP_LOOP = "encode + step"

KINDS = {"early eos": 1.0, "no eos": -1.0}
# the first is enough for most models; a larger one takes digits from the scores of other beams
_SHIFTS = (30.0, 60.0, 120.0, 240.0, 480.0)

Writer = Callable[[Any, Path], Any]


@dataclasses.dataclass
class Report:
    """Parity of the files of one folder: a `Comparison` for each signature of each file.

    `cases` says what was tried; `eos` which rows ended early and which never did, and whether they
    came from the model as it is or from one whose eos was shifted.
    """

    comparisons: list[Comparison] = dataclasses.field(default_factory=list)
    cases: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    eos: dict[str, str] = dataclasses.field(default_factory=dict)

    @property
    def differences(self) -> list[Difference]:
        """Every output that failed, in every case."""
        return [found for comparison in self.comparisons for found in comparison.differences]

    @property
    def ok(self) -> bool:
        """True if nothing differs."""
        return not self.differences

    def raise_if_failed(self) -> None:
        """Raise the `ParityError` that lists every failed output, if there is one."""
        if self.differences:
            raise parity_error(self.differences, TOLERANCE)

    def to_dict(self) -> dict[str, Any]:
        """The `parity` of the manifest: tolerance, cases, and a summary a file and signature."""
        files: dict[str, dict[str, Any]] = {}
        for comparison in self.comparisons:
            files.setdefault(comparison.file, {})[comparison.signature] = comparison.summary()
        return {
            "tolerance": TOLERANCE,
            "cases": self.cases,
            "eos": self.eos,
            "files": files,
        }

    def comparison(self, file: str, signature: str) -> Comparison:
        """The comparison of a file and signature, made if it is not there yet."""
        for comparison in self.comparisons:
            if (comparison.file, comparison.signature) == (file, signature):
                return comparison
        self.comparisons.append(Comparison(file, signature))
        return self.comparisons[-1]


def validate_files(
    model: Any,
    folder: Path,
    formats: Iterable[str],
    settings: DecodeSettings,
    write_variant: Writer | None = None,
    seed: int = 0,
) -> Report:
    """Compare the files in `folder` with `model` on every case, and report; raises no parity error.

    Args:
        model: the Keras model that was exported.
        folder: where the files lie.
        formats: of "savedmodel", "tflite", "onnx".
        settings: what is fixed in the files.
        write_variant: writes the same formats of another model into a folder. Used where no input
            makes this model end early, or none keeps it from ending: a model with shifted eos is
            written, compared and thrown away. Without it the report says that the kind is missing.
        seed: of the inputs.

    Raises:
        FileLoadError: a file does not load or run.
    """
    formats = tuple(formats)
    for kind, path in (("OnnxModel", "model.onnx"), ("LiteRTModel", "model.tflite")):
        if _FORMAT_OF[path] in formats:
            check_loads(kind, folder / path)
    reference = KerasReference(model, settings)
    config = model.config
    found = ending_cases(reference.greedy, config.vocab_source, settings.max_length, seed)
    cases = [*standard_cases(config.vocab_source, seed), *found.values()]
    report = Report()
    _run_cases(report, reference, folder, formats, cases)
    for kind in KINDS:
        if not report.ok:
            break  # the answer is known; what is left is only slow
        if kind in found:
            report.eos[kind] = "the model as it is"
        elif write_variant is None:
            report.eos[kind] = "not tried: no input made the model do it"
        else:
            report.eos[kind] = _run_variant(report, reference, formats, write_variant, kind)
    return report


def _run_variant(
    report: Report,
    reference: KerasReference,
    formats: tuple[str, ...],
    write_variant: Writer,
    kind: str,
) -> str:
    """Compare a copy of the model that ends as `kind` says; returns how that was brought about."""
    settings, config = reference.settings, reference.model.config
    for size in _SHIFTS:
        shift = KINDS[kind] * size
        shifted = KerasReference(ShiftedEos(reference.model, shift), settings)
        cases = ending_cases(shifted.greedy, config.vocab_source, settings.max_length)
        if kind not in cases:
            continue
        with tempfile.TemporaryDirectory(prefix="attention-zoo-variant-") as folder:
            write_variant(shifted.model, Path(folder))
            _run_cases(report, shifted, Path(folder), formats, [cases[kind]])
        return f"a copy of the model with the logit of eos shifted by {shift:g}"
    return f"not tried: no shift of eos made the model do it within {settings.max_length} steps"


def _run_cases(
    report: Report,
    reference: KerasReference,
    folder: Path,
    formats: tuple[str, ...],
    cases: list[Case],
) -> None:
    answers = _answers(reference, folder, formats)
    for case in cases:
        report.cases.append({"name": case.name, "shape": list(case.source.shape)})
        expected = {GREEDY: reference.greedy(case.source), BEAM: reference.beam(case.source)}
        for (file, signature), answer in answers.items():
            wanted = expected[BEAM if signature == BEAM else GREEDY]
            try:
                got = answer(case.source)
            except ExportError:
                raise
            except Exception as error:
                raise FileLoadError(
                    f"{folder / file} ({signature}): failed on {case.name!r}: {error}"
                ) from error
            report.comparison(file, signature).add(case, reference, got, wanted)


def _answers(
    reference: KerasReference, folder: Path, formats: tuple[str, ...]
) -> dict[tuple[str, str], Callable[[np.ndarray], Outputs]]:
    """For each file and signature, what runs it."""
    size = reference.model.config.vocab_source
    steps = reference.settings.max_length
    answers: dict[tuple[str, str], Callable[[np.ndarray], Outputs]] = {}
    if "savedmodel" in formats:
        saved = SavedModel(folder, vocab_source=size)
        answers["saved_model/1", GREEDY] = saved.predict
        answers["saved_model/1", BEAM] = saved.beam_search
    if "tflite" in formats:
        lite = LiteRTModel(folder, vocab_source=size)
        answers["model.tflite", GREEDY] = lite.predict
        answers["model.tflite", BEAM] = lite.beam_search
        answers["model.tflite", STEP_LOOP] = lambda source: step_loop(lite, source, steps)
    if "onnx" in formats:
        graph = OnnxModel(folder, vocab_source=size)
        answers["model.onnx", GREEDY] = graph.predict
        answers["model.onnx", BEAM] = graph.beam_search
    return answers


_FORMAT_OF = {"model.onnx": "onnx", "model.tflite": "tflite"}
