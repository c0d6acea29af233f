"""Tasks and data, losses and metrics, training runs and studies."""

from typing import TYPE_CHECKING

from attention_zoo.lazy_package import lazy_package

if TYPE_CHECKING:  # what type checkers and editors see; at run time NAMES decides
    from attention_zoo.training.bleu import TranslationScores as TranslationScores
    from attention_zoo.training.bleu import corpus_bleu as corpus_bleu
    from attention_zoo.training.bleu import score_translations as score_translations
    from attention_zoo.training.checkpoint import CheckpointError as CheckpointError
    from attention_zoo.training.copy_length_study import (
        run_copy_length_study as run_copy_length_study,
    )
    from attention_zoo.training.copy_task import CopyTask as CopyTask
    from attention_zoo.training.copy_training import train_copy as train_copy
    from attention_zoo.training.corpus_translation import Beam as Beam
    from attention_zoo.training.corpus_translation import translate_corpus as translate_corpus
    from attention_zoo.training.data_wait import DataWait as DataWait
    from attention_zoo.training.evaluation import accuracy_by_length as accuracy_by_length
    from attention_zoo.training.evaluation import evaluate_by_length as evaluate_by_length
    from attention_zoo.training.fused_adam import FusedAdam as FusedAdam
    from attention_zoo.training.losses import MaskedCrossEntropy as MaskedCrossEntropy
    from attention_zoo.training.metrics import Perplexity as Perplexity
    from attention_zoo.training.metrics import SequenceAccuracy as SequenceAccuracy
    from attention_zoo.training.metrics import TokenAccuracy as TokenAccuracy
    from attention_zoo.training.plots import plot_accuracy_by_length as plot_accuracy_by_length
    from attention_zoo.training.recipe import RECIPES as RECIPES
    from attention_zoo.training.recipe import Recipe as Recipe
    from attention_zoo.training.recipe import get_recipe as get_recipe
    from attention_zoo.training.reference_files import read_references as read_references
    from attention_zoo.training.scoring import PairScore as PairScore
    from attention_zoo.training.scoring import corpus_perplexity as corpus_perplexity
    from attention_zoo.training.scoring import score_pairs as score_pairs
    from attention_zoo.training.sentence_batches import SentenceBatches as SentenceBatches
    from attention_zoo.training.sentence_pairs import SentencePair as SentencePair
    from attention_zoo.training.stage import Stage as Stage
    from attention_zoo.training.tokenizer_training import train_tokenizers as train_tokenizers
    from attention_zoo.training.training_run import TrainingRun as TrainingRun
    from attention_zoo.training.translation_data import TranslationData as TranslationData
    from attention_zoo.training.translation_data import load_aligned_splits as load_aligned_splits
    from attention_zoo.training.translation_data import (
        load_translation_data as load_translation_data,
    )
    from attention_zoo.training.translation_plots import plot_bleu_by_length as plot_bleu_by_length
    from attention_zoo.training.translation_plots import (
        plot_training_curves as plot_training_curves,
    )
    from attention_zoo.training.translation_recipe import TRANSLATION_RECIPES as TRANSLATION_RECIPES
    from attention_zoo.training.translation_recipe import TranslationRecipe as TranslationRecipe
    from attention_zoo.training.translation_recipe import (
        get_translation_recipe as get_translation_recipe,
    )
    from attention_zoo.training.translation_training import train_translation as train_translation

NAMES = {
    "Beam": "corpus_translation",
    "CheckpointError": "checkpoint",
    "CopyTask": "copy_task",
    "DataWait": "data_wait",
    "FusedAdam": "fused_adam",
    "MaskedCrossEntropy": "losses",
    "PairScore": "scoring",
    "Perplexity": "metrics",
    "RECIPES": "recipe",
    "Recipe": "recipe",
    "SentenceBatches": "sentence_batches",
    "SentencePair": "sentence_pairs",
    "SequenceAccuracy": "metrics",
    "Stage": "stage",
    "TRANSLATION_RECIPES": "translation_recipe",
    "TokenAccuracy": "metrics",
    "TrainingRun": "training_run",
    "TranslationData": "translation_data",
    "TranslationRecipe": "translation_recipe",
    "TranslationScores": "bleu",
    "accuracy_by_length": "evaluation",
    "corpus_bleu": "bleu",
    "corpus_perplexity": "scoring",
    "evaluate_by_length": "evaluation",
    "get_recipe": "recipe",
    "get_translation_recipe": "translation_recipe",
    "load_aligned_splits": "translation_data",
    "load_translation_data": "translation_data",
    "plot_accuracy_by_length": "plots",
    "plot_bleu_by_length": "translation_plots",
    "plot_training_curves": "translation_plots",
    "read_references": "reference_files",
    "run_copy_length_study": "copy_length_study",
    "score_pairs": "scoring",
    "score_translations": "bleu",
    "train_copy": "copy_training",
    "train_tokenizers": "tokenizer_training",
    "train_translation": "translation_training",
    "translate_corpus": "corpus_translation",
}

__getattr__, __dir__ = lazy_package(__name__, NAMES)
__all__ = list(NAMES)
