"""Answers with their weights, from Keras or from an exported file, as explanations."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from attention_zoo.commands.model_source import RUN_FILE, folder_of, refuse_unknown, source_folder

if TYPE_CHECKING:
    import numpy as np

    from attention_zoo import Seq2Seq
    from attention_zoo.explain.explanation import Explanation, Origin
    from attention_zoo.export.translation import Translation
    from attention_zoo.tokenizer import TokenizerPair

SUFFIXES = {"onnx": ".onnx", "tflite": ".tflite"}
RUNTIMES = ("onnx", "tflite", "keras")


@dataclass(frozen=True)
class Responder:
    """A MODEL argument, and what runs it: `file` None is Keras."""

    model: str
    file: Path | None

    @property
    def runtime(self) -> str:
        """One of `RUNTIMES`."""
        if self.file is None:
            return "keras"
        return next(name for name, suffix in SUFFIXES.items() if suffix == self.file.suffix)

    @cached_property
    def translates(self) -> bool:
        """Whether the model reads text; else it reads ids."""
        from attention_zoo.commands.model_source import source_tokenizers

        return source_tokenizers(self.model) is not None

    @cached_property
    def tokenizers(self) -> TokenizerPair:
        """Those of a model that translates."""
        from attention_zoo.commands.translation_evaluation import tokenizers_of

        return tokenizers_of(self.model)

    @cached_property
    def loaded(self) -> Seq2Seq:
        """The model in Keras, loaded once."""
        from attention_zoo.commands.model_source import load_source

        return load_source(self.model)

    def origin(self, search: str) -> Origin:
        """What the files of an explanation say about where it came from."""
        from attention_zoo.explain.explanation import Origin
        from attention_zoo.manifest import sha256_of

        path = self.file or _keras_file(self.model)
        return Origin(self.model, self.runtime, search, path.name, sha256_of(path))


def choose_responder(model: str, runtime: str | None, needs_keras: str | None = None) -> Responder:
    """What runs a MODEL argument.

    Args:
        model: a preset, a folder, a .keras file, or an exported .onnx or .tflite file.
        runtime: one of `RUNTIMES`; None takes the file itself if MODEL is one, else the first of
            model.onnx, model.tflite and Keras that the folder has.
        needs_keras: an option that only Keras can do.

    Raises:
        click.UsageError: options that contradict each other.
        FileNotFoundError: the folder has no such file.
    """
    path = Path(model)
    of_file = next((name for name, suffix in SUFFIXES.items() if suffix == path.suffix), None)
    if of_file is not None and path.is_file():
        if runtime not in (None, of_file):
            raise click.UsageError(f"--runtime {runtime} cannot run {model}; leave it out.")
        if needs_keras:
            raise click.UsageError(
                f"{needs_keras} runs in Keras: name the folder of {model}, not the file."
            )
        return Responder(model, path)
    if needs_keras and runtime not in (None, "keras"):
        raise click.UsageError(f"{needs_keras} runs in Keras: leave --runtime out.")
    if needs_keras or runtime == "keras":
        return Responder(model, None)
    refuse_unknown(model)
    folder = source_folder(model)
    wanted = [runtime] if runtime else list(SUFFIXES)
    found = [folder / f"model{SUFFIXES[it]}" for it in wanted]
    file = next((it for it in found if it.is_file()), None)
    if file is None and runtime and folder.is_dir():
        raise FileNotFoundError(
            f"{found[0]}: no such file. Fix: --runtime keras, or `attention-zoo export` with "
            f"--format {runtime}."
        )
    return Responder(model, file)


def explain_text(responder: Responder, text: str, beam: bool) -> Explanation:
    """The explanation of the translation of a text."""
    from attention_zoo.export.translator import Translator

    if responder.file is not None:
        translator = Translator.from_folder(responder.file.parent, responder.file.name)
    else:
        # the same treatment of text whatever runs the model
        longest = responder.loaded.config.max_length
        translator = Translator(
            _KerasModel(responder), responder.tokenizers, longest, responder.model
        )
    answer = translator.translate(text, beam)[0]
    return explanation_of(answer, responder.origin("beam" if beam else "greedy"))


def explanation_of(answer: Translation, origin: Origin) -> Explanation:
    """A translation as an explanation."""
    from attention_zoo.explain.explanation import Explanation

    return Explanation(
        source=answer.source,
        text=answer.text,
        score=answer.score,
        tokens=answer.tokens,
        pieces=answer.pieces,
        source_pieces=answer.source_pieces,
        alignments=answer.alignments,
        origin=origin,
        alternatives=tuple(explanation_of(other, origin) for other in answer.alternatives),
    )


def explain_ids(responder: Responder, source: list[int], beam: bool) -> Explanation:
    """The explanation of the answer to a sequence of ids, eos included."""
    from attention_zoo.commands.answerer import open_file

    model: Any = _KerasModel(responder) if responder.file is None else open_file(responder.file)
    found = model.beam_search([source]) if beam else model.predict([source])
    # the only row, and of a beam the best answer
    best = {name: value[0, 0] if beam else value[0] for name, value in found.items()}
    return ids_explanation(
        source,
        [int(token) for token in best["tokens"][: int(best["lengths"])]],
        best["alignments"],
        float(best["scores"]),
        responder.origin("beam" if beam else "greedy"),
    )


def explain_given(responder: Responder, source: str, target: str) -> Explanation:
    """The explanation of a target that the model is made to write, through Keras.

    Source and target are texts, or ids for a model of ids.
    """
    from attention_zoo.explain.forced_alignment import forced_alignments, forced_score

    model, origin = responder.loaded, responder.origin("forced")
    read, written = ids_of(responder, source, target)
    weights = forced_alignments(model, [read], [written])[0]
    score = forced_score(model, read, written)
    if not responder.translates:
        return ids_explanation(read, written, weights, score, origin)
    from attention_zoo.explain.explanation import Explanation

    tokenizers = responder.tokenizers
    return Explanation(
        source=source,
        text=target,
        score=score,
        tokens=written,
        pieces=tokenizers.target.pieces(written),
        source_pieces=tokenizers.source.pieces(read),
        alignments=weights,
        origin=origin,
    )


def ids_of(responder: Responder, source: str, target: str) -> tuple[list[int], list[int]]:
    """The ids of a source and a target, with eos, whether they are texts or ids."""
    if responder.translates:
        tokenizers = responder.tokenizers
        return tokenizers.source.encode(source), tokenizers.target.encode(target)
    from attention_zoo.commands.sequence_ids import parse_ids, refuse_padding, with_eos

    read, written = (
        with_eos(refuse_padding(parse_ids(text, origin), origin))
        for text, origin in ((source, "IDS"), (target, "--target"))
    )
    return read, written


def ids_explanation(
    source: list[int], tokens: list[int], alignments: np.ndarray, score: float, origin: Origin
) -> Explanation:
    """An answer of a model of ids as an explanation; padding of the weights is cut off."""
    import numpy as np

    from attention_zoo.commands.sequence_ids import id_labels, without_eos
    from attention_zoo.explain.explanation import Explanation

    return Explanation(
        source=" ".join(map(str, without_eos(source, len(source)))),
        text=" ".join(map(str, without_eos(tokens, len(tokens)))),
        score=score,
        tokens=tokens,
        pieces=id_labels(tokens),
        source_pieces=id_labels(source),
        alignments=np.array(alignments[: len(tokens), : len(source)], np.float32),
        origin=origin,
        is_text=False,
    )


class _KerasModel:
    """A model in Keras under the names of the runtimes of files, with the beam of its folder."""

    def __init__(self, responder: Responder) -> None:
        model = responder.loaded
        self.predict = model.greedy
        self.beam_search = functools.partial(model.beam_search, **_beam_of(responder.model))


def _beam_of(model: str) -> dict[str, Any]:
    """Width and penalty with which the files of a MODEL argument search; nothing without files."""
    from attention_zoo.manifest import MANIFEST_FILE, read_manifest

    folder = folder_of(model)
    if not (folder / MANIFEST_FILE).is_file():
        return {}
    decoding = read_manifest(folder).decoding
    names = ("beam_width", "length_penalty")
    return {name: decoding[name] for name in names if name in decoding}


def _keras_file(model: str) -> Path:
    """The file that a model in Keras gets its weights from."""
    from attention_zoo.manifest import WEIGHTS_FILE

    path = Path(model)
    if path.is_file():
        return path
    folder = folder_of(model)
    return folder / (RUN_FILE if (folder / RUN_FILE).is_file() else WEIGHTS_FILE)
