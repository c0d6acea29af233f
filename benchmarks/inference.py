"""Time a model in Keras and in each exported format: size, start, memory, latency, quality.

Every contender answers in a process of its own; they take turns, so that what else the machine does
hits all of them alike, and no runtime has to share its threads with another.
"""

from __future__ import annotations

import logging
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from inference_contenders import CONTENDERS, Contender, make_files
from inference_growth import LENGTHS as GROWTH_LENGTHS
from inference_growth import measure_growth
from inference_process import WorkerError, save_sources
from inference_quality import WorkerModel, equal_tokens
from inference_report import Results, report, stem
from inference_rounds import Bench, Mode, Track, measure_cold, measure_turns
from inference_subject import Size, Subject, random_subject, trained_subject
from inference_table import Answers, table_rows, write_csv
from inference_targets import targets
from machine import machine
from memory_bandwidth import MemoryBandwidth
from onnx_profile import profile_onnx
from operator_cost import ProfileError
from step_bytes import BYTES_OF, step_bytes
from tflite_profile import profile_tflite

from attention_zoo.commands.lengths import LENGTHS
from attention_zoo.commands.quiet_import import LOG_LEVEL, SILENT, import_tensorflow
from attention_zoo.commands.training_command import Setting
from attention_zoo.export.errors import ExportError
from attention_zoo.written_beside import written_beside

PACKAGES = ("tensorflow", "keras", "onnxruntime", "ai-edge-litert", "tf2onnx", "numpy")
PROFILERS = {"onnx": profile_onnx, "tflite": profile_tflite}
USER_ERROR, INTERRUPTED = 2, 130
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("preset", required=False)
@click.option(
    "--random", "random_model", metavar="MODEL", help="Random weights in place of PRESET."
)
@click.option("--set", "settings", type=Setting(), multiple=True, help="An option of that model.")
@click.option("--sentences", type=_FILE, help="Source sentences to time, one a line.")
@click.option("-n", "n", type=click.IntRange(1), default=64, show_default=True, help="Sentences.")
@click.option("--batch", type=click.IntRange(2), default=32, show_default=True)
@click.option("--max-length", type=click.IntRange(1), help="T_dec.  [default: the model's, or 32]")
@click.option("--rounds", type=click.IntRange(1), default=7, show_default=True)
@click.option("--cold-rounds", type=click.IntRange(1), default=5, show_default=True)
@click.option(
    "--contender",
    "keys",
    type=click.Choice([one.key for one in CONTENDERS]),
    multiple=True,
    help="Repeat it for several.  [default: all]",
)
@click.option(
    "--lengths",
    type=LENGTHS,
    default=GROWTH_LENGTHS,
    help="Source lengths of the growth.  [default: 10 to 2000]",
)
@click.option("--no-growth", is_flag=True, help="Leave the growth out.")
@click.option(
    "--evaluate",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder of the files that PRESET was trained on (`attention-zoo evaluate --manual-dir`): "
    "BLEU on their test part.",
)
@click.option("--limit", type=click.IntRange(1), help="Sources of it; copies of each length.")
@click.option("--profile", is_flag=True, help="Tell where the time of a step goes.")
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path(__file__).parent,
    help="Folder of the table, the CSV files and the pictures.  [default: that of this script]",
)
def main(**options: Any) -> None:
    """Time PRESET in Keras and in every exported format; write tables and pictures.

    \b
    Examples:
      python benchmarks/inference.py bahdanau_gru.fr_en --evaluate data --profile
      python benchmarks/inference.py --random bahdanau_gru --set units=256 --set vocab_target=4096
    """
    if bool(options["preset"]) == bool(options["random_model"]):
        raise click.UsageError("name a PRESET, or a model by --random: one of the two.")
    if options["settings"] and options["preset"]:
        raise click.UsageError("--set goes with --random; a preset is as it is.")
    for name in ("sentences", "evaluate", "limit"):
        if options["random_model"] and options[name]:
            raise click.UsageError(f"--{name} goes with a PRESET; drawn weights mean nothing.")
    os.environ.setdefault(LOG_LEVEL, SILENT)
    import_tensorflow()
    logging.getLogger("tensorflow").setLevel(logging.ERROR)
    try:
        run(options)
    except (ValueError, OSError) as error:
        click.echo(f"Error: {error}", err=True)
        raise click.exceptions.Exit(USER_ERROR) from None
    except (WorkerError, ExportError) as error:
        raise click.ClickException(str(error)) from error
    except KeyboardInterrupt:
        click.echo("Interrupted: files that were written before are whole.", err=True)
        raise click.exceptions.Exit(INTERRUPTED) from None


def run(options: dict[str, Any]) -> None:
    """Make the files, measure, and write after each stage what is known by then."""
    chosen = [one for one in CONTENDERS if one.key in (options["keys"] or one.key)]
    subject = subject_of(options)
    output: Path = options["output"]
    with tempfile.TemporaryDirectory(prefix="attention-zoo-inference-") as name, tracker() as track:
        folder = Path(name)
        click.echo(f"{subject.name}: writing and checking the files", err=True)
        files = make_files(subject.model, chosen, folder, subject.max_length)
        found = files.found(chosen)
        if not found:
            raise click.ClickException(f"nothing to measure: {files.left_out}")
        bench = Bench(files, subject.max_length, folder)
        results = measure(subject, bench, found, options, track)
        write(results, output)
        if options["profile"]:
            profile(results, bench, found, track)
            write(results, output)
        if not options["no_growth"]:
            lengths = options["lengths"]
            results.growth = measure_growth(bench, found, subject.workload, lengths, 3, track)
            write(results, output)
    click.echo(report(results))


def subject_of(options: dict[str, Any]) -> Subject:
    """The model that the options name, and what it is asked."""
    size = Size(options["n"], options["batch"])
    if options["random_model"]:
        settings = dict(options["settings"])
        return random_subject(options["random_model"], settings, size, options["max_length"])
    names = ("preset", "sentences", "max_length", "evaluate", "limit")
    preset, sentences, max_length, evaluate, limit = (options[name] for name in names)
    return trained_subject(preset, sentences, size, max_length, evaluate, limit)


def measure(
    subject: Subject,
    bench: Bench,
    contenders: Sequence[Contender],
    options: dict[str, Any],
    track: Track,
) -> Results:
    """Everything but the growth and the profiles."""
    first = save_sources(bench.folder / "first.npz", subject.workload.singles[-1:])
    answers = judge(subject, bench, contenders, track)
    cold = measure_cold(bench, contenders, first, options["cold_rounds"], track)
    samples = measure_turns(
        bench, contenders, subject.workload, options["rounds"], track, MemoryBandwidth()
    )
    samples.cold = cold
    batch = Mode(len(subject.workload.batches[0]), 1)
    sizes = {dtype: step_bytes(subject.model, dtype) for dtype in BYTES_OF}
    return Results(
        subject.name,
        subject.workload.described,
        subject.max_length,
        options["rounds"],
        subject.quality_told(),
        machine(PACKAGES),
        rows=table_rows(contenders, samples, bench.files, answers, sizes, batch),
        targets=targets(samples, bench.files, batch),
        left_out=dict(bench.files.left_out),
    )


def judge(
    subject: Subject, bench: Bench, contenders: Sequence[Contender], track: Track
) -> dict[str, Answers]:
    """How good the answers of each contender are, and how many tokens are Keras' own."""
    singles = save_sources(bench.folder / "judged.npz", subject.workload.singles)
    model, steps = subject.model, subject.max_length
    expected = [model.greedy(source, steps)["tokens"] for source in subject.workload.singles]
    found = {}
    for number in track(range(len(contenders)), "answers"):
        one = contenders[number]
        with bench.worker(one, 1, singles) as worker:
            equal = equal_tokens(worker.tokens(singles), expected)
            answering = WorkerModel(one.key, model.config, worker, bench.folder)
            found[one.key] = Answers(equal, subject.quality(answering))
    return found


def profile(results: Results, bench: Bench, contenders: Sequence[Contender], track: Track) -> None:
    """Add where the time goes, for each contender whose runtime has a profiler."""
    singles = bench.folder / "singles.npz"
    profiled = [one for one in contenders if one.kind in PROFILERS]
    for number in track(range(len(profiled)), "profiles"):
        one = profiled[number]
        try:
            results.profiles[one.name] = PROFILERS[one.kind](bench.files.path(one), singles)
        except ProfileError as error:
            results.left_out[f"profile of {one.name}"] = str(error)


def write(results: Results, output: Path) -> None:
    """Write the tables and the pictures of what is known; each file is whole at any time."""
    from inference_picture import draw, draw_growth

    base = stem(results.name)
    title = f"{results.name}: {results.described}"
    write_csv(output / f"{base}.csv", results.rows)
    with written_beside(output / f"{base}.png") as beside:
        draw(results.rows, title, beside)
    if results.growth:
        write_csv(output / f"{base}.growth.csv", [vars(one) for one in results.growth])
        names = {row["contender"]: f"{row['format']} {row['weights']}" for row in results.rows}
        with written_beside(output / f"{base}.growth.png") as beside:
            draw_growth(results.growth, names, title, beside)
    if results.profiles:
        profiles = results.profiles.items()
        costs = [{"contender": name, **vars(cost)} for name, table in profiles for cost in table]
        write_csv(output / f"{base}.profile.csv", costs)
    with written_beside(output / f"{base}.md") as beside:
        beside.write_text(report(results), encoding="utf-8")


@contextmanager
def tracker() -> Iterator[Track]:
    """A function that goes through rounds and moves a bar on stderr, if anybody sees it."""
    from rich.console import Console
    from rich.progress import Progress

    hidden = not sys.stderr.isatty()
    with Progress(console=Console(stderr=True), transient=True, disable=hidden) as progress:

        def track(rounds: Sequence[int], what: str) -> Iterable[int]:
            if hidden:
                click.echo(f"{what}: {len(rounds)}", err=True)
            return progress.track(rounds, description=what)

        yield track


if __name__ == "__main__":
    main()
