"""The model that the inference benchmark is about, with what it is asked and how it is scored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inference_quality import WorkerModel, bleu, copy_accuracy
from inference_workload import Workload, copy_workload, random_workload, sentence_workload

from attention_zoo.vocabulary import EOS

if TYPE_CHECKING:
    from attention_zoo.commands.held_out import HeldOut
    from attention_zoo.tokenizer import TokenizerPair

RANDOM_STEPS = 32
"""T_dec of a model with random weights."""

# of the checkout; what there is for presets that translate from French to English
_SENTENCES = {".fr_en": Path(__file__).parents[1] / "tests" / "data" / "pairs.fr-en.tsv"}
# log-probability of eos where it shall never be written; float16 holds it too
_NEVER = -1e4


@dataclass(frozen=True)
class Size:
    """How many sentences there are, and how many stand in a batch."""

    n: int
    batch: int


@dataclass(frozen=True)
class Subject:
    """A model and its work.

    Attributes:
        name: in titles and file names.
        model: a `Seq2Seq`.
        max_length: T_dec.
        workload: what it is asked.
        tokenizers: of a model that translates, else None.
        test: the test set of a model that translates, if there is one.
        n_copies: sequences of each length by which a model of the copy task is scored; 0 for
            another model.
    """

    name: str
    model: Any
    max_length: int
    workload: Workload
    tokenizers: TokenizerPair | None = None
    test: HeldOut | None = None
    n_copies: int = 0

    def quality_told(self) -> tuple[str, str]:
        """Name of the quality column, empty if there is none, and a sentence about it."""
        if self.test is not None:
            part, entries = next(iter(self.test.parts.items()))
            told = f"BLEU: greedy, {len(entries)} sources of {self.test.name}, part {part}."
            return "BLEU", told
        if self.n_copies:
            told = f"Accuracy: symbols copied right, {self.n_copies} sequences of each length."
            return "accuracy, %", told
        if self.tokenizers is not None:
            return "", "No BLEU: no test set was given (--evaluate)."
        return "", "No accuracy: the weights are random, and eos is never written."

    def quality(self, answering: WorkerModel) -> float | None:
        """BLEU or accuracy of a contender; None if there is nothing to score by."""
        if self.test is not None and self.tokenizers is not None:
            return bleu(answering, self.tokenizers, self.test)
        return copy_accuracy(answering, self.n_copies) if self.n_copies else None


def random_subject(
    name: str, settings: Mapping[str, Any], size: Size, max_length: int | None
) -> Subject:
    """A model of the registry with drawn weights, which never ends before `max_length` tokens.

    Raises:
        ValueError: an unknown name, or a bad setting.
    """
    import keras
    import numpy as np

    from attention_zoo import create_model

    keras.utils.set_random_seed(0)
    steps = max_length or settings.get("max_length") or RANDOM_STEPS
    model = create_model(name, **{**settings, "max_length": steps})
    bias = model.output_layer.b
    bias.assign(np.where(np.arange(bias.shape[0]) == EOS, _NEVER, bias.numpy()))
    work = random_workload(model.config.vocab_source, size.n, size.batch)
    return Subject(f"random.{name}", model, steps, work)


def trained_subject(
    source: str,
    sentences: Path | None,
    size: Size,
    max_length: int | None,
    test_folder: Path | None,
    limit: int | None,
) -> Subject:
    """A preset, or anything else that a MODEL argument names.

    Args:
        source: the MODEL argument.
        sentences: a file of source sentences, for a model that translates.
        size: how many of them.
        max_length: T_dec; None takes the model's.
        test_folder: where the files lie from which its test set comes.
        limit: sources of the test set at most; sequences of each length for the copy task.

    Raises:
        ValueError: no such model, or sentences that it does not need or that are missing.
    """
    from attention_zoo.commands.model_source import load_source, source_tokenizers

    tokenizers = source_tokenizers(source)
    name = Path(source).name
    if tokenizers is None and (sentences or test_folder):
        raise ValueError(
            f"{source}: a model of ids reads no sentences. Fix: leave --sentences and --evaluate "
            "out."
        )
    path = sentences or next((p for end, p in _SENTENCES.items() if name.endswith(end)), None)
    if tokenizers is not None and (path is None or not path.is_file()):
        raise ValueError(
            f"{source}: expected source sentences, and there are none in this checkout. Fix: "
            "--sentences FILE, a sentence a line."
        )
    model = load_source(source)
    steps = max_length or model.config.max_length
    if tokenizers is None or path is None:
        work = copy_workload(model.config, size.n, size.batch)
        return Subject(name, model, steps, work, n_copies=limit or 50)
    work = sentence_workload(path, tokenizers, size.n, size.batch)
    test = None if test_folder is None else _test_set(source, test_folder, limit)
    return Subject(name, model, steps, work, tokenizers, test)


def _test_set(source: str, folder: Path, limit: int | None) -> HeldOut:
    """The test part of the data that a model was trained on."""
    from attention_zoo.commands.data_options import DataChoice
    from attention_zoo.commands.held_out import held_out

    return held_out([source], DataChoice(manual_dir=str(folder)), "test", limit)
