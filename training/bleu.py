"""BLEU and chrF of translations, by sacrebleu, with the signatures that make them comparable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import zip_longest
from typing import Any

TOKENIZERS = ("13a", "none", "intl", "char", "zh")
"""How BLEU splits text into words: 13a for plain text, none for text that is tokenised already."""

BANDS: tuple[tuple[int, int | None], ...] = ((0, 5), (6, 8), (9, 11), (12, 15), (16, None))
"""First and last length of each band of sources, in words."""

LONG = 12
"""Sources of so many words and more are counted as long."""


@dataclass(frozen=True)
class TranslationScores:
    """How good translations are, on a scale from 0 to 100.

    Attributes:
        n: sentences.
        bleu: corpus BLEU, against all references of each sentence.
        bleu_signature: how it was computed, in sacrebleu's notation.
        chrf: chrF2, likewise.
        chrf_signature: how it was computed.
        by_length: the scores on sources of each band of lengths, by its name such as "6-8", and on
            long sources under "12+"; bands without a sentence are left out. Empty where no
            sources were given.
    """

    n: int
    bleu: float
    bleu_signature: str
    chrf: float
    chrf_signature: str
    by_length: Mapping[str, TranslationScores]

    def to_dict(self) -> dict[str, Any]:
        """As JSON, in the form that a manifest has; a band has no signatures of its own."""
        bands = {
            name: {"n": band.n, "bleu": round(band.bleu, 4), "chrf": round(band.chrf, 4)}
            for name, band in self.by_length.items()
        }
        rounded = {"bleu": round(self.bleu, 4), "chrf": round(self.chrf, 4)}
        return {**asdict(self), **rounded, "by_length": bands}


def score_translations(
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    sources: Sequence[str] | None = None,
    *,
    tokenize: str = "13a",
    lowercase: bool = False,
) -> TranslationScores:
    """Corpus BLEU and chrF, over all sentences and by the length of the source.

    Args:
        hypotheses: a translation each.
        references: the references of each, one or more; their number may differ.
        sources: what was translated; its words, separated by white space, are counted.
        tokenize: one of `TOKENIZERS`.
        lowercase: whether upper and lower case count as equal.

    Raises:
        ValueError: no sentences, lists of unequal length, a sentence without a reference, or an
            unknown `tokenize`.
    """
    _check(hypotheses, references, sources, tokenize)
    bands: dict[str, TranslationScores] = {}
    for name, first, last in _named_bands() if sources is not None else ():
        rows = [
            row
            for row, source in enumerate(sources or ())
            if first <= len(source.split()) and (last is None or len(source.split()) <= last)
        ]
        if rows:
            bands[name] = _score(
                [hypotheses[row] for row in rows],
                [references[row] for row in rows],
                tokenize,
                lowercase,
                {},
            )
    return _score(hypotheses, references, tokenize, lowercase, bands)


def corpus_bleu(
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    tokenize: str = "13a",
    lowercase: bool = False,
) -> float:
    """BLEU alone, for a look at it during training; arguments as for `score_translations`."""
    _check(hypotheses, references, None, tokenize)
    return _measure(_bleu(tokenize, lowercase), hypotheses, _streams(references))[0]


def band_names() -> list[str]:
    """The bands that do not overlap, shortest first."""
    return [name for name, _, _ in _named_bands()[: len(BANDS)]]


def _named_bands() -> list[tuple[str, int, int | None]]:
    named = [
        (f"{max(first, 1)}-{last}" if last is not None else f"{first}+", first, last)
        for first, last in BANDS
    ]
    return [*named, (f"{LONG}+", LONG, None)]


def _score(
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    tokenize: str,
    lowercase: bool,
    by_length: Mapping[str, TranslationScores],
) -> TranslationScores:
    from sacrebleu.metrics import CHRF

    streams = _streams(references)
    bleu = _measure(_bleu(tokenize, lowercase), hypotheses, streams)
    chrf = _measure(CHRF(lowercase=lowercase), hypotheses, streams)
    return TranslationScores(len(hypotheses), *bleu, *chrf, by_length)


def _bleu(tokenize: str, lowercase: bool) -> Any:
    from sacrebleu.metrics import BLEU

    # force: sacrebleu would warn about text that looks tokenised, which is what "none" is for
    return BLEU(tokenize=tokenize, lowercase=lowercase, force=True)


def _measure(
    metric: Any, hypotheses: Sequence[str], streams: list[list[str | None]]
) -> tuple[float, str]:
    value = float(metric.corpus_score(list(hypotheses), streams).score)
    return value, str(metric.get_signature())


def _streams(references: Sequence[Sequence[str]]) -> list[list[str | None]]:
    """sacrebleu's form: the first reference of every sentence, the second, ...; None: no such."""
    return [list(stream) for stream in zip_longest(*references)]


def _check(
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    sources: Sequence[str] | None,
    tokenize: str,
) -> None:
    counts = {"hypotheses": len(hypotheses), "references": len(references)}
    if sources is not None:
        counts["sources"] = len(sources)
    if len(set(counts.values())) > 1 or not hypotheses:
        told = ", ".join(f"{count} {name}" for name, count in counts.items())
        raise ValueError(
            f"BLEU: expected one entry a sentence in every list, and at least one sentence, got "
            f"{told}. Fix: pass lists of one length."
        )
    for row, found in enumerate(references):
        if isinstance(found, str) or not found:
            raise ValueError(
                f"BLEU: references[{row}] must be a list of at least one text, got {found!r}. "
                "Fix: wrap a single reference in a list."
            )
    if tokenize not in TOKENIZERS:
        raise ValueError(
            f"BLEU: tokenize must be one of {', '.join(TOKENIZERS)}, got {tokenize!r}. "
            "Fix: 13a for plain text, none for text that is tokenised already."
        )
