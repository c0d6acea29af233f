"""Whatever can answer a sequence: a model in Keras, or one of the files it was exported to."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from attention_zoo.commands.quiet_import import import_tensorflow

Outputs = dict[str, np.ndarray]


@dataclasses.dataclass(frozen=True)
class BeamOptions:
    """How to search: None leaves the width and the penalty at their defaults, or to the file."""

    width: int | None = None
    length_penalty: float | None = None
    n_best: int = 1


@dataclasses.dataclass(frozen=True)
class Answerer:
    """`answer(sequences)` gives tokens, lengths, scores and alignments as NumPy arrays.

    Every output has a beam axis after batch, of size 1 if the answer is greedy.
    """

    name: str
    answer: Callable[[list[list[int]]], Outputs]


def keras_answerer(source: str, beam: BeamOptions | None) -> Answerer:
    """Answers through Keras. `source` is a MODEL argument; `beam` None means greedy."""
    from attention_zoo.commands.model_source import load_source

    model = load_source(source)

    def answer(sequences: list[list[int]]) -> Outputs:
        if beam is None:
            return _with_beam_axis(model.greedy(sequences))
        given = {"beam_width": beam.width, "length_penalty": beam.length_penalty}
        options = {name: value for name, value in given.items() if value is not None}
        found: Outputs = model.beam_search(sequences, n_best=beam.n_best, **options)
        return found

    return Answerer(f"{source} in Keras", answer)


def file_answerer(path: Path, beam: BeamOptions | None) -> Answerer:
    """Answers through an exported file, in the runtime of its format.

    Raises ValueError if `beam` asks for a width or a penalty: the file was exported with its own.
    """
    if beam is not None and (beam.width is not None or beam.length_penalty is not None):
        raise ValueError(
            f"{path}: the beam width and the length penalty are fixed in an exported file. "
            "Leave --beam-width and --length-penalty out, or export again with others."
        )
    model = open_file(path)

    def answer(sequences: list[list[int]]) -> Outputs:
        if beam is None:
            return _with_beam_axis(model.predict(sequences))
        found = model.beam_search(sequences)
        kept = found["tokens"].shape[1]
        if beam.n_best > kept:
            raise ValueError(
                f"{path}: expected --n-best of at most {kept}, the beams in this file, "
                f"got {beam.n_best}. Export again with a wider beam."
            )
        return {name: value[:, : beam.n_best] for name, value in found.items()}

    return Answerer(str(path), answer)


def exported_file(model: str, file: str) -> Path:
    """The file that `--file` names: in the folder of a MODEL argument, or a path.

    Raises FileNotFoundError if it is in neither place.
    """
    from attention_zoo.commands.model_source import source_folder

    places = (source_folder(model) / file, Path(file))
    found = [place for place in places if place.exists()]
    if not found:
        raise FileNotFoundError(
            f"no such file: neither {places[0]} nor {places[1]}. `attention-zoo export` writes "
            "model.onnx, model.tflite and saved_model."
        )
    return found[0]


def open_file(path: Path) -> Any:
    """The runtime object of an exported file: OnnxModel, LiteRTModel or SavedModel."""
    from attention_zoo.export.runtime import LiteRTModel, OnnxModel, SavedModel

    if path.suffix == ".onnx":
        return OnnxModel(path)
    if path.suffix == ".tflite":
        return LiteRTModel(path)
    if path.is_dir():
        import_tensorflow()
        # the folder of the SavedModel, or the one above that holds its versions
        return SavedModel(path.parent if path.name == "saved_model" else path)
    raise ValueError(
        f"{path}: expected a .onnx or .tflite file or the folder of a SavedModel. "
        "`attention-zoo export` writes all three."
    )


def _with_beam_axis(outputs: Outputs) -> Outputs:
    return {name: value[:, None] for name, value in outputs.items()}
