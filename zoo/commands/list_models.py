"""`attention-zoo list`: models and presets."""

from __future__ import annotations

import json
from collections.abc import Iterable

import click


@click.command("list", short_help="Models and presets, by name.")
@click.argument("pattern", default="*")
@click.option("--models", "kind", flag_value="models", help="Models only.")
@click.option("--presets", "kind", flag_value="presets", help="Presets only.")
@click.option("--json", "as_json", is_flag=True, help="JSON instead of tables.")
@click.option(
    "--markdown",
    "as_markdown",
    is_flag=True,
    help="The presets with parameters, metrics and bytes by format, in Markdown.",
)
def command(pattern: str, kind: str | None, as_json: bool, as_markdown: bool) -> None:
    """List the models that can be trained and the presets that are trained already.

    PATTERN chooses names as a shell does: quote it.

    \b
    Examples:
      attention-zoo list
      attention-zoo list '*luong*' --models
      attention-zoo list --presets --markdown
    """
    from attention_zoo import list_models, list_presets

    models = [] if kind == "presets" else list_models(pattern)
    presets = [] if kind == "models" else list_presets(pattern)
    if as_json:
        click.echo(json.dumps({"models": models, "presets": presets}, indent=2))
        return
    if not models and not presets:
        raise ValueError(
            f"no model and no preset is called {pattern!r}. `attention-zoo list` shows all of "
            f"them; '*{pattern.strip('*')}*' finds names with something before or after."
        )
    if as_markdown:
        click.echo(_in_markdown(models if kind == "models" else [], presets), nl=False)
        return
    _show(models, presets)


def _in_markdown(models: list[str], presets: list[str]) -> str:
    from attention_zoo import preset_folder
    from attention_zoo.commands.preset_tables import preset_tables
    from attention_zoo.manifest import read_manifest

    if models:
        raise click.UsageError("--markdown shows presets; give --presets in place of --models.")
    return preset_tables({name: read_manifest(preset_folder(name)) for name in presets})


def _show(models: list[str], presets: list[str]) -> None:
    from attention_zoo import preset_folder
    from attention_zoo.commands.table import print_table
    from attention_zoo.manifest import read_manifest
    from attention_zoo.registry import model_summary

    if models:
        rows = [(name, model_summary(name)) for name in models]
        print_table("Models", ("model", "what it is"), rows)
    if presets:
        manifests = {name: read_manifest(preset_folder(name)) for name in presets}
        print_table(
            "Presets",
            ("preset", "bytes", "files that run alone"),
            [
                (name, manifest.total_bytes(), ", ".join(_runnable(manifest.files)))
                for name, manifest in manifests.items()
            ],
        )


def _runnable(files: Iterable[str]) -> list[str]:
    """What can be given to `attention-zoo predict --file`, without the parts of a SavedModel."""
    alone = [path for path in files if path.endswith((".onnx", ".tflite"))]
    saved = {path.split("/")[0] for path in files if path.startswith("saved_model/")}
    return sorted({*alone, *saved})
