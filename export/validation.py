"""Runs the written files in their own runtimes and compares every answer with Keras.

What is quantised cannot meet a tolerance: see `agreement.py` for what is asked of it.
"""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from attention_zoo.export.agreement import Agreement
from attention_zoo.export.cases import Case, ending_cases, standard_cases
from attention_zoo.export.comparison import RELATIVE_TOLERANCE, TOLERANCE, Comparison
from attention_zoo.export.decode_functions import BEAM, GREEDY, DecodeSettings
from attention_zoo.export.errors import Difference, ExportError, FileLoadError, parity_error
from attention_zoo.export.keras_reference import KerasReference, Outputs, with_shifted_eos
from attention_zoo.export.load_check import check_loads
from attention_zoo.export.runnable import SAVED_MODEL, Runnable, runnables
from attention_zoo.export.step_loop import step_loop

STEP_LOOP = "encode + step"

KINDS = {"early eos": 1.0, "no eos": -1.0}
# the first is enough for most models; a larger one takes digits from the scores of other beams
_SHIFTS = (30.0, 60.0, 120.0, 240.0, 480.0)

Writer = Callable[[Any, Path], Any]


@dataclasses.dataclass
class Report:
    """Parity of the files of one folder.

    There is a `Comparison` for each signature of each file, and an `Agreement` instead where the
    file is quantised. `cases` says what was tried; `eos` which rows ended early and which never
    did, and whether they came from the model as it is or from one whose eos was shifted.
    """

    comparisons: list[Comparison] = dataclasses.field(default_factory=list)
    agreements: list[Agreement] = dataclasses.field(default_factory=list)
    cases: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    eos: dict[str, str] = dataclasses.field(default_factory=dict)

    @property
    def differences(self) -> list[Difference]:
        """Every output that failed, in every case."""
        seen: list[Comparison | Agreement] = [*self.comparisons, *self.agreements]
        return [found for one in seen for found in one.differences]

    @property
    def ok(self) -> bool:
        """True if nothing differs."""
        return not self.differences

    def raise_if_failed(self) -> None:
        """Raise the `ParityError` that lists every failed output, if there is one."""
        if self.differences:
            raise parity_error(self.differences, TOLERANCE)

    def to_dict(self) -> dict[str, Any]:
        """The `parity` of the manifest: tolerance, cases, and a summary a file and signature.

        Quantised files stand under `quantised`, which is left out where there are none.
        """
        parity = {
            "tolerance": TOLERANCE,
            "relative_tolerance": RELATIVE_TOLERANCE,
            "cases": self.cases,
            "eos": self.eos,
            "files": _summaries(self.comparisons),
        }
        if self.agreements:
            parity["quantised"] = _summaries(self.agreements)
        return parity

    def comparison(self, file: str, signature: str) -> Comparison:
        """The comparison of a file and signature, made if it is not there yet."""
        for comparison in self.comparisons:
            if (comparison.file, comparison.signature) == (file, signature):
                return comparison
        self.comparisons.append(Comparison(file, signature))
        return self.comparisons[-1]

    def agreement(self, file: str, signature: str, vocab_target: int) -> Agreement:
        """The agreement of a quantised file and signature, made if it is not there yet."""
        for agreement in self.agreements:
            if (agreement.file, agreement.signature) == (file, signature):
                return agreement
        self.agreements.append(Agreement(file, signature, vocab_target))
        return self.agreements[-1]


def _summaries(seen: Iterable[Comparison | Agreement]) -> dict[str, dict[str, Any]]:
    """file -> signature -> summary."""
    files: dict[str, dict[str, Any]] = {}
    for one in seen:
        files.setdefault(one.file, {})[one.signature] = one.summary()
    return files


def validate_files(
    model: Any,
    folder: Path,
    formats: Iterable[str],
    settings: DecodeSettings,
    write_variant: Writer | None = None,
    seed: int = 0,
    quantize: Iterable[str] = (),
) -> Report:
    """Compare the files in `folder` with `model` on every case, and report; raises no parity error.

    Args:
        model: the Keras model that was exported.
        folder: where the files lie.
        formats: of "savedmodel", "tflite", "onnx", "onnx-split".
        settings: what is fixed in the files.
        write_variant: writes the same formats of another model into a folder, not quantised. Used
            where no input makes this model end early, or none keeps it from ending: a model with
            shifted eos is written, compared and thrown away. Without it the report says that the
            kind is missing.
        seed: of the inputs.
        quantize: "int8" if there are files with int8 weights too.

    Raises:
        FileLoadError: a file does not load or run.
    """
    formats = tuple(formats)
    written = runnables(formats, quantize)
    for one in written:
        if one.format != SAVED_MODEL:
            check_loads(one.runtime, folder / one.files[0])
    reference = KerasReference(model, settings)
    config = model.config
    found = ending_cases(reference.greedy, config.vocab_source, settings.max_length, seed)
    cases = [*standard_cases(config.vocab_source, seed), *found.values()]
    report = Report()
    _run_cases(report, reference, folder, written, cases)
    for kind in KINDS:
        if not report.ok:
            break  # the answer is known; what is left is only slow
        if kind in found:
            report.eos[kind] = "the model as it is"
        elif write_variant is None:
            report.eos[kind] = "not tried: no input made the model do it"
        else:
            plain = runnables(formats)
            report.eos[kind] = _run_variant(report, reference, plain, write_variant, kind)
    return report


def _run_variant(
    report: Report,
    reference: KerasReference,
    written: list[Runnable],
    write_variant: Writer,
    kind: str,
) -> str:
    """Compare a copy of the model that ends as `kind` says; returns how that was brought about."""
    settings, config = reference.settings, reference.model.config
    for size in _SHIFTS:
        shift = KINDS[kind] * size
        shifted = KerasReference(with_shifted_eos(reference.model, shift), settings)
        cases = ending_cases(shifted.greedy, config.vocab_source, settings.max_length)
        if kind not in cases:
            continue
        with tempfile.TemporaryDirectory(prefix="attention-zoo-variant-") as folder:
            write_variant(shifted.model, Path(folder))
            _run_cases(report, shifted, Path(folder), written, [cases[kind]])
        return f"a copy of the model with the logit of eos shifted by {shift:g}"
    return f"not tried: no shift of eos made the model do it within {settings.max_length} steps"


def _run_cases(
    report: Report,
    reference: KerasReference,
    folder: Path,
    written: list[Runnable],
    cases: list[Case],
) -> None:
    config = reference.model.config
    answers = [
        (one, signature, answer)
        for one in written
        for signature, answer in _answers(one, reference, folder)
    ]
    for case in cases:
        report.cases.append({"name": case.name, "shape": list(case.source.shape)})
        expected = {GREEDY: reference.greedy(case.source), BEAM: reference.beam(case.source)}
        for one, signature, answer in answers:
            wanted = expected[BEAM if signature == BEAM else GREEDY]
            try:
                got = answer(case.source)
            except ExportError:
                raise
            except Exception as error:
                raise FileLoadError(
                    f"{folder / one.name} ({signature}): failed on {case.name!r}: {error}"
                ) from error
            if one.quantize is None:
                report.comparison(one.name, signature).add(case, reference, got, wanted)
            else:
                agreement = report.agreement(one.name, signature, config.vocab_target)
                agreement.add(case, got, wanted)


def _answers(
    one: Runnable, reference: KerasReference, folder: Path
) -> Iterator[tuple[str, Callable[[np.ndarray], Outputs]]]:
    """For each signature, what runs it."""
    model = one.open(folder, reference.model.config.vocab_source)
    steps = reference.settings.max_length
    if one.decodes:
        yield GREEDY, model.predict
        yield BEAM, model.beam_search
    if one.steps:
        yield STEP_LOOP, lambda source: step_loop(model, source, steps)
