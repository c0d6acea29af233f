"""What `attention-zoo evaluate` does with models that translate: BLEU and chrF on a test set."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from attention_zoo.written_beside import written_beside

if TYPE_CHECKING:
    from attention_zoo.commands.held_out import HeldOut
    from attention_zoo.tokenizer import TokenizerPair
    from attention_zoo.training.bleu import TranslationScores
    from attention_zoo.training.corpus_translation import Beam


@dataclass(frozen=True)
class Method:
    """How to translate and how to score.

    `beam` None is greedy decoding; `file` names an exported file that answers instead of Keras.
    """

    beam: Beam | None
    tokenize: str
    lowercase: bool
    batch_size: int
    file: str | None = None

    def describe(self) -> str:
        """The search in words."""
        through = "" if self.file is None else f", through {self.file}"
        if self.beam is None:
            return f"greedy{through}"
        return f"beam {self.beam.width}, length penalty {self.beam.length_penalty:g}{through}"


@dataclass(frozen=True)
class Evaluation:
    """What one model made of one test set."""

    model: str
    part: str
    scores: TranslationScores
    hypotheses: list[str]
    seconds: float


def evaluate_model(model: str, data: HeldOut, method: Method) -> list[Evaluation]:
    """Translate every test set with a MODEL argument, and score the answers."""
    from attention_zoo.commands.file_model import FileModel
    from attention_zoo.commands.model_source import load_source
    from attention_zoo.training.bleu import score_translations
    from attention_zoo.training.corpus_translation import translate_corpus

    tokenizers = tokenizers_of(model)
    # both search in the same words
    loaded: Any = load_source(model) if method.file is None else FileModel(model, method.file)
    evaluations = []
    for part, entries in data.parts.items():
        sources = [entry.source for entry in entries]
        start = time.perf_counter()
        with progress_bar(f"{model}, {part}") as progress:
            hypotheses = translate_corpus(
                loaded,
                tokenizers,
                sources,
                beam=method.beam,
                batch_size=method.batch_size,
                progress=progress,
            )
        seconds = time.perf_counter() - start
        scores = score_translations(
            hypotheses,
            [entry.references for entry in entries],
            sources,
            tokenize=method.tokenize,
            lowercase=method.lowercase,
        )
        evaluations.append(Evaluation(model, part, scores, hypotheses, seconds))
    return evaluations


def tokenizers_of(model: str) -> TokenizerPair:
    """The tokenizers of a MODEL argument.

    Raises:
        ValueError: there are none.
    """
    from attention_zoo.commands.model_source import source_tokenizers

    tokenizers = source_tokenizers(model)
    if tokenizers is None:
        raise ValueError(
            f"{model!r}: no tokenizer beside it. Expected the folder of a model that translates, "
            "with tokenizer.model in it."
        )
    return tokenizers


@contextmanager
def progress_bar(label: str) -> Iterator[Callable[[int, int], None] | None]:
    """A function (done, of how many) that moves a bar on stderr; None where nobody would see it."""
    if not sys.stderr.isatty():
        yield None
        return
    with click.progressbar(length=1, label=label, file=sys.stderr) as bar:

        def move(done: int, total: int) -> None:
            bar.length = total
            bar.update(done - bar.pos)

        yield move


def show(evaluations: Sequence[Evaluation], data: HeldOut, method: Method) -> None:
    """Print the scores, their signatures, and BLEU by the length of the source."""
    from attention_zoo.commands.table import print_table

    rows = [
        (
            found.model,
            found.part,
            found.scores.n,
            f"{found.scores.bleu:.2f}",
            f"{found.scores.chrf:.2f}",
            f"{found.scores.n / found.seconds:.0f}",
        )
        for found in evaluations
    ]
    columns = ("model", "part", "sources", "BLEU", "chrF", "sources a second")
    print_table(f"{data.name}: {method.describe()}", columns, rows)
    for signature in _signatures(evaluations):
        click.echo(signature)
    for part in data.parts:
        found = [evaluation for evaluation in evaluations if evaluation.part == part]
        bands = found[0].scores.by_length
        lines = [
            (name, band.n, *(f"{other.scores.by_length[name].bleu:.2f}" for other in found))
            for name, band in bands.items()
        ]
        headings = ("words", "sources", *(other.model for other in found))
        print_table(f"{part}: BLEU by length", headings, lines)


def content(evaluations: Sequence[Evaluation], data: HeldOut, method: Method) -> dict[str, Any]:
    """Everything measured, as JSON: model -> part -> scores in the form of a manifest."""
    models: dict[str, dict[str, Any]] = {}
    for found in evaluations:
        entry = {**found.scores.to_dict(), "seconds": round(found.seconds, 4)}
        models.setdefault(found.model, {})[found.part] = entry
    beam = method.beam
    return {
        "data": data.name,
        "search": "greedy"
        if beam is None
        else {"beam_width": beam.width, "length_penalty": beam.length_penalty},
        "file": method.file,
        "models": models,
    }


def write_hypotheses(evaluations: Sequence[Evaluation], path: Path) -> list[Path]:
    """Write a line a source; several models or parts go to a file each, named after them."""
    written = []
    for found in evaluations:
        own = path_for(path, found, evaluations)
        # a model that writes bytes can write the end of a line
        lines = [" ".join(text.splitlines()) for text in found.hypotheses]
        with written_beside(own) as beside:
            beside.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        written.append(own)
    return written


def plot(evaluations: Sequence[Evaluation], data: HeldOut, path: Path) -> list[Path]:
    """Draw BLEU by source length, all models in one picture; a picture a part."""
    from attention_zoo.training.translation_plots import plot_bleu_by_length

    written = []
    for part in data.parts:
        found = [evaluation for evaluation in evaluations if evaluation.part == part]
        own = path if len(data.parts) == 1 else path.with_stem(f"{path.stem}.{part}")
        scores = {other.model: other.scores for other in found}
        plot_bleu_by_length(scores, own, title=f"{data.name}, {part}")
        written.append(own)
    return written


def path_for(path: Path, one: Evaluation, every: Sequence[Evaluation]) -> Path:
    """`path` where there is one evaluation; else with model and part in the name where needed."""
    words = [path.stem]
    models = {other.model for other in every}
    if len(models) > 1:
        short = [Path(model).name for model in models]
        # runs of one name in different folders go by their whole paths
        is_clear = short.count(Path(one.model).name) == 1
        words.append(Path(one.model).name if is_clear else "_".join(Path(one.model).parts))
    if len({other.part for other in every}) > 1:
        words.append(one.part)
    return path.with_stem(".".join(words))


def _signatures(evaluations: Sequence[Evaluation]) -> list[str]:
    """Each signature once, in order; parts may differ in their number of references."""
    lines = [
        f"{name} {signature}"
        for found in evaluations
        for name, signature in (
            ("BLEU", found.scores.bleu_signature),
            ("chrF", found.scores.chrf_signature),
        )
    ]
    return list(dict.fromkeys(lines))
