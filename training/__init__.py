"""Tasks and data, losses and metrics, training runs and studies."""

from attention_zoo.lazy_package import lazy_package

NAMES = {
    "CopyTask": "copy_task",
    "MaskedCrossEntropy": "losses",
    "Perplexity": "metrics",
    "SequenceAccuracy": "metrics",
    "TokenAccuracy": "metrics",
    "TrainingRun": "training_run",
    "accuracy_by_length": "evaluation",
    "run_copy_length_study": "copy_length_study",
}

__getattr__, __dir__ = lazy_package(__name__, NAMES)
__all__ = list(NAMES)
