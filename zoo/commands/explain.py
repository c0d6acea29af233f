"""`attention-zoo explain`: what a model looked at while it wrote an answer."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from attention_zoo.commands.explained import RUNTIMES

if TYPE_CHECKING:
    from attention_zoo.commands.explained import Responder
    from attention_zoo.explain.explanation import Explanation, Level

PICTURE, NUMBERS, PAGE = "alignment.png", "alignment.json", "alignment.html"
CHECKED_NOTE = "weights; what they are worth as evidence stands in the report of the check beside"


@click.command("explain", short_help="Draw what a model looked at, and check what that is worth.")
@click.argument("model")
@click.argument("sentence", nargs=-1, required=True)
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for alignment.png, alignment.json and what else is asked for.",
)
@click.option(
    "--runtime",
    type=click.Choice(RUNTIMES),
    help="What runs MODEL.  [default: MODEL itself if it is a file, else the first of model.onnx, "
    "model.tflite and Keras that it has]",
)
@click.option("--beam", is_flag=True, help="Beam search instead of greedy decoding.")
@click.option(
    "--target", metavar="TEXT", help="Make the model write this, and watch it (in Keras)."
)
@click.option(
    "--words/--pieces",
    "as_words",
    default=True,
    show_default=True,
    help="Pieces merged to words in picture and page, or each piece; the numbers have both.",
)
@click.option("--html", is_flag=True, help="Also write alignment.html, a page to point at words.")
@click.option(
    "--check", is_flag=True, help="Also test whether the weights are evidence (in Keras)."
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of --check.")
@click.option("--force", is_flag=True, help="Replace files of the same names in OUTPUT.")
def command(
    model: str,
    sentence: tuple[str, ...],
    output: Path,
    runtime: str | None,
    beam: bool,
    target: str | None,
    as_words: bool,
    html: bool,
    check: bool,
    seed: int,
    force: bool,
) -> None:
    """Draw the attention weights of MODEL while it answers SENTENCE.

    OUTPUT gets a heat map (a row a word written, a column a word read) and the numbers as JSON.
    MODEL is a preset, the folder of a run, an exported folder, or a .keras, .onnx or .tflite file;
    one that does not translate takes ids as `attention-zoo predict` does. The weights of the pieces
    of a word read are added, those of a word written averaged.

    Weights show where the model looked. They are no reasons: --check measures, for this sentence,
    whether the answer depends on them.

    \b
    Examples:
      attention-zoo explain bahdanau_gru.fr_en "Je ne suis pas fatigué." -o tired --html
      attention-zoo explain bahdanau_gru.fr_en "Il pleut." --target "It rains." -o rains
      attention-zoo explain exported/model.tflite "Il pleut." --pieces -o rains
      attention-zoo explain bahdanau_gru.copy 7 4 19 12 -o copy --check
    """
    if beam and target is not None:
        raise click.UsageError("--beam searches for a target, and --target gives one: choose one.")
    from attention_zoo.commands.added_files import files_added_to
    from attention_zoo.commands.explained import choose_responder
    from attention_zoo.commands.notes import warnings_as_notes

    needs_keras = "--check" if check else "--target" if target is not None else None
    responder = choose_responder(model, runtime, needs_keras)
    names = [PICTURE, NUMBERS, *([PAGE] if html else []), *(_check_files() if check else [])]
    with warnings_as_notes(), files_added_to(output, names, force) as folder:
        found = _explanation(responder, " ".join(sentence), target, beam)
        click.echo(found.text)
        if check:
            click.echo(_verdict(responder, found, folder, seed))
        _write(found, folder, "words" if as_words else "pieces", html, check)
        written = sorted(path.name for path in folder.iterdir())
    click.echo(f"Written: {', '.join(str(output / name) for name in written)}")


def _explanation(
    responder: Responder, sentence: str, target: str | None, beam: bool
) -> Explanation:
    from attention_zoo.commands import explained
    from attention_zoo.commands.sequence_ids import parse_ids, refuse_padding, with_eos
    from attention_zoo.commands.text_lines import argument_lines

    text, *more = argument_lines(sentence)
    if more or not text.strip():
        raise click.UsageError("SENTENCE: expected one line of text that is not blank.")
    if target is not None:
        if not target.strip():
            raise click.UsageError("--target: expected text that is not blank.")
        found = explained.explain_given(responder, text, target)
    elif responder.translates:
        found = explained.explain_text(responder, text, beam)
    else:
        source = with_eos(refuse_padding(parse_ids(text, "IDS"), "IDS"))
        found = explained.explain_ids(responder, source, beam)
    if not found.alignments.any():
        raise ValueError(
            f"{responder.model}: all weights are 0, as those of a model without attention are; "
            "expected weights to show. Fix: another model, such as bahdanau_gru."
        )
    return found


def _write(found: Explanation, folder: Path, level: Level, html: bool, is_checked: bool) -> None:
    from attention_zoo.explain.alignment_files import write_numbers, write_page, write_picture
    from attention_zoo.explain.weights_note import WEIGHTS_NOT_REASONS

    note = CHECKED_NOTE if is_checked else WEIGHTS_NOT_REASONS
    write_picture(found, folder / PICTURE, level, note)
    write_numbers(found, folder / NUMBERS)
    if html:
        write_page(found, folder / PAGE, level, note)


def _check_files() -> tuple[str, ...]:
    from attention_zoo.commands.quiet_import import import_tensorflow

    import_tensorflow()  # the checks would, with all it has to say
    from attention_zoo.explain import check_report

    return check_report.MARKDOWN_FILE, check_report.JSON_FILE, check_report.PICTURE_FILE


def _verdict(responder: Responder, found: Explanation, folder: Path, seed: int) -> str:
    """Run the checks on the answer, write their report, and say what they came to."""
    from attention_zoo.commands.explained import ids_of
    from attention_zoo.explain.check_report import write_check
    from attention_zoo.explain.checks import check_sentence

    source, _ = ids_of(responder, found.source, "3")  # of the two only the source is asked for
    if len(source) != len(found.source_pieces):
        raise ValueError(
            f"SENTENCE: {len(found.source_pieces)} pieces are more than the model reads at once, "
            "and --check takes one reading. Fix: check its sentences one by one."
        )
    report = check_sentence(
        responder.loaded,
        source,
        found.tokens,
        source_labels=found.source_pieces,
        target_labels=found.pieces,
        name=responder.model,
        seed=seed,
    )
    write_check(report, folder)
    return report.verdict
