"""`attention-zoo translate`: text in, text out, without TensorFlow."""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click

if TYPE_CHECKING:
    from attention_zoo.commands.explained import Responder
    from attention_zoo.export.translation import Translation
    from attention_zoo.export.translator import Translator

# so many lines are sorted by length and answered together
LINES_AT_ONCE = 1024


@click.command("translate", short_help="Translate text.")
@click.argument("text", nargs=-1)
@click.option("--model", required=True, help="A preset, or a folder that was exported.")
@click.option(
    "--file",
    "file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Text to translate, UTF-8, one line each.",
)
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="Write here, not out."
)
@click.option("--beam", is_flag=True, help="Beam search instead of greedy decoding.")
@click.option(
    "--n-best",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="Answers a line, each on a line of its own behind its score (implies --beam).",
)
@click.option(
    "--alignments",
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="Write what the model looked at: PATH.png, a heat map of the first line, and PATH.json, "
    "all lines; with a suffix only that one.",
)
@click.option("--through", metavar="FILE", help="model.onnx or model.tflite.  [default: the first]")
@click.option(
    "--quantize", type=click.Choice(["int8"]), help="Take the file with int8 weights of MODEL."
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
def command(
    text: tuple[str, ...],
    model: str,
    file: Path | None,
    output: Path | None,
    beam: bool,
    n_best: int,
    alignments: Path | None,
    through: str | None,
    quantize: str | None,
    as_json: bool,
) -> None:
    """Translate TEXT, the lines of a file, or those of standard input, one line for each line.

    An empty line stays empty. Answers come in the order of the lines.

    \b
    Examples:
      attention-zoo translate --model bahdanau_gru.fr_en "Je ne suis pas fatigué."
      attention-zoo translate --model bahdanau_gru.fr_en --file french.txt -o english.txt --beam
      attention-zoo translate --model exported/fr_en --alignments fatigue "Je suis fatigué."
    """
    from attention_zoo.commands.explained import Responder
    from attention_zoo.commands.notes import warnings_as_notes

    if text and file is not None:
        raise click.UsageError("give TEXT or --file, not both.")
    if through and quantize:
        raise click.UsageError("--through names the file that --quantize would choose: leave one.")
    _check_suffix(alignments)
    lines = _lines(text, file)
    with warnings_as_notes(), _opened(output) as out:
        # a mistake in the first line is told before a model is loaded
        first = next(lines, None)
        translator = _translator(model, through, quantize)
        kept: list[Translation] = []
        for batch in _batches(itertools.chain([] if first is None else [first], lines), text, file):
            answers = translator.translate(batch, beam, n_best)
            for answer in answers:
                for line in _answer_lines(answer, n_best, as_json):
                    out.write(line + "\n")
            out.flush()
            if alignments is not None:
                kept += answers
    if alignments is not None:
        search = "beam" if beam or n_best > 1 else "greedy"
        with warnings_as_notes():
            _write_alignments(kept, Responder(model, translator.model.path), search, alignments)


def _translator(model: str, through: str | None, quantize: str | None) -> Translator:
    from attention_zoo.commands.model_source import RUN_FILE, source_folder
    from attention_zoo.export.translator import Translator
    from attention_zoo.manifest import MANIFEST_FILE

    folder = source_folder(model)
    if not (folder / MANIFEST_FILE).is_file():
        if (folder / RUN_FILE).is_file():
            raise ValueError(
                f"{model!r}: the folder of a training run; expected exported files, which need no "
                f"TensorFlow. Fix: attention-zoo export {model} -o FOLDER --quantize float16"
            )
        if folder.is_dir():
            raise ValueError(
                f"{model!r}: a folder without {MANIFEST_FILE}; expected one that `attention-zoo "
                "export` wrote. Fix: export the model again."
            )
        from attention_zoo import list_presets
        from attention_zoo.model_config import check_names

        check_names("preset or exported folder", [model], list_presets())
    return Translator.from_folder(folder, through, quantize=quantize)


def _lines(text: tuple[str, ...], file: Path | None) -> Iterator[str]:
    from attention_zoo.commands.text_lines import argument_lines, read_lines

    if text:
        yield from argument_lines(" ".join(text))
    elif file is not None:
        with file.open("rb") as stream:
            yield from read_lines(stream, str(file))
    else:
        if sys.stdin.isatty():
            click.echo("Text, one line each; Ctrl-D ends.", err=True)
        yield from read_lines(sys.stdin.buffer, "standard input")


def _batches(lines: Iterator[str], text: tuple[str, ...], file: Path | None) -> Iterator[list[str]]:
    """The lines in lists; one by one where somebody types them and waits."""
    is_typed = not text and file is None and sys.stdin.isatty()
    size = 1 if is_typed else LINES_AT_ONCE
    while batch := list(itertools.islice(lines, size)):
        yield batch


def _answer_lines(answer: Translation, n_best: int, as_json: bool) -> Iterator[str]:
    """What is written for one line: as many lines for each, so that they can be counted."""
    if as_json:
        yield json.dumps(answer.to_dict(), ensure_ascii=False)
        return
    if n_best == 1:
        yield answer.text
        return
    found = [answer, *answer.alternatives] if answer.tokens else []
    for rank in range(n_best):
        yield f"{found[rank].score:.4f}\t{found[rank].text}" if rank < len(found) else ""


@contextlib.contextmanager
def _opened(output: Path | None) -> Iterator[TextIO]:
    """Where answers go: standard output, or a file that appears when all of it is there."""
    if output is None:
        if isinstance(sys.stdout, io.TextIOWrapper):
            # what comes in is UTF-8, and so is what goes out, whatever the locale says
            sys.stdout.reconfigure(encoding="utf-8", errors="replace", newline="\n")
        yield sys.stdout
        return
    from attention_zoo.written_beside import written_beside

    # a device or a pipe is written to, never replaced
    is_file = output.is_file() or not output.exists()
    with (
        written_beside(output) if is_file else contextlib.nullcontext(output) as place,
        place.open("w", encoding="utf-8", newline="\n") as out,
    ):
        yield out


def _check_suffix(path: Path | None) -> None:
    if path is not None and path.suffix.lower() not in ("", ".png", ".json"):
        raise click.UsageError(
            f"--alignments: expected a path that ends in .png, .json or neither, got {path}."
        )


def _write_alignments(
    answers: Sequence[Translation], responder: Responder, search: str, path: Path
) -> None:
    from attention_zoo.commands.explained import explanation_of
    from attention_zoo.explain.alignment_files import write_numbers, write_picture

    origin = responder.origin(search)
    explanations = [explanation_of(answer, origin) for answer in answers]
    suffix = path.suffix.lower()
    if suffix != ".png":
        write_numbers(explanations, path if suffix else path.with_name(path.name + ".json"))
    if suffix == ".json":
        return
    drawn = next((found for found in explanations if found.tokens), None)
    if drawn is None and suffix:
        raise ValueError(f"{path}: there is nothing to draw, expected a line that is not blank.")
    if drawn is None:
        click.echo(f"Note: no line has text, so there is no picture {path}.png", err=True)
        return
    write_picture(drawn, path if suffix else path.with_name(path.name + ".png"), "pieces")
