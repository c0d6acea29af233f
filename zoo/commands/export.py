"""`attention-zoo export`: writes files that run without this package."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

FORMATS = ("savedmodel", "tflite", "onnx")
RECORD_FILE = "training.json"


@click.command(
    "export", short_help="Write SavedModel, TFLite and ONNX files, checked against Keras."
)
@click.argument("model")
@click.option(
    "--format",
    "formats",
    type=click.Choice(FORMATS),
    multiple=True,
    help="Repeat it for several.  [default: all]",
)
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder to write; new or empty.",
)
@click.option(
    "--max-length",
    type=click.IntRange(1),
    help="Tokens that the files write at most (T_dec).  [default: MODEL's]",
)
@click.option("--beam-width", type=click.IntRange(1), default=4, show_default=True)
@click.option("--length-penalty", type=float, default=1.0, show_default=True)
@click.option(
    "--half",
    is_flag=True,
    help="Round the weights to float16 and store them so: files of half the size.",
)
@click.option("--name", help="Name of the preset, for the manifest and the card.")
@click.option("--force", is_flag=True, help="Replace what an earlier export wrote to OUTPUT.")
@click.pass_context
def command(
    ctx: click.Context,
    model: str,
    formats: tuple[str, ...],
    output: Path,
    max_length: int | None,
    beam_width: int,
    length_penalty: float,
    half: bool,
    name: str | None,
    force: bool,
) -> None:
    """Export MODEL to SavedModel, TFLite and ONNX files, and prove that they answer as Keras does.

    MODEL is a preset, the folder of a run, an exported folder, or a .keras file. The tokenizers of
    a translation model, which lie beside it, go with it.

    \b
    Examples:
      attention-zoo export runs/copy --format tflite --format onnx -o exported/copy
      attention-zoo export runs/fr_en --half -o exported/fr_en
    """
    from attention_zoo.commands.model_source import load_source, source_tokenizers

    refuse_to_overwrite(output, force)
    tokenizers = source_tokenizers(model)
    loaded = load_source(model)
    # imports TensorFlow, so only once the model was found
    from attention_zoo.export import export_model

    export_model(
        loaded,
        output,
        formats=formats or FORMATS,
        max_length=max_length,
        beam_width=beam_width,
        length_penalty=length_penalty,
        record=record_of(model),
        preset_name=name,
        command=ctx.obj.command_line,
        force=force,
        storage="float16" if half else "float32",
        tokenizers=tokenizers,
    )
    show(output)


def refuse_to_overwrite(output: Path, force: bool) -> None:
    """Raise FileExistsError unless OUTPUT is new or empty, or `force` replaces an earlier export.

    `export_model` refuses the same; here it is asked before anything is loaded or trained.
    """
    from attention_zoo.manifest import MANIFEST_FILE

    if not output.exists() or (output.is_dir() and not any(output.iterdir())):
        return
    if not force:
        raise FileExistsError(
            f"{output} exists already. Choose another folder, or replace it with --force."
        )
    if not (output / MANIFEST_FILE).is_file():
        raise FileExistsError(
            f"{output} is not an exported folder (it has no {MANIFEST_FILE}), and --force would "
            "delete what is in it. Choose another folder, or empty it."
        )


def record_of(model: str) -> dict[str, Any] | None:
    """What is known of the training of a MODEL argument: data, licence, metrics, seed."""
    from attention_zoo.commands.model_source import folder_of
    from attention_zoo.manifest import MANIFEST_FILE, read_manifest

    folder = folder_of(model)
    if (folder / RECORD_FILE).is_file():
        return json.loads((folder / RECORD_FILE).read_text(encoding="utf-8"))
    if (folder / MANIFEST_FILE).is_file():
        known = read_manifest(folder)
        return {
            **known.training,
            "data": known.data,
            "metrics": known.metrics,
            "seed": known.seed,
        }
    return None


def show(output: Path) -> None:
    """Print the files of an exported folder as a table."""
    from attention_zoo.commands.table import print_table
    from attention_zoo.manifest import read_manifest

    manifest = read_manifest(output)
    rows = [(path, entry.bytes) for path, entry in manifest.files.items()]
    print_table(str(output), ("file", "bytes"), rows)
