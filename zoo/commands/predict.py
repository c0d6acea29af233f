"""`attention-zoo predict`: answers sequences of ids."""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from attention_zoo.commands.answerer import Answerer, BeamOptions, Outputs

LINES_AT_ONCE = 32


@click.command("predict", short_help="Answer sequences of ids.")
@click.argument("model")
@click.argument("ids", nargs=-1)
@click.option(
    "--file",
    "file",
    metavar="FILE",
    help="Answer through this exported file instead of Keras: a path, or a name in MODEL's folder "
    "(model.onnx, model.tflite, saved_model).",
)
@click.option("--beam", "use_beam", is_flag=True, help="Beam search instead of greedy decoding.")
@click.option("--beam-width", type=click.IntRange(1), help="Beams kept (implies --beam).")
@click.option("--length-penalty", type=float, help="Exponent of the penalty (implies --beam).")
@click.option(
    "--n-best", type=click.IntRange(1), default=1, show_default=True, help="Answers each."
)
@click.option("--eos/--no-eos", default=True, show_default=True, help="End each source with eos.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a sequence, with scores.")
@click.option(
    "--plot",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the alignment of the first sequence as a PNG.",
)
def command(
    model: str,
    ids: tuple[str, ...],
    file: str | None,
    use_beam: bool,
    beam_width: int | None,
    length_penalty: float | None,
    n_best: int,
    eos: bool,
    as_json: bool,
    plot: Path | None,
) -> None:
    """Answer sequences of ids with MODEL, one line each.

    IDS is one sequence. Without it, sequences are read from standard input, one a line.
    MODEL is a preset, the folder of a run, an exported folder, or a .keras file.

    \b
    Examples:
      attention-zoo predict bahdanau_gru.copy 7 4 9
      attention-zoo predict bahdanau_gru.copy 7 4 9 --file model.onnx
      attention-zoo predict runs/copy --beam-width 4 --json < sequences.txt
    """
    from attention_zoo.commands.answerer import BeamOptions

    search = use_beam or beam_width is not None or length_penalty is not None or n_best > 1
    beam = BeamOptions(beam_width, length_penalty, n_best) if search else None
    sequences = _sequences(ids, eos)
    # a mistake in the ids is told before a model is loaded
    first = next(sequences, None)
    if first is None:
        raise ValueError(
            "no sequence to answer: expected ids behind MODEL, or lines of ids on standard input."
        )
    answerer = _answerer(model, file, beam)
    for batch in _batches(itertools.chain([first], sequences)):
        outputs = answerer.answer(batch)
        for row, source in enumerate(batch):
            for line in answer_lines(source, outputs, row, as_json):
                click.echo(line)
        if plot is not None:
            plot_first(batch[0], outputs, plot)
            plot = None


def answer_lines(source: list[int], outputs: Outputs, row: int, as_json: bool) -> Iterator[str]:
    """A line for each answer (beam) to one sequence, best first."""
    from attention_zoo.commands.sequence_ids import without_eos

    for beam, tokens in enumerate(outputs["tokens"][row]):
        length = int(outputs["lengths"][row, beam])
        answer = without_eos(tokens, length)
        if not as_json:
            yield " ".join(map(str, answer))
            continue
        alignments = outputs["alignments"][row, beam, :length, : len(source)]
        yield json.dumps(
            {
                "source": source,
                "tokens": answer,
                "length": length,
                "score": float(outputs["scores"][row, beam]),
                "alignments": [[round(float(weight), 6) for weight in step] for step in alignments],
            }
        )


def plot_first(source: list[int], outputs: Outputs, path: Path, title: str = "") -> None:
    """Write the alignment of the best answer to the first sequence as a PNG."""
    from attention_zoo.commands.sequence_ids import id_labels
    from attention_zoo.explain.alignment_picture import plot_alignment

    tokens = outputs["tokens"][0, 0, : int(outputs["lengths"][0, 0])]
    plot_alignment(
        outputs["alignments"][0, 0], id_labels(source), id_labels(tokens), path, title=title
    )


def _sequences(ids: tuple[str, ...], eos: bool) -> Iterator[list[int]]:
    from attention_zoo.commands.sequence_ids import parse_ids, with_eos

    if ids:
        texts: Iterable[tuple[str, str]] = [("IDS", " ".join(ids))]
    else:
        if sys.stdin.isatty():
            click.echo("Sequences of ids, one a line; Ctrl-D ends.", err=True)
        lines = enumerate(sys.stdin, start=1)
        texts = ((f"line {number}", line) for number, line in lines if line.strip())
    for origin, text in texts:
        sequence = parse_ids(text, origin)
        yield with_eos(sequence) if eos else sequence


def _batches(sequences: Iterator[list[int]]) -> Iterator[list[list[int]]]:
    """The sequences in lists; one by one where somebody types them and waits."""
    size = 1 if sys.stdin.isatty() else LINES_AT_ONCE
    while batch := list(itertools.islice(sequences, size)):
        yield batch


def _answerer(model: str, file: str | None, beam: BeamOptions | None) -> Answerer:
    from attention_zoo.commands.answerer import exported_file, file_answerer, keras_answerer

    if file is None:
        return keras_answerer(model, beam)
    return file_answerer(exported_file(model, file), beam)
