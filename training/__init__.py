"""Tasks and data, losses and metrics, training runs and studies."""

from attention_zoo.lazy_package import lazy_package

NAMES = {
    "CheckpointError": "checkpoint",
    "CopyTask": "copy_task",
    "MaskedCrossEntropy": "losses",
    "Perplexity": "metrics",
    "RECIPES": "recipe",
    "Recipe": "recipe",
    "SequenceAccuracy": "metrics",
    "Stage": "stage",
    "TokenAccuracy": "metrics",
    "TrainingRun": "training_run",
    "accuracy_by_length": "evaluation",
    "evaluate_by_length": "evaluation",
    "get_recipe": "recipe",
    "plot_accuracy_by_length": "plots",
    "plot_alignment": "plots",
    "run_copy_length_study": "copy_length_study",
    "train_copy": "copy_training",
}

__getattr__, __dir__ = lazy_package(__name__, NAMES)
__all__ = list(NAMES)
