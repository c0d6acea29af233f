"""`attention-zoo evaluate`: how good models are, on sequences or sentences they have not seen."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from attention_zoo.commands.data_options import NAMES, DataChoice, data_options
from attention_zoo.commands.lengths import LENGTHS
from attention_zoo.written_beside import written_beside

COPY_OPTIONS = {"lengths", "n", "seed"}
TRANSLATION_OPTIONS = NAMES | {
    *("split", "limit", "greedy", "beam_width", "length_penalty", "tokenize", "lowercase"),
    *("batch_size", "output", "file", "alignments", "bitext"),
}
ALIGNMENT_OPTIONS = {
    *("alignments", "bitext", "test_source", "test_target", "reverse", "limit", "batch_size"),
}
_FILE = click.Path(dir_okay=False, path_type=Path)


@click.command("evaluate", short_help="BLEU of translations, or accuracy of copies, by length.")
@click.argument("models", nargs=-1, required=True, metavar="MODEL...")
@click.option("--json", "json_file", type=_FILE, help="Write the numbers to this file too.")
@click.option("--plot", type=_FILE, help="Draw the quality by length of all MODELs as a PNG.")
@click.option(
    "--lengths",
    type=LENGTHS,
    help="Copies: lengths to try, separated by commas.  [default: 5,10,20,40,80, as far as MODEL "
    "writes]",
)
@click.option(
    "-n",
    "n",
    type=click.IntRange(1),
    default=200,
    show_default=True,
    help="Copies: sequences a length.",
)
@click.option(
    "--seed",
    type=click.IntRange(0),
    default=1_000_003,
    show_default=True,
    help="Copies: draws the sequences; take one that training did not use.",
)
@click.option(
    "--split",
    type=click.Choice(["test", "validation"]),
    default="test",
    show_default=True,
    help="Translations: which part of the data.",
)
@click.option("--limit", type=click.IntRange(1), help="Translations: only the first so many.")
@click.option("--greedy", is_flag=True, help="Translations: greedy decoding, no beam search.")
@click.option("--beam-width", type=click.IntRange(1), default=4, show_default=True)
@click.option("--length-penalty", type=float, default=1.0, show_default=True)
@click.option(
    "--tokenize",
    type=click.Choice(["13a", "none", "intl", "char", "zh"]),
    default="13a",
    show_default=True,
    help="How BLEU splits words; none for text that is tokenised.",
)
@click.option("--lowercase", is_flag=True, help="Upper and lower case count as equal.")
@click.option("--batch-size", type=click.IntRange(1), default=128, show_default=True)
@click.option(
    "--file",
    metavar="FILE",
    help="Translate through this exported file instead of Keras: a path, or a name in MODEL's "
    "folder (model.onnx, model.int8.onnx, model.tflite).",
)
@click.option("--output", type=_FILE, help="Write the translations, a line a source.")
@click.option(
    "--alignments",
    metavar="GOLD",
    type=_FILE,
    help="Measure word alignments instead, against those of people: a line a pair, `1-1` sure and "
    "`1p2` possible. The pairs, tokenised: --bitext, or --test-source and --test-target.",
)
@click.option(
    "--bitext",
    type=click.Path(dir_okay=False),
    help="The pairs of --alignments, one a line, as `first ||| second`.",
)
@data_options
@click.pass_context
def command(
    ctx: click.Context,
    models: tuple[str, ...],
    json_file: Path | None,
    plot: Path | None,
    data_choice: DataChoice,
    **options: Any,
) -> None:
    """Measure MODELs on what they have not seen: BLEU and chrF, or the accuracy of copies.

    A model that translates is measured on the test part of the data it was trained on, against
    all references, or on another test set if the options name one. A model of the copy task gets
    fresh sequences of several lengths, and its alignments are held against the diagonal. Several
    MODELs stand in one table and one picture. MODEL is a preset, the folder of a run, an exported
    folder, or a .keras file.

    \b
    Examples:
      attention-zoo evaluate bahdanau_gru.copy --lengths 5,20,80
      attention-zoo evaluate runs/fr_en runs/without --plot by_length.png
      attention-zoo evaluate runs/fr_en --test-source news.fr --test-target news.en --greedy
      attention-zoo evaluate runs/fr_en --alignments enfr.gold --bitext enfr.txt --reverse
    """
    from attention_zoo.commands.model_source import source_tokenizers

    if len(set(models)) < len(models):
        raise click.UsageError("a MODEL is named twice.")
    translates = [source_tokenizers(model) is not None for model in models]
    if any(translates) and not all(translates):
        raise ValueError(
            f"{models[translates.index(True)]} translates and {models[translates.index(False)]} "
            "does not (there is no tokenizer beside it). Evaluate them one by one."
        )
    _refuse(ctx, COPY_OPTIONS if translates[0] else TRANSLATION_OPTIONS, translates[0])
    if options["greedy"]:
        for name in ("beam_width", "length_penalty"):
            if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE:
                raise click.UsageError("--greedy is without a beam: leave its options out.")
    aligns = options["alignments"] is not None
    _refuse_beside_alignments(ctx, aligns)
    measure_all = _alignments if aligns else _translations if translates[0] else _copies
    content = measure_all(models, plot, data_choice, options)
    if json_file is not None:
        with written_beside(json_file) as beside:
            text = json.dumps(content, indent=2, ensure_ascii=False)
            beside.write_text(text + "\n", encoding="utf-8")


def _refuse(ctx: click.Context, others: set[str], translates: bool) -> None:
    """Raise a usage error for options that the task of the model does not have."""
    for parameter in ctx.command.params:
        name = str(parameter.name)
        if name in others and ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            task = "translates" if translates else "copies ids"
            raise click.UsageError(f"{parameter.opts[0]} says nothing to a model that {task}.")


def _refuse_beside_alignments(ctx: click.Context, aligns: bool) -> None:
    """Raise a usage error for options that say nothing with `--alignments`, or only with it."""
    if not aligns and ctx.params["bitext"] is not None:
        raise click.UsageError("--bitext goes with --alignments.")
    others = (TRANSLATION_OPTIONS | {"plot"}) - ALIGNMENT_OPTIONS
    for parameter in ctx.command.params if aligns else ():
        name = str(parameter.name)
        if name in others and ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"{parameter.opts[0]} says nothing to --alignments.")


def _alignments(
    models: Sequence[str], _: Path | None, choice: DataChoice, options: dict[str, Any]
) -> dict[str, Any]:
    from attention_zoo.commands import alignment_evaluation as evaluation

    data = evaluation.gold_pairs(
        options["alignments"],
        options["bitext"],
        (choice.test_source, choice.test_target),
        choice.reverse,
        options["limit"],
    )
    found = [
        one for model in models for one in evaluation.measure(model, data, options["batch_size"])
    ]
    found += evaluation.baselines(data)
    evaluation.show(found, data)
    return evaluation.content(found, data)


def _translations(
    models: Sequence[str], plot: Path | None, choice: DataChoice, options: dict[str, Any]
) -> dict[str, Any]:
    from attention_zoo.commands import translation_evaluation as evaluation
    from attention_zoo.commands.held_out import held_out
    from attention_zoo.training.corpus_translation import Beam

    beam = None if options["greedy"] else Beam(options["beam_width"], options["length_penalty"])
    method = evaluation.Method(
        beam, *(options[name] for name in ("tokenize", "lowercase", "batch_size", "file"))
    )
    data = held_out(models, choice, options["split"], options["limit"])
    found = [one for model in models for one in evaluation.evaluate_model(model, data, method)]
    evaluation.show(found, data, method)
    written = []
    if options["output"] is not None:
        written += evaluation.write_hypotheses(found, options["output"])
    if plot is not None:
        written += evaluation.plot(found, data, plot)
    if written:
        click.echo(f"Written: {', '.join(map(str, written))}")
    return evaluation.content(found, data, method)


def _copies(
    models: Sequence[str], plot: Path | None, _: DataChoice, options: dict[str, Any]
) -> dict[str, Any]:
    from attention_zoo.commands import copy_evaluation as evaluation

    n, seed = options["n"], options["seed"]
    measured = [evaluation.evaluate_model(model, options["lengths"], n, seed) for model in models]
    if plot is not None:
        evaluation.plot(measured, plot)
    contents = [evaluation.content(one) for one in measured]
    return contents[0] if len(contents) == 1 else {"models": contents}
