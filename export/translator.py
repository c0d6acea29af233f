"""Text in, text out: an exported translation model with its tokenizers, without TensorFlow.

    Translator.from_preset("bahdanau_gru.fr_en").translate("Je ne suis pas fatigué.")

needs numpy, sentencepiece, and onnxruntime or ai-edge-litert.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from attention_zoo.export.errors import FileLoadError
from attention_zoo.export.long_source import parts_of
from attention_zoo.export.runtime import LiteRTModel, OnnxModel, Outputs
from attention_zoo.export.translation import Translation, joined
from attention_zoo.manifest import Manifest, ManifestError, read_manifest
from attention_zoo.presets import folder_tokenizers, preset_folder
from attention_zoo.vocabulary import EOS

if TYPE_CHECKING:
    from attention_zoo.tokenizer import TokenizerPair

FILES = ("model.onnx", "model.tflite")
INT8_FILES = ("model.int8.onnx", "model.int8.tflite")
_BATCH = 32
# positions (rows times the longest) that are run at once: bounds the memory of long texts
_POSITIONS = 4096


class Translator:
    """Translates texts with an exported file.

    Args:
        model: `OnnxModel` or `LiteRTModel`.
        tokenizers: those that the model was trained with.
        longest: pieces, eos included, that the model reads at once; a longer text is cut at the
            ends of sentences and translated in parts, with a warning the first time.
        name: for messages.

    Example:
        >>> translator = Translator.from_preset("bahdanau_gru.fr_en")  # doctest: +SKIP
        >>> translator.translate("Il pleut.")[0].text                  # doctest: +SKIP
        "It's raining."
    """

    def __init__(
        self, model: Any, tokenizers: TokenizerPair, longest: int, name: str = "Translator"
    ) -> None:
        self.model = model
        self.tokenizers = tokenizers
        self.longest = longest
        self.name = name
        self._has_warned = False

    @classmethod
    def from_preset(
        cls,
        preset: str,
        file: str | None = None,
        threads: int | None = None,
        quantize: str | None = None,
    ) -> Translator:
        """The translator of a preset such as "bahdanau_gru.fr_en".

        Raises ValueError if no preset has this name, and as `from_folder`.
        """
        return cls.from_folder(preset_folder(preset), file, threads, quantize)

    @classmethod
    def from_folder(
        cls,
        folder: str | Path,
        file: str | None = None,
        threads: int | None = None,
        quantize: str | None = None,
    ) -> Translator:
        """The translator of a folder that an export wrote.

        Args:
            folder: with manifest, tokenizers and files.
            file: such as "model.onnx"; None takes the first of `FILES` that is there.
            threads: threads that one operator may use; None lets the runtime choose.
            quantize: "int8" takes the first of `INT8_FILES` instead.

        Raises:
            ManifestError: no manifest, or one that does not fit the tokenizers.
            TokenizerError: no tokenizer: a model of ids; or one that cannot be read.
            FileChangedError: a file does not hold the bytes that the manifest recorded.
            FileLoadError: no such file, or its runtime does not accept it.
            ValueError: another `quantize`, or one beside a `file`.
        """
        folder = Path(folder)
        if quantize not in (None, "int8") or (quantize and file):
            raise ValueError(
                f"{folder}: quantize is {quantize!r} and file is {file!r}; expected one of them, "
                'and quantize "int8" or None. Fix: name the file alone.'
            )
        manifest = read_manifest(folder)
        tokenizers = folder_tokenizers(folder)
        _check_sizes(folder, manifest, tokenizers)
        path = folder / (file or _first_file(folder, quantize))
        model: Any
        if path.suffix == ".onnx":
            model = OnnxModel(path, threads=threads)
        elif path.suffix == ".tflite":
            model = LiteRTModel(path, threads=threads)
        else:
            raise FileLoadError(f"{path}: expected one of {', '.join(FILES)}.")
        return cls(model, tokenizers, _longest(folder, manifest), folder.name)

    def translate(
        self, texts: str | Iterable[str], beam: bool = False, n_best: int = 1
    ) -> list[Translation]:
        """Translate texts; the answers come in the order of the texts.

        They are run in batches of like length. A blank text has a blank translation.

        Args:
            texts: one text or several, each translated by itself.
            beam: beam search instead of greedy decoding.
            n_best: answers a text, those behind the first as `alternatives`; more than one means
                beam search, and at most as many as the file keeps beams.

        Raises:
            ValueError: something that is no text, or an `n_best` that the file cannot give.
        """
        texts = self._checked([texts] if isinstance(texts, str) else list(texts), n_best)
        beam = beam or n_best > 1
        sources = self._sources(texts)
        jobs = [(text, part) for text, parts in enumerate(sources) for part in range(len(parts))]
        jobs.sort(key=lambda job: len(sources[job[0]][job[1]]))
        answers: dict[tuple[int, int], list[Translation]] = {}
        for batch in _batches(jobs, [len(sources[text][part]) for text, part in jobs]):
            ids = [sources[text][part] for text, part in batch]
            outputs = self._run(ids, beam, n_best)
            for row, (text, part) in enumerate(batch):
                answers[text, part] = self._answers(texts[text], ids[row], outputs, row)
        return [
            _best(text, [answers[index, part] for part in range(len(parts))])
            for index, (text, parts) in enumerate(zip(texts, sources, strict=True))
        ]

    def _checked(self, texts: list[Any], n_best: int) -> list[str]:
        if isinstance(n_best, bool) or not isinstance(n_best, int) or n_best < 1:
            raise ValueError(
                f"{self.name}: n_best is {n_best!r}; expected a whole number of at least 1. "
                "Fix: n_best=1 gives the best alone."
            )
        for index, text in enumerate(texts):
            if not isinstance(text, str):
                raise ValueError(
                    f"{self.name}: texts[{index}] is a {type(text).__name__}; expected text. "
                    "Fix: pass a str or a list of them; ids go to the model's own predict."
                )
        return texts

    def _sources(self, texts: list[str]) -> list[list[list[int]]]:
        """For each text its parts, each the ids of its pieces with eos; none for a blank one."""
        tokenizer = self.tokenizers.source
        encoded: list[list[list[int]]] = []
        for ids in tokenizer.encode_batch(texts) if texts else []:
            words = ids[:-1]
            if len(ids) <= self.longest:
                encoded.append([ids] if words else [])
                continue
            slices = parts_of(tokenizer.pieces(words), max(1, self.longest - 1))
            self._warn(len(ids), len(slices))
            encoded.append([[*words[one], EOS] for one in slices])
        return encoded

    def _warn(self, pieces: int, parts: int) -> None:
        if self._has_warned:
            return
        self._has_warned = True
        warnings.warn(
            f"{self.name}: a text of {pieces:,} pieces is longer than the {self.longest} that the "
            f"model reads at once; it is translated in {parts} parts, each by itself. "
            "Other long texts are treated likewise, without a word.",
            stacklevel=4,
        )

    def _run(self, ids: list[list[int]], beam: bool, n_best: int) -> Outputs:
        """Outputs with a beam axis after batch, of `n_best` answers."""
        if not beam:
            return {name: value[:, None] for name, value in self.model.predict(ids).items()}
        outputs = self.model.beam_search(ids)
        kept = outputs["tokens"].shape[1]
        if n_best > kept:
            raise ValueError(
                f"{self.name}: n_best is {n_best}; expected at most {kept}, the beams of this "
                "file. Fix: export again with a wider beam."
            )
        return {name: value[:, :n_best] for name, value in outputs.items()}

    def _answers(
        self, source: str, ids: Sequence[int], outputs: Outputs, row: int
    ) -> list[Translation]:
        """The answers to one source, best first."""
        found = []
        for rank in range(outputs["tokens"].shape[1]):
            length = int(outputs["lengths"][row, rank])
            if rank and not length:
                break  # fewer answers exist than were asked for
            tokens = [int(token) for token in outputs["tokens"][row, rank, :length]]
            found.append(
                Translation(
                    source=source,
                    # a byte that was written may be a line break
                    text=" ".join(self.tokenizers.target.decode(tokens).splitlines()),
                    score=float(outputs["scores"][row, rank]),
                    tokens=tokens,
                    pieces=self.tokenizers.target.pieces(tokens),
                    source_pieces=self.tokenizers.source.pieces(ids),
                    alignments=np.array(outputs["alignments"][row, rank, :length, : len(ids)]),
                )
            )
        return found


def _best(text: str, parts: list[list[Translation]]) -> Translation:
    """One translation from the answers to each part of a text, alternatives by their rank."""
    if not parts:
        return Translation(source=text)
    ranks = min(len(answers) for answers in parts)
    best, *others = (joined([answers[rank] for answers in parts], text) for rank in range(ranks))
    return dataclasses.replace(best, alternatives=tuple(others)) if others else best


def _batches(jobs: list[tuple[int, int]], lengths: list[int]) -> Iterable[list[tuple[int, int]]]:
    """The jobs, sorted by length, in batches that neither rows nor positions make too large."""
    batch: list[tuple[int, int]] = []
    for job, length in zip(jobs, lengths, strict=True):
        if len(batch) == _BATCH or (batch and (len(batch) + 1) * length > _POSITIONS):
            yield batch
            batch = []
        batch.append(job)
    if batch:
        yield batch


def _first_file(folder: Path, quantize: str | None) -> str:
    names = INT8_FILES if quantize else FILES
    for name in names:
        if (folder / name).is_file():
            return name
    more = f" and --quantize {quantize}" if quantize else ""
    raise FileLoadError(
        f"{folder}: expected {' or '.join(names)}, found neither. Fix: export the model with "
        f"--format onnx or --format tflite{more}."
    )


def _check_sizes(folder: Path, manifest: Manifest, tokenizers: TokenizerPair) -> None:
    for side, tokenizer in (("source", tokenizers.source), ("target", tokenizers.target)):
        size = manifest.config.get(f"vocab_{side}")
        if size != tokenizer.vocab_size:
            raise ManifestError(
                f"{folder}: vocab_{side} of the model is {size}, but its tokenizer has "
                f"{tokenizer.vocab_size} ids; expected the same. Fix: export the model again."
            )


def _longest(folder: Path, manifest: Manifest) -> int:
    """As many pieces as the file writes at most: a source that long has an answer as long."""
    steps = manifest.decoding.get("max_length")
    if isinstance(steps, bool) or not isinstance(steps, int) or steps < 2:
        raise ManifestError(
            f"{folder}: decoding.max_length of the manifest should be a whole number of at least "
            f"2, got {steps!r}. Fix: export the model again."
        )
    return steps
