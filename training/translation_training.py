"""Train a model of the zoo to translate, by a recipe."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import keras

from attention_zoo.registry import create_model
from attention_zoo.tokenizer import TOKENIZER_FILES, TokenizerPair
from attention_zoo.training.bleu import TranslationScores, corpus_bleu, score_translations
from attention_zoo.training.corpus_translation import Beam, translate_corpus
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
from attention_zoo.training.translation_data import Referenced, TranslationData
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


def train_translation(
    name: str,
    data: TranslationData,
    directory: str | Path,
    *,
    recipe: str | TranslationRecipe = "tatoeba",
    seed: int = 0,
    overrides: Mapping[str, Any] | None = None,
    resume: bool = False,
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
        tensorboard, verbose, resume_hint: as in `TrainingRun`.
        command: how this was started, for the record.

    Raises:
        ValueError: an unknown model, recipe or option, or too few pairs.
        FileExistsError, CheckpointError: as `TrainingRun.train`.
    """
    recipe = get_translation_recipe(recipe) if isinstance(recipe, str) else recipe
    directory = Path(directory)
    tokenizers = _tokenizers(data, directory, recipe, resume)
    options = {**recipe.model_options(name), **(overrides or {})}
    options |= {
        "vocab_source": tokenizers.source.vocab_size,
        "vocab_target": tokenizers.target.vocab_size,
    }
    batches = SentenceBatches(
        data.train,
        tokenizers,
        recipe.batch_size,
        buckets=recipe.buckets,
        seed=seed,
        subword_dropout=recipe.subword_dropout,
    )
    validation = SentenceBatches(
        [SentencePair(entry.source, entry.references[0]) for entry in data.validation],
        tokenizers,
        min(recipe.batch_size, len(data.validation)),
        buckets=recipe.buckets,
    )
    if verbose:
        _tell(data, batches, tokenizers)
    keras.utils.set_random_seed(seed)
    plain = create_model(name, **options)
    steps_per_round = max(1, batches.batches_per_epoch // recipe.rounds_per_epoch)
    stage = _stage(recipe, steps_per_round)
    model = _trainer(plain, recipe, stage.steps)
    wait = DataWait()

    def numbered_batches(_: Stage, start: int, stop: int) -> tf.data.Dataset:
        return wait.watch(batches.dataset(start, stop))

    run = TrainingRun(
        model,
        [stage],
        numbered_batches,
        directory,
        steps_per_round=steps_per_round,
        identity={
            "recipe": recipe.to_dict(),
            "model": options,
            "name": name,
            "seed": seed,
            "data": dict(data.description["sha256"]),
        },
        validation=validation.ordered(),
        measure=_bleu_measure(model, tokenizers, data.validation, recipe),
        monitor=recipe.monitor,
        callbacks=[wait],
        tensorboard=tensorboard,
        verbose=verbose,
        **({"resume_hint": resume_hint} if resume_hint else {}),
    )
    result = run.train(resume)
    plain.set_weights(model.get_weights())
    if not result.is_complete:
        return TranslationTraining(plain, tokenizers, result, {}, directory)
    scores = measure_translations(plain, tokenizers, data.tests, recipe)
    plot_training_curves(directory / "log.csv", directory / CURVES_FILE, title=name)
    task = {"task": "translation", "data": data.description, "dropped_pairs": batches.dropped}
    run.publish(result, metrics_of(scores, recipe), task, seed, command, model=plain)
    return TranslationTraining(plain, tokenizers, result, scores, directory)


def measure_translations(
    model: Seq2Seq,
    tokenizers: TokenizerPair,
    tests: Mapping[str, Sequence[Referenced]],
    recipe: TranslationRecipe,
) -> dict[str, TranslationScores]:
    """BLEU and chrF of beam search on each test set, by the recipe's beam and way to read text."""
    beam = Beam(recipe.beam_width, recipe.length_penalty)
    scores = {}
    for test, entries in tests.items():
        sources = [entry.source for entry in entries]
        scores[test] = score_translations(
            translate_corpus(model, tokenizers, sources, beam=beam),
            [entry.references for entry in entries],
            sources,
            tokenize=recipe.tokenize,
            lowercase=recipe.lowercase,
        )
    return scores


def metrics_of(
    scores: Mapping[str, TranslationScores], recipe: TranslationRecipe
) -> dict[str, Any]:
    """The scores in the form of a manifest: those of the first test set, the rest by name."""
    first, *others = scores
    metrics = {
        "decoding": f"beam {recipe.beam_width}, length penalty {recipe.length_penalty:g}",
        **scores[first].to_dict(),
    }
    return metrics | {f"test.{name}": scores[name].to_dict() for name in others}


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


def _stage(recipe: TranslationRecipe, steps_per_round: int) -> Stage:
    steps = recipe.epochs * recipe.rounds_per_epoch * steps_per_round
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


def _bleu_measure(
    model: Seq2Seq,
    tokenizers: TokenizerPair,
    entries: Sequence[Referenced],
    recipe: TranslationRecipe,
) -> Callable[[], dict[str, float]] | None:
    """Greedy BLEU on the first validation sentences; None if the recipe wants none."""
    measured = entries[: recipe.n_measured]
    if not measured:
        return None

    def bleu() -> dict[str, float]:
        answers = translate_corpus(model, tokenizers, [entry.source for entry in measured])
        references = [entry.references for entry in measured]
        return {
            "bleu": corpus_bleu(
                answers, references, tokenize=recipe.tokenize, lowercase=recipe.lowercase
            )
        }

    return bleu
