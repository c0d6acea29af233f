"""How good the answers of a contender are: BLEU, accuracy of copies, tokens as in Keras."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from inference_process import Worker, save_sources

from attention_zoo.vocabulary import FIRST_SYMBOL

if TYPE_CHECKING:
    from attention_zoo.commands.held_out import HeldOut
    from attention_zoo.tokenizer import TokenizerPair
    from attention_zoo.training.copy_task import CopyTask


class WorkerModel:
    """A worker in the words of a `Seq2Seq`, as far as `translate_corpus` and others ask."""

    def __init__(self, name: str, config: Any, worker: Worker, folder: Path) -> None:
        self.name = name
        self.config = config
        self._worker = worker
        self._path = folder / f"{name}.asked.npz"

    def greedy(self, source: np.ndarray, max_length: int | None = None) -> dict[str, np.ndarray]:
        """The tokens of `Seq2Seq.greedy`; T_dec is that of the file."""
        (tokens,) = self._worker.tokens(save_sources(self._path, [np.asarray(source, np.int32)]))
        return {"tokens": tokens}


def bleu(model: WorkerModel, tokenizers: TokenizerPair, data: HeldOut) -> float:
    """BLEU of greedy decoding on the first part of a test set."""
    from attention_zoo.training.bleu import score_translations
    from attention_zoo.training.corpus_translation import translate_corpus

    _, entries = next(iter(data.parts.items()))
    sources = [entry.source for entry in entries]
    answers = translate_corpus(model, tokenizers, sources, batch_size=32)
    return score_translations(answers, [entry.references for entry in entries], sources).bleu


def copy_accuracy(model: WorkerModel, n: int) -> float:
    """Per cent of symbols copied right, on `n` fresh sequences of each length of the study."""
    from attention_zoo.commands.lengths import default_lengths
    from attention_zoo.training.evaluation import evaluate_by_length

    lengths = default_lengths(model.config.max_length)
    accuracies = evaluate_by_length(model, copy_task(model.config), lengths, n)
    return 100 * float(np.mean([one.token for one in accuracies.values()]))


def copy_task(config: Any) -> CopyTask:
    """The copy task whose vocabulary a model of this config has."""
    from attention_zoo.training.copy_task import CopyTask

    return CopyTask(n_symbols=config.vocab_source - FIRST_SYMBOL)


def equal_tokens(answers: Sequence[np.ndarray], reference: Sequence[np.ndarray]) -> float:
    """Per cent of positions at which the tokens are the reference's, padding not counted."""
    pairs = list(zip(answers, reference, strict=True))
    counted = [(one != 0) | (other != 0) for one, other in pairs]
    equal = [(one == other) & where for (one, other), where in zip(pairs, counted, strict=True)]
    return 100 * sum(int(one.sum()) for one in equal) / sum(int(one.sum()) for one in counted)
