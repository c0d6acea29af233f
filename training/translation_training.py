"""Train a model of the zoo to translate, by a recipe."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import keras

from attention_zoo.model_config import ModelConfig, check_names
from attention_zoo.registry import create_model, list_models
from attention_zoo.tokenizer import TOKENIZER_FILES, TokenizerPair
from attention_zoo.training.bleu import TranslationScores
from attention_zoo.training.checkpoint import CheckpointError
from attention_zoo.training.checkpoint_pair import CheckpointPair
from attention_zoo.training.data_wait import DataWait
from attention_zoo.training.fused_adam import FusedAdam
from attention_zoo.training.losses import MaskedCrossEntropy
from attention_zoo.training.metrics import Perplexity, TokenAccuracy, TokenCount
from attention_zoo.training.sampled_seq2seq import SampledSeq2Seq
from attention_zoo.training.sentence_batches import SentenceBatches
from attention_zoo.training.sentence_pairs import SentencePair
from attention_zoo.training.stage import Stage
from attention_zoo.training.tokenizer_training import train_tokenizers
from attention_zoo.training.training_run import TrainingResult, TrainingRun
from attention_zoo.training.translation_data import TranslationData
from attention_zoo.training.translation_measures import (
    bleu_measure,
    examples_of,
    measure_translations,
    metrics_of,
)
from attention_zoo.training.translation_plots import plot_training_curves
from attention_zoo.training.translation_recipe import (
    PRECISIONS,
    TranslationRecipe,
    get_translation_recipe,
)

if TYPE_CHECKING:
    import tensorflow as tf

    from attention_zoo.seq2seq import Seq2Seq

CURVES_FILE = "curves.png"


@dataclass(frozen=True)
class TranslationTraining:
    """A model trained to translate, its tokenizers, and how well it does.

    `scores` are those of each test set by name: empty, and the run not published, where Ctrl-C
    ended the training. The model computes in float32, whatever it was trained in.
    """

    model: Seq2Seq
    tokenizers: TokenizerPair
    result: TrainingResult
    scores: Mapping[str, TranslationScores]
    directory: Path

    @property
    def is_published(self) -> bool:
        """Whether the directory holds the model, measured."""
        return bool(self.scores)


def train_translation(
    name: str,
    data: TranslationData,
    directory: str | Path,
    *,
    recipe: str | TranslationRecipe = "tatoeba",
    seed: int = 0,
    overrides: Mapping[str, Any] | None = None,
    resume: bool = False,
    finish: bool = False,
    tensorboard: bool = False,
    command: str | None = None,
    resume_hint: str | None = None,
    verbose: int = 1,
) -> TranslationTraining:
    """Train model `name` on `data`, measure it on the test sets, and publish it in `directory`.

    The directory ends with `model.keras`, `training.json`, the tokenizers, `log.csv` and
    `curves.png`.

    Args:
        name: a registered model, as for `create_model`.
        data: from `load_translation_data` or `load_aligned_splits`.
        directory: of the run.
        recipe: a name in `TRANSLATION_RECIPES`, or a recipe.
        seed: of the weights and of the order of the data.
        overrides: options of `create_model` that replace the recipe's.
        resume: go on from the last checkpoint in `directory`.
        finish: train no further; measure and publish the best checkpoint in `directory`.
        tensorboard, verbose, resume_hint: as in `TrainingRun`.
        command: how this was started, for the record.

    Raises:
        ValueError: an unknown model, recipe or option, or too few pairs.
        FileExistsError, CheckpointError: as `TrainingRun.train`.
    """
    recipe = get_translation_recipe(recipe) if isinstance(recipe, str) else recipe
    directory = Path(directory)
    _check_before(name, directory, recipe, overrides or {}, goes_on=resume or finish)
    tokenizers = _tokenizers(data, directory, recipe, resume or finish)
    options = {
        **recipe.model_options(name),
        **(overrides or {}),
        "vocab_source": tokenizers.source.vocab_size,
        "vocab_target": tokenizers.target.vocab_size,
    }
    batches = _batches(data, tokenizers, recipe, seed)
    if verbose:
        _tell(data, batches, tokenizers)
    keras.utils.set_random_seed(seed)
    plain = create_model(name, **options)
    model = _trainer(plain, recipe, _stage(batches, recipe).steps)
    run = _run(
        model,
        batches,
        data,
        tokenizers,
        recipe,
        directory,
        identity={"model": options, "name": name, "seed": seed},
        tensorboard=tensorboard,
        verbose=verbose,
        resume_hint=resume_hint,
    )
    result = run.best() if finish else run.train(resume)
    plain.set_weights(model.get_weights())
    if not result.is_complete and not finish:
        return TranslationTraining(plain, tokenizers, result, {}, directory)
    scores = measure_translations(plain, tokenizers, data.tests, recipe)
    plot_training_curves(directory / "log.csv", directory / CURVES_FILE, title=name)
    task = {
        "task": "translation",
        "data": data.description,
        "dropped_pairs": batches.dropped,
        "examples": examples_of(plain, tokenizers, data.test, recipe),
    }
    run.publish(result, metrics_of(scores, recipe), task, seed, command, model=plain)
    return TranslationTraining(plain, tokenizers, result, scores, directory)


def _check_before(
    name: str,
    directory: Path,
    recipe: TranslationRecipe,
    overrides: Mapping[str, Any],
    goes_on: bool,
) -> None:
    """Refuse what can be seen to be wrong before anything is read or written."""
    check_names("model", [name], list_models())
    for option in sorted({"vocab_source", "vocab_target"} & {*overrides}):
        raise ValueError(
            f"train_translation: {option} is set by the tokenizer, got {overrides[option]!r}. "
            f"Fix: leave {option} out, and give the recipe a vocab_size."
        )
    options = {**recipe.model_options(name), **overrides}
    check_names("ModelConfig field", options, [entry.name for entry in fields(ModelConfig)])
    checkpoints = CheckpointPair(directory)
    if not goes_on:
        checkpoints.refuse_used()  # before its tokenizers are written over
    elif not checkpoints.exists():
        raise CheckpointError(
            f"{directory}: no checkpoint there. Fix: the folder of a run, or start one."
        )


def _run(
    model: Seq2Seq,
    batches: SentenceBatches,
    data: TranslationData,
    tokenizers: TokenizerPair,
    recipe: TranslationRecipe,
    directory: Path,
    identity: Mapping[str, Any],
    **options: Any,
) -> TrainingRun:
    """The run of one stage over the batches, validated after each round."""
    wait = DataWait()
    return TrainingRun(
        model,
        [_stage(batches, recipe)],
        lambda _, start, stop: wait.watch(batches.dataset(start, stop)),
        directory,
        steps_per_round=_steps_per_round(batches, recipe),
        identity={
            "recipe": recipe.to_dict(),
            "data": dict(data.description["sha256"]),
            **identity,
        },
        validation=_validation(data, tokenizers, recipe),
        measure=bleu_measure(model, tokenizers, data.validation, recipe),
        monitor=recipe.monitor,
        callbacks=[wait],
        **options,
    )


def _batches(
    data: TranslationData, tokenizers: TokenizerPair, recipe: TranslationRecipe, seed: int
) -> SentenceBatches:
    return SentenceBatches(
        data.train,
        tokenizers,
        recipe.batch_size,
        buckets=recipe.buckets,
        seed=seed,
        subword_dropout=recipe.subword_dropout,
    )


def _validation(
    data: TranslationData, tokenizers: TokenizerPair, recipe: TranslationRecipe
) -> tf.data.Dataset:
    """Each validation source with its first reference."""
    pairs = [SentencePair(entry.source, entry.references[0]) for entry in data.validation]
    size = min(recipe.batch_size, len(pairs))
    return SentenceBatches(pairs, tokenizers, size, buckets=recipe.buckets).ordered()


def _tokenizers(
    data: TranslationData, directory: Path, recipe: TranslationRecipe, resume: bool
) -> TokenizerPair:
    """Those of the run that is resumed, else new ones, in the run's directory."""
    if resume and any((directory / file).exists() for file in TOKENIZER_FILES):
        return TokenizerPair.load(directory)
    directory.mkdir(parents=True, exist_ok=True)
    return train_tokenizers(data.train, directory, recipe.vocab_size, recipe.joint)


def _tell(data: TranslationData, batches: SentenceBatches, tokenizers: TokenizerPair) -> None:
    vocab = tokenizers.source.vocab_size, tokenizers.target.vocab_size
    print(
        f"{len(data.train)} training pairs ({batches.dropped} longer than "
        f"{batches.buckets[-1]} pieces left out), {len(data.validation)} validation and "
        f"{len(data.test)} test sources; "
        f"{f'one vocabulary of {vocab[0]}' if tokenizers.is_joint else f'vocabularies {vocab}'} "
        f"pieces; {batches.batches_per_epoch} steps an epoch",
        flush=True,
    )


def _steps_per_round(batches: SentenceBatches, recipe: TranslationRecipe) -> int:
    steps = batches.batches_per_epoch // recipe.rounds_per_epoch
    if steps < 1:
        raise ValueError(
            f"train_translation: rounds_per_epoch is {recipe.rounds_per_epoch}; expected at most "
            f"the steps of an epoch, {batches.batches_per_epoch}. Fix: rounds_per_epoch=1."
        )
    return steps


def _stage(batches: SentenceBatches, recipe: TranslationRecipe) -> Stage:
    steps = recipe.epochs * recipe.rounds_per_epoch * _steps_per_round(batches, recipe)
    return Stage(
        {recipe.buckets[-1]: 1.0},
        steps,
        learning_rate=recipe.learning_rate,
        warmup_steps=recipe.warmup_steps,
        final_learning_rate=recipe.final_learning_rate,
        patience=recipe.patience,
    )


def _trainer(plain: Seq2Seq, recipe: TranslationRecipe, steps: int) -> Seq2Seq:
    """The compiled model that is trained: `plain` in the recipe's precision and sampling."""
    dtype = PRECISIONS[recipe.precision]
    model: Seq2Seq = SampledSeq2Seq(
        plain.config,
        share=recipe.scheduled_sampling,
        steps=steps,
        name=plain.name,
        dtype=dtype,
    )
    model.set_weights(plain.get_weights())
    optimizer = FusedAdam(
        recipe.learning_rate,
        global_clipnorm=recipe.clip_norm,
        use_ema=recipe.ema_momentum > 0,
        ema_momentum=recipe.ema_momentum,
    )
    model.compile(
        optimizer=optimizer,
        loss=MaskedCrossEntropy(recipe.label_smoothing),
        metrics=[Perplexity(), TokenAccuracy(), TokenCount()],
        jit_compile=recipe.jit_compile,
    )
    return model
