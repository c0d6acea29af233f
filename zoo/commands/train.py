"""`attention-zoo train`: trains a model of the zoo on a task."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from attention_zoo.commands.quiet_import import import_tensorflow
from attention_zoo.commands.train_translation import train_on_sentences
from attention_zoo.commands.training_command import SEED, Setting, guarded, progress

if TYPE_CHECKING:
    from attention_zoo.training.copy_training import CopyTraining


@click.group("train", short_help="Train a model on a task.")
def command() -> None:
    """Train a model on a task.

    \b
    Example:
      attention-zoo train copy --model bahdanau_gru -o runs/copy
    """


command.add_command(train_on_sentences)


@command.command("copy")
@click.option("--model", "model", required=True, help="A model of `attention-zoo list --models`.")
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of the run.",
)
@click.option(
    "--recipe",
    default="copy",
    show_default=True,
    help="How to train: copy (lengths to 80, minutes) or copy_short (lengths to 10).",
)
@click.option("--seed", type=SEED, default=0, show_default=True)
@click.option(
    "--set",
    "settings",
    type=Setting(),
    multiple=True,
    help="An option of the model, such as units=64 or bidirectional=true; repeat it for several.",
)
@click.option("--resume", is_flag=True, help="Go on with the run in OUTPUT.")
@click.option("--force", is_flag=True, help="Throw the run in OUTPUT away and begin anew.")
@click.option("--tensorboard", is_flag=True, help="Write a log for TensorBoard too.")
@click.option("--quiet", is_flag=True, help="No progress.")
@click.pass_context
def train_on_copies(
    ctx: click.Context,
    model: str,
    output: Path,
    recipe: str,
    seed: int,
    settings: tuple[tuple[str, Any], ...],
    resume: bool,
    force: bool,
    tensorboard: bool,
    quiet: bool,
) -> None:
    """Train MODEL to repeat a sequence of symbols, and measure it by length.

    OUTPUT ends with model.keras, training.json and log.csv. Ctrl-C keeps what was learned so far.

    \b
    Examples:
      attention-zoo train copy --model bahdanau_gru -o runs/copy
      attention-zoo train copy --model luong_general_gru --set units=64 -o runs/small --seed 1
    """
    from attention_zoo.commands import copy_evaluation

    if resume and force:
        raise click.UsageError("--resume goes on with a run, --force throws it away: choose one.")
    trained = run(
        model,
        output,
        ctx.obj.command_line,
        recipe=recipe,
        seed=seed,
        overrides=dict(settings),
        resume=resume,
        force=force,
        tensorboard=tensorboard,
        verbose=0 if quiet else progress(),
    )
    copy_evaluation.show(f"{model}: fresh sequences", trained.accuracies, trained.task.chance)
    click.echo(f"Trained {trained.result.step} steps in {trained.result.seconds:.0f} s: {output}")


def run(
    model: str, output: Path, command_line: str, *, force: bool = False, **options: Any
) -> CopyTraining:
    """Train on copies, and turn Ctrl-C into an error that says what was kept.

    Raises FileExistsError if OUTPUT holds a run and neither `resume` nor `force` is given.
    """

    def train(**record: Any) -> CopyTraining:
        import_tensorflow()
        from attention_zoo.training import train_copy

        return train_copy(model, output, **record, **options)

    resume, tensorboard = bool(options.get("resume")), bool(options.get("tensorboard"))
    return guarded(output, command_line, train, resume=resume, force=force, tensorboard=tensorboard)
