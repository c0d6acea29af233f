"""Train a model on Multi30k and compare its BLEU with published figures.

Multi30k is for research and education only: this writes figures, and ships no sentence, vocabulary
or weight of it.
"""

from __future__ import annotations

import json
import os
import resource
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from result_table import ResultTable, markdown_table

from attention_zoo.commands.quiet_import import LOG_LEVEL, SILENT, import_tensorflow
from attention_zoo.commands.run_folder import locked, refuse_to_restart, replaced
from attention_zoo.commands.training_command import Setting, progress
from attention_zoo.written_beside import written_beside

if TYPE_CHECKING:
    from attention_zoo.seq2seq import Seq2Seq
    from attention_zoo.tokenizer import TokenizerPair
    from attention_zoo.training.bleu import TranslationScores
    from attention_zoo.training.corpus_translation import Beam
    from attention_zoo.training.translation_data import Referenced, TranslationData
    from attention_zoo.training.translation_recipe import TranslationRecipe

PAIRS = ("en-de", "en-fr", "de-en", "fr-en")
TESTS = ("test2016", "test2017")

PUBLISHED = {
    "en-de": {"test2016": 39.0, "test2017": 31.2},
    "en-fr": {"test2016": 59.0, "test2017": 51.9},
}
"""LIUM-CVC, WMT17 multimodal task: single recurrent model with attention, text alone, beam 12."""

WIDTHS = (4, 8, 12)
PENALTIES = (0.0, 0.4, 0.7, 1.0, 1.3)
"""Beam searches tried on the validation set: every penalty at the recipe's width, then the other
widths at the best penalty."""

COLUMNS = (
    "pair",
    "model",
    "recipe",
    "seed",
    "parameters",
    "epochs",
    "best_epoch",
    "minutes",
    "peak_mb",
    "beam_width",
    "length_penalty",
    "validation",
    "test2016",
    "test2017",
    "signature",
)
KEYS = ("pair", "model", "recipe", "seed")


@dataclass(frozen=True)
class Search:
    """A beam search and what it scores on the validation set."""

    beam: Beam
    bleu: float


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--pair", type=click.Choice(PAIRS), default="en-de", show_default=True)
@click.option(
    "--data",
    required=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder with {train,val,test2016,test2017}.lc.norm.tok.{en,de,fr}.gz.",
)
@click.option("--model", default="bahdanau_conditional_gru", show_default=True)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of the run.  [default: runs/multi30k.PAIR.MODEL.seedSEED]",
)
@click.option("--recipe", default="multi30k", show_default=True)
@click.option("--epochs", type=click.IntRange(1), help="Passes over the data at most.")
@click.option("--set", "settings", type=Setting(), multiple=True, help="An option of the model.")
@click.option(
    "--recipe-set", "recipe_settings", type=Setting(), multiple=True, help="A field of the recipe."
)
@click.option("--resume", is_flag=True, help="Go on with the run in OUTPUT, finished or not.")
@click.option("--force", is_flag=True, help="Throw the run in OUTPUT away and begin anew.")
@click.option(
    "--results",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path(__file__).parent,
    help="Folder of multi30k.csv and multi30k.md.  [default: that of this script]",
)
def main(
    pair: str,
    data: Path,
    model: str,
    seed: int,
    output: Path | None,
    recipe: str,
    epochs: int | None,
    settings: tuple[tuple[str, Any], ...],
    recipe_settings: tuple[tuple[str, Any], ...],
    resume: bool,
    force: bool,
    results: Path,
) -> None:
    """Train MODEL on a language pair of Multi30k and measure BLEU on its test sets.

    The beam is chosen on the validation set. The figures go into multi30k.csv and multi30k.md
    beside those of other pairs and seeds. BLEU is sacrebleu's with `tokenize=none`, on the
    lower-cased tokenised text, as in the published figures.
    """
    from attention_zoo.training.translation_recipe import get_translation_recipe

    output = output or Path("runs") / f"multi30k.{pair}.{model}.seed{seed}"
    try:
        if not force and not resume:
            refuse_to_restart(output)
        changes = {**dict(recipe_settings), **({"epochs": epochs} if epochs else {})}
        chosen = get_translation_recipe(recipe).replace(**changes)
        loaded = load_multi30k(data, pair)
        with locked(output), replaced(output, force):
            row = run(model, loaded, output, chosen, seed, dict(settings), resume)
    except (ValueError, OSError) as error:
        raise click.ClickException(str(error)) from error
    if row is None:  # Ctrl-C: the run has said what it kept
        raise click.exceptions.Exit(130)
    changed = [f"{name}={value}" for name, value in {**changes, **dict(settings)}.items()]
    row |= {"pair": pair, "model": model, "recipe": " ".join([recipe, *changed]), "seed": seed}
    text = report(ResultTable(results / "multi30k.csv", COLUMNS, KEYS).merge([row]))
    with written_beside(results / "multi30k.md") as beside:
        beside.write_text(text)
    click.echo(text)


def load_multi30k(folder: Path, pair: str) -> TranslationData:
    """The lower-cased, tokenised files of a language pair such as "en-de"."""
    from attention_zoo.training.translation_data import load_aligned_splits

    source, target = pair.split("-")

    def files(part: str) -> tuple[Path, Path]:
        first, second = (folder / f"{part}.lc.norm.tok.{side}.gz" for side in (source, target))
        return first, second

    return load_aligned_splits(
        train=files("train"),
        validation=files("val"),
        test={test: files(test) for test in TESTS},
        name=f"multi30k {pair}",
        languages=(source, target),
        licence="research and education only",
    )


def run(
    model: str,
    data: TranslationData,
    output: Path,
    recipe: TranslationRecipe,
    seed: int,
    settings: Mapping[str, Any],
    resume: bool,
) -> dict[str, Any] | None:
    """Train, choose the beam on the validation set, measure; None if Ctrl-C ended it."""
    os.environ.setdefault(LOG_LEVEL, SILENT)
    import_tensorflow()
    from attention_zoo.training.translation_training import train_translation

    command = shlex.join(["python", *sys.argv])
    trained = train_translation(
        model,
        data,
        output,
        recipe=recipe,
        seed=seed,
        overrides=settings,
        resume=resume and any((output / name).exists() for name in ("last.keras", "best.keras")),
        command=command,
        resume_hint=f"{command} --resume",
        verbose=progress(),
    )
    if not trained.result.is_complete:
        return None
    searches = try_searches(trained.model, trained.tokenizers, data.validation, recipe)
    best = max(searches, key=lambda search: search.bleu)
    scores = {
        test: measure(trained.model, trained.tokenizers, entries, best.beam)
        for test, entries in data.tests.items()
    }
    steps_per_epoch = steps_in_an_epoch(output, data, recipe)
    return {
        "parameters": trained.model.count_params(),
        "epochs": round(trained.result.step / steps_per_epoch, 1),
        "best_epoch": round(trained.result.best_step / steps_per_epoch, 1),
        "minutes": round(trained.result.seconds / 60, 1),
        "peak_mb": peak_megabytes(),
        "beam_width": best.beam.width,
        "length_penalty": best.beam.length_penalty,
        "validation": f"{best.bleu:.2f}",
        **{test: f"{found.bleu:.2f}" for test, found in scores.items()},
        "signature": scores[TESTS[0]].bleu_signature,
    }


def try_searches(
    model: Seq2Seq,
    tokenizers: TokenizerPair,
    entries: Sequence[Referenced],
    recipe: TranslationRecipe,
) -> list[Search]:
    """The beam searches of the grid with their BLEU on the validation set."""
    from attention_zoo.training.corpus_translation import Beam

    def tried(width: int, penalty: float) -> Search:
        beam = Beam(width, penalty)
        search = Search(beam, measure(model, tokenizers, entries, beam).bleu)
        click.echo(f"validation, beam {width}, length penalty {penalty:g}: BLEU {search.bleu:.2f}")
        return search

    found = [tried(recipe.beam_width, penalty) for penalty in PENALTIES]
    best = max(found, key=lambda search: search.bleu).beam.length_penalty
    return found + [tried(width, best) for width in WIDTHS if width != recipe.beam_width]


def measure(
    model: Seq2Seq, tokenizers: TokenizerPair, entries: Sequence[Referenced], beam: Beam
) -> TranslationScores:
    """BLEU of a beam search, on tokens as the files have them."""
    from attention_zoo.training.bleu import score_translations
    from attention_zoo.training.corpus_translation import translate_corpus

    sources = [entry.source for entry in entries]
    return score_translations(
        translate_corpus(model, tokenizers, sources, beam=beam),
        [entry.references for entry in entries],
        tokenize="none",
    )


def steps_in_an_epoch(output: Path, data: TranslationData, recipe: TranslationRecipe) -> int:
    """Steps that use each training pair once, as the run recorded its data."""
    dropped = json.loads((output / "training.json").read_text())["dropped_pairs"]
    return (len(data.train) - dropped) // recipe.batch_size


def peak_megabytes() -> int:
    """The most memory that this process has held."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (2**20 if sys.platform == "darwin" else 2**10))


def report(rows: Sequence[Mapping[str, str]]) -> str:
    """The Markdown text: measured and published BLEU side by side."""
    shown = ("pair", "model", "recipe", "seed", "epochs", "minutes", "peak MB", "beam", "val")
    cells = [
        [
            row["pair"],
            row["model"],
            row["recipe"],
            row["seed"],
            f"{row['best_epoch']} of {row['epochs']}",
            row["minutes"],
            row["peak_mb"],
            f"{row['beam_width']}, {row['length_penalty']}",
            row["validation"],
            *(_beside_published(row, test) for test in TESTS),
        ]
        for row in rows
    ]
    signatures = sorted({row["signature"] for row in rows})
    return (
        "# Multi30k\n\n"
        "BLEU on the lower-cased tokenised text, single models, test sets in full. Beside it in "
        "brackets the published figure of a single recurrent model with attention (LIUM-CVC, "
        "WMT17, text alone, beam 12). Validation (val) is the best of the beam searches below, and "
        "so a little kind to the model. Epochs: that of the weights kept, and all trained. Minutes "
        "of training and peak memory are of the machine that ran it; the peak is that of the last "
        "sitting.\n\n"
        + markdown_table([*shown, *TESTS], cells)
        + "\n"
        + "".join(f"BLEU: `{signature}`\n" for signature in signatures)
        + f"\nThe beam is chosen on the validation set: length penalties {_listed(PENALTIES)} at "
        f"the recipe's width, then widths {_listed(WIDTHS)} at the best of them.\n\n"
        "To reproduce a row: `python benchmarks/multi30k.py --pair PAIR --model MODEL --seed SEED "
        "--data DIR`, with the recipe's changes as `--recipe-set NAME=VALUE`.\n"
    )


def _beside_published(row: Mapping[str, str], test: str) -> str:
    published = PUBLISHED.get(row["pair"], {}).get(test)
    return row[test] if published is None else f"{row[test]} ({published})"


def _listed(values: Sequence[float]) -> str:
    return ", ".join(f"{value:g}" for value in values)


if __name__ == "__main__":
    main()
