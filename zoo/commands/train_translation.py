"""`attention-zoo train translation`: trains a model of the zoo to translate."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from attention_zoo.commands.data_options import DataChoice, data_options
from attention_zoo.commands.quiet_import import import_tensorflow
from attention_zoo.commands.training_command import (
    SEED,
    Setting,
    guarded,
    progress,
)

if TYPE_CHECKING:
    from attention_zoo.training.translation_training import TranslationTraining


@click.command("translation")
@click.option("--model", "model", required=True, help="A model of `attention-zoo list --models`.")
@data_options
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of the run.",
)
@click.option("--recipe", default="tatoeba", show_default=True, help="How to train.")
@click.option("--seed", type=SEED, default=0, show_default=True)
@click.option("--epochs", type=click.IntRange(1), help="Passes over the data at most.")
@click.option("--vocab-size", type=click.IntRange(5), help="Pieces of the tokenizer.")
@click.option("--batch-size", type=click.IntRange(1), help="Sentence pairs a step.")
@click.option(
    "--precision",
    type=click.Choice(["float32", "bfloat16"]),
    help="Of matrix products; bfloat16 is faster where the processor has it.",
)
@click.option(
    "--xla/--no-xla", "jit_compile", default=None, help="Compile the step, once a width of batch."
)
@click.option(
    "--set",
    "settings",
    type=Setting(),
    multiple=True,
    help="An option of the model, such as units=320; repeat it for several.",
)
@click.option(
    "--recipe-set",
    "recipe_settings",
    type=Setting(),
    multiple=True,
    help="A field of the recipe, such as learning_rate=0.001, patience=3, monitor=bleu, "
    "scheduled_sampling=0.2 or joint=false; repeat it for several.",
)
@click.option("--resume", is_flag=True, help="Go on with the run in OUTPUT.")
@click.option(
    "--finish",
    is_flag=True,
    help="Train no further: measure the best weights of the run in OUTPUT, and write them.",
)
@click.option("--force", is_flag=True, help="Throw the run in OUTPUT away and begin anew.")
@click.option("--tensorboard", is_flag=True, help="Write a log for TensorBoard too.")
@click.option("--quiet", is_flag=True, help="No progress.")
@click.pass_context
def train_on_sentences(
    ctx: click.Context,
    model: str,
    data_choice: DataChoice,
    output: Path,
    recipe: str,
    settings: tuple[tuple[str, Any], ...],
    recipe_settings: tuple[tuple[str, Any], ...],
    resume: bool,
    finish: bool,
    force: bool,
    tensorboard: bool,
    quiet: bool,
    seed: int,
    **fields: Any,
) -> None:
    """Train MODEL to translate the sentence pairs of --data, and measure it by BLEU and chrF.

    OUTPUT ends with model.keras, training.json, the tokenizer, log.csv and curves.png. Ctrl-C
    keeps what was learned so far.

    \b
    Examples:
      attention-zoo train translation --model bahdanau_gru --data pairs.tsv -o runs/mine
      attention-zoo train translation --model bahdanau_gru --data tatoeba/fra-eng --reverse \\
        -o runs/fr_en
      attention-zoo train translation --model luong_general_gru --source-file a.de \\
        --target-file a.en --epochs 5 --set units=320 --recipe-set patience=2 -o runs/b
    """
    if (resume or finish) and force:
        raise click.UsageError(
            "--resume and --finish need the run that --force throws away: choose one."
        )

    def train(**record: Any) -> TranslationTraining:
        from attention_zoo.model_config import check_names
        from attention_zoo.registry import list_models
        from attention_zoo.training.translation_recipe import get_translation_recipe

        # mistakes are told before anything heavy is imported or read
        check_names("model", [model], list_models())
        chosen = get_translation_recipe(recipe).replace(**{**fields, **dict(recipe_settings)})
        data = data_choice.load()
        import_tensorflow()
        from attention_zoo.training.translation_training import train_translation

        return train_translation(
            model,
            data,
            output,
            recipe=chosen,
            seed=seed,
            overrides=dict(settings),
            resume=resume,
            finish=finish,
            tensorboard=tensorboard,
            verbose=0 if quiet else progress(),
            **record,
        )

    trained = guarded(
        output,
        ctx.obj.command_line,
        train,
        resume=resume or finish,
        force=force,
        tensorboard=tensorboard,
    )
    show(model, trained)


def show(model: str, trained: TranslationTraining) -> None:
    """Print BLEU and chrF of each test set as a table."""
    from attention_zoo.commands.table import print_table

    rows = [
        (test, scores.n, f"{scores.bleu:.2f}", f"{scores.chrf:.2f}")
        for test, scores in trained.scores.items()
    ]
    print_table(f"{model}: beam search", ("test set", "sources", "BLEU", "chrF"), rows)
    for scores in list(trained.scores.values())[:1]:
        click.echo(f"BLEU {scores.bleu_signature}\nchrF {scores.chrf_signature}")
    result = trained.result
    click.echo(f"Trained {result.step} steps in {result.seconds:.0f} s: {trained.directory}")
