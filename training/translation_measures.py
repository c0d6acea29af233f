"""What a translation model is measured by, during its training and after it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from attention_zoo.training.bleu import TranslationScores, corpus_bleu, score_translations
from attention_zoo.training.corpus_translation import Beam, translate_corpus
from attention_zoo.training.translation_data import Referenced
from attention_zoo.training.translation_recipe import TranslationRecipe

if TYPE_CHECKING:
    from attention_zoo.seq2seq import Seq2Seq
    from attention_zoo.tokenizer import TokenizerPair

_N_EXAMPLES = 10


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


def examples_of(
    model: Seq2Seq,
    tokenizers: TokenizerPair,
    entries: Sequence[Referenced],
    recipe: TranslationRecipe,
    count: int = _N_EXAMPLES,
) -> list[dict[str, str]]:
    """Translations as they come, good and bad: sources spread evenly over a test set."""
    chosen = [entries[place * len(entries) // count] for place in range(min(count, len(entries)))]
    beam = Beam(recipe.beam_width, recipe.length_penalty)
    answers = translate_corpus(model, tokenizers, [entry.source for entry in chosen], beam=beam)
    return [
        {"source": entry.source, "output": answer, "reference": " / ".join(entry.references)}
        for entry, answer in zip(chosen, answers, strict=True)
    ]


def bleu_measure(
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
