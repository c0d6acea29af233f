"""`attention-zoo export`: writes files that run without this package."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

FORMATS = ("savedmodel", "tflite", "onnx")
FURTHER_FORMATS = ("onnx-split",)
QUANTIZATIONS = ("int8", "float16")
RECORD_FILE = "training.json"


def _limit(_: click.Context, __: click.Parameter, value: float) -> float:
    # nan passes every range
    if not 0 <= value < math.inf:
        raise click.BadParameter(
            f"expected a finite number of at least 0, got {value:g}. Fix: --gate-limit 0.5"
        )
    return value


@click.command(
    "export", short_help="Write SavedModel, TFLite and ONNX files, checked against Keras."
)
@click.argument("model")
@click.option(
    "--format",
    "formats",
    type=click.Choice([*FORMATS, *FURTHER_FORMATS]),
    multiple=True,
    help="Repeat it for several; onnx-split is an encoder and a step, for hosts that drive the "
    "loop.  [default: savedmodel, tflite, onnx]",
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
    "--quantize",
    "quantizations",
    type=click.Choice(QUANTIZATIONS),
    multiple=True,
    help="int8 adds files with int8 weights beside the others, of about a quarter of their size; "
    "float16 rounds the weights and stores them so, in all files. Repeat it for both.",
)
@click.option("--half", is_flag=True, help="The same as --quantize float16.")
@click.option(
    "--gate",
    metavar="FILE.tsv|copy",
    help="What quantisation loses is measured on it: sentences (source, tab, reference; several "
    "references in several lines), or fresh sequences of the copy task.",
)
@click.option(
    "--gate-limit",
    type=float,
    callback=_limit,
    default=0.5,
    show_default=True,
    help="Points of BLEU or of token accuracy that may be lost.",
)
@click.option("--allow-loss", is_flag=True, help="Export also what loses more; it is recorded.")
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
    quantizations: tuple[str, ...],
    half: bool,
    gate: str | None,
    gate_limit: float,
    allow_loss: bool,
    name: str | None,
    force: bool,
) -> None:
    """Export MODEL to SavedModel, TFLite and ONNX files, and prove that they answer as Keras does.

    MODEL is a preset, the folder of a run, an exported folder, or a .keras file. The tokenizers of
    a translation model, which lie beside it, go with it.

    \b
    Examples:
      attention-zoo export runs/copy --format tflite --format onnx -o exported/copy
      attention-zoo export runs/fr_en --quantize float16 -o exported/fr_en
      attention-zoo export runs/copy --quantize int8 --gate copy -o exported/copy
      attention-zoo export runs/fr_en --quantize int8 --gate held_out.tsv -o exported/fr_en
    """
    _refuse_what_does_nothing(ctx, formats, bool(quantizations or half))
    from attention_zoo.commands.gate_data import gate_data
    from attention_zoo.commands.model_source import load_source, source_tokenizers

    refuse_to_overwrite(output, force)
    tokenizers = source_tokenizers(model)
    sentences = None if gate is None else gate_data(gate, tokenizers, model)
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
        tokenizers=tokenizers,
        quantize=(*quantizations, *(["float16"] if half else [])),
        gate=None if sentences is None else sentences.gate(loaded, gate_limit),
        allow_loss=allow_loss,
    )
    show(output)


def _refuse_what_does_nothing(
    ctx: click.Context, formats: tuple[str, ...], quantized: bool
) -> None:
    """Raise UsageError where an option is without the one that it goes with."""
    given = ctx.params
    if given["gate"] is not None and not quantized:
        raise click.UsageError("--gate measures what quantisation loses: add --quantize.")
    if given["allow_loss"] and given["gate"] is None:
        raise click.UsageError("--allow-loss is about what a --gate measures: add one.")
    limit_was_given = ctx.get_parameter_source("gate_limit") is not ParameterSource.DEFAULT
    if limit_was_given and given["gate"] is None:
        raise click.UsageError("--gate-limit is about what a --gate measures: add one.")
    if "int8" in given["quantizations"] and set(formats) == {"savedmodel"}:
        raise click.UsageError(
            "--quantize int8 is for tflite, onnx and onnx-split, got --format savedmodel alone. "
            "Fix: add one of them, or leave int8 out."
        )


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
    if manifest.gate is not None:
        show_gate(manifest.gate)
    elif any(entry.details.get("quantize") for entry in manifest.files.values()):
        click.echo("No --gate was given: what int8 loses was not measured.")


def show_gate(gate: Mapping[str, Any]) -> None:
    """Print what quantisation loses, from the manifest."""
    from attention_zoo.commands.table import print_table

    rows = [("Keras, not quantised", "", f"{gate['keras']:.2f}", "")]
    for name, found in gate["files"].items():
        equal = f"{found['tokens_equal']:.1%}"
        rows.append((name, equal, f"{found['score']:.2f}", f"{found['lost']:+.2f}"))
    title = f"{gate['sequences']:,} sequences of {gate['data']}; {gate['limit']:g} may be lost"
    print_table(title, ("file", "tokens equal", gate["measure"], "lost"), rows)
