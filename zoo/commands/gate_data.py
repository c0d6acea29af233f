"""The evaluation set that `--gate` names, and the measure that goes with it."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from attention_zoo import Seq2Seq
    from attention_zoo.export.quality_gate import QualityGate
    from attention_zoo.tokenizer import TokenizerPair
    from attention_zoo.training.referenced import Referenced
    from attention_zoo.training.sentence_pairs import SentencePair

COPY = "copy"
# sequences of the copy task: how many, the longest, and a seed that no training uses
_N, _LONGEST, _SEED = 500, 20, 1_000_003


class GateData(Protocol):
    """An evaluation set, read before a model is loaded."""

    def gate(self, model: Seq2Seq, limit: float) -> QualityGate:
        """The gate for a model that may lose `limit` points."""


def gate_data(choice: str, tokenizers: TokenizerPair | None, model: str) -> GateData:
    """What `--gate` stands for: the copy task, or a file of tab-separated sentences.

    Args:
        choice: "copy" or a path.
        tokenizers: of MODEL; None if it reads and writes ids.
        model: the MODEL argument, for messages.

    Raises:
        ValueError: the measure does not fit the model.
        PairFileError: the file cannot be read.
    """
    if (choice == COPY) != (tokenizers is None):
        does, expected = (
            ("reads and writes ids", COPY)
            if tokenizers is None
            else ("translates", "a file of sentences: source, tab, reference")
        )
        raise ValueError(
            f"--gate {choice}: {model} {does}; expected {expected}. Fix: --gate "
            f"{COPY if tokenizers is None else 'FILE.tsv'}"
        )
    if tokenizers is None:
        return CopyGate()
    from attention_zoo.training.referenced import grouped

    return TranslationGate(Path(choice).name, grouped(_pairs(choice)), tokenizers)


def _pairs(path: str) -> list[SentencePair]:
    from attention_zoo.training.sentence_pairs import PairFileError, read_tsv

    try:
        return read_tsv(path).pairs
    except PairFileError as error:
        # the reader's advice names options that --gate does not have
        said = str(error).partition(" Fix: ")[0]
        raise PairFileError(
            f"{said} Fix: --gate takes a UTF-8 file whose every line is a sentence, a tab and a "
            "reference."
        ) from error


@dataclasses.dataclass(frozen=True)
class TranslationGate:
    """Corpus BLEU of greedy translations, against all references of each source."""

    name: str
    entries: list[Referenced]
    tokenizers: TokenizerPair

    def gate(self, model: Seq2Seq, limit: float) -> QualityGate:
        """Raises ValueError if the tokenizers are not the model's."""
        from attention_zoo.export.quality_gate import QualityGate
        from attention_zoo.training.bleu import corpus_bleu
        from attention_zoo.training.corpus_translation import check_vocabularies

        check_vocabularies(model, self.tokenizers)
        references = [entry.references for entry in self.entries]

        def bleu(tokens: list[list[int]]) -> float:
            return corpus_bleu([self.tokenizers.target.decode(one) for one in tokens], references)

        sources = self.tokenizers.source.encode_batch([entry.source for entry in self.entries])
        return QualityGate(sources, bleu, "BLEU", self.name, limit)


@dataclasses.dataclass(frozen=True)
class CopyGate:
    """Percent of symbols right at their position, on fresh sequences of the copy task."""

    n: int = _N

    def gate(self, model: Seq2Seq, limit: float) -> QualityGate:
        """Raises ValueError if the model's vocabulary is not one of the copy task."""
        import numpy as np

        from attention_zoo.commands.copy_evaluation import task_of
        from attention_zoo.export.quality_gate import QualityGate
        from attention_zoo.training.evaluation import compare_tokens

        longest = min(_LONGEST, max(1, model.config.max_length - 1))
        target = task_of(model).sample(self.n, 1, longest, _SEED)["target"]

        def token_accuracy(tokens: list[list[int]]) -> float:
            width = max(target.shape[1], *map(len, tokens))
            padded = np.zeros((len(tokens), width), np.int32)
            for row, one in zip(padded, tokens, strict=True):
                row[: len(one)] = one
            return 100.0 * compare_tokens(padded, target).token

        sources = [row[row != 0].tolist() for row in target]
        data = f"the copy task, lengths 1 to {longest}, seed {_SEED}"
        return QualityGate(sources, token_accuracy, "token accuracy", data, limit)
