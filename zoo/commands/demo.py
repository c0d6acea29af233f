"""`attention-zoo demo`: the whole line, from an empty folder to files that answer."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from attention_zoo.cli import InterruptedWork

if TYPE_CHECKING:
    import numpy as np

    from attention_zoo import Seq2Seq

MODEL = "bahdanau_gru"
RECIPE = "copy_short"
SEQUENCE = "7 4 19 12 12 5 9 16"
# manifest name of the file -> what `attention-zoo predict --file` calls it
FILES = {"saved_model/1": "saved_model", "model.tflite": "model.tflite", "model.onnx": "model.onnx"}


@click.command("demo", short_help="The whole line in a few minutes.")
@click.option(
    "-o",
    "--output",
    default="demo",
    show_default=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder to write.",
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@click.option("--force", is_flag=True, help="Replace what an earlier demo left in OUTPUT.")
def command(output: Path, seed: int, force: bool) -> None:
    """Train a small model, measure it, export it three ways, and let every file answer.

    Takes about a minute on two cores. Everything it does is a command of its own, which it names.

    \b
    Example:
      attention-zoo demo --output demo
    """
    from attention_zoo.commands import copy_evaluation, export, train
    from attention_zoo.commands.run_folder import refuse_to_restart
    from attention_zoo.commands.training_command import progress

    run, exported, plot = output / "run", output / "exported", output / "alignment.png"
    export.refuse_to_overwrite(exported, force)
    if not force:
        refuse_to_restart(run)

    line = f"train copy --model {MODEL} --recipe {RECIPE} --seed {seed} -o {run}"
    trained = train.run(
        MODEL, run, _announce(line), recipe=RECIPE, seed=seed, force=force, verbose=progress()
    )

    lengths = ",".join(map(str, trained.accuracies))
    _announce(f"evaluate {run} --lengths {lengths}")
    copy_evaluation.show("Fresh sequences, by length", trained.accuracies, trained.task.chance)

    try:
        _export_and_answer(trained.model, run, exported, plot, force)
    except KeyboardInterrupt:
        raise InterruptedWork(
            f"the trained model is kept. To go on: attention-zoo export {run} -o {exported}"
        ) from None


def _export_and_answer(model: Seq2Seq, run: Path, exported: Path, plot: Path, force: bool) -> None:
    from attention_zoo.commands.export import record_of
    from attention_zoo.export import export_model  # imports TensorFlow

    line = _announce(f"export {run} -o {exported}")
    export_model(model, exported, record=record_of(str(run)), command=line, force=force)
    click.echo("Every file was run by its own runtime and compared with Keras.")
    _announce(f"predict {exported} {SEQUENCE} --file FILE --plot {plot}")
    _show(_answer(model, exported, plot))
    click.echo(f"The alignment of this sequence is drawn in {plot}.")


def _announce(arguments: str) -> str:
    """Show the command that would do alone what comes next, and return it."""
    line = f"attention-zoo {arguments}"
    click.secho(f"\n$ {line}", bold=True)
    return line


def _answer(model: Seq2Seq, exported: Path, plot: Path) -> list[tuple[object, ...]]:
    """Answer SEQUENCE through every file; a row of the closing table for each."""
    import numpy as np

    from attention_zoo.commands.answerer import file_answerer, open_file
    from attention_zoo.commands.predict import answer_lines, plot_first
    from attention_zoo.commands.sequence_ids import parse_ids, with_eos
    from attention_zoo.commands.validate import parity_cells
    from attention_zoo.export.timing import time_predict
    from attention_zoo.manifest import read_manifest

    source = with_eos(parse_ids(SEQUENCE, "demo"))
    expected = np.asarray(model.greedy([source])["tokens"])
    parity = read_manifest(exported).parity["files"]
    rows: list[tuple[object, ...]] = []
    for file, name in FILES.items():
        outputs = file_answerer(exported / name, None).answer([source])
        for line in answer_lines(source, outputs, 0, as_json=False):
            click.echo(f"{file:14} {SEQUENCE}  ->  {line}")
        _check_same(file, outputs["tokens"][:, 0], expected)
        tokens_equal, largest = parity_cells(list(parity[file].values()))
        milliseconds = time_predict(open_file(exported / name), [source])
        size = _bytes(exported / file)
        rows.append((file, size, largest, tokens_equal, f"{milliseconds:.2f}"))
    plot_first(source, outputs, plot)
    return rows


def _bytes(path: Path) -> int:
    """Bytes of a file, or of all files in a folder."""
    if path.is_file():
        return path.stat().st_size
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())


def _check_same(file: str, tokens: np.ndarray, expected: np.ndarray) -> None:
    if tokens.tolist() != expected.tolist():
        raise ValueError(f"{file} answered {tokens.tolist()}, Keras {expected.tolist()}.")


def _show(rows: list[tuple[object, ...]]) -> None:
    from attention_zoo.commands.table import print_table

    print_table(
        "Every file against Keras",
        ("file", "bytes", "largest difference", "tokens equal", "ms a sequence"),
        rows,
    )
