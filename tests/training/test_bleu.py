"""BLEU and chrF against their formulas, written out anew."""

import itertools
import json
from collections import Counter

import numpy as np
import pytest

from attention_zoo.training.bleu import band_names, corpus_bleu, score_translations

HYPOTHESES = [
    "the cat sat on the mat today",
    "a dog runs in the big park",
    "she is reading an old book now",
]
REFERENCES = [
    ["the cat sat on a mat today", "today the cat sat on the mat there"],
    ["a dog is running in the park"],
    ["she reads an old book", "she is reading an old book", "she was reading now"],
]
SOURCES = ["w " * 5, "w " * 6, "w " * 13]


def ngrams(words, n):
    return Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1))


def bleu_by_formula(hypotheses, references):
    """Papineni et al. 2002: clipped precisions to 4, brevity penalty by the closest reference."""
    hits, totals = np.zeros(4), np.zeros(4)
    length, wanted = 0, 0
    for hypothesis, found in zip(hypotheses, references, strict=True):
        words, others = hypothesis.split(), [text.split() for text in found]
        length += len(words)
        wanted += min((abs(len(o) - len(words)), len(o)) for o in others)[1]
        for n in range(1, 5):
            most = Counter()
            for other in others:
                most |= ngrams(other, n)
            own = ngrams(words, n)
            hits[n - 1] += sum((own & most).values())
            totals[n - 1] += sum(own.values())
    brevity = min(1.0, np.exp(1 - wanted / length))
    return 100 * brevity * np.exp(np.log(hits / totals).mean())


def chrf_by_formula(hypotheses, references):
    """Popović 2015: mean precision and recall of character n-grams to 6, F with beta 2."""

    def counts(hypothesis, reference):
        rows = []
        for n in range(1, 7):
            own, other = (ngrams(text.replace(" ", ""), n) for text in (hypothesis, reference))
            rows.append((sum((own & other).values()), own.total(), other.total()))
        return np.array(rows, float)

    def f_score(rows):
        rows = rows[(rows[:, 1] > 0) & (rows[:, 2] > 0)]
        precision, recall = (rows[:, 0] / rows[:, 1]).mean(), (rows[:, 0] / rows[:, 2]).mean()
        return 100 * 5 * precision * recall / (4 * precision + recall)

    best = [
        max((counts(hypothesis, text) for text in found), key=f_score)
        for hypothesis, found in zip(hypotheses, references, strict=True)
    ]
    return f_score(np.sum(best, axis=0))


def test_bleu_and_chrf_are_those_of_the_formula_with_a_different_number_of_references():
    scores = score_translations(HYPOTHESES, REFERENCES, tokenize="none")
    assert scores.bleu == pytest.approx(bleu_by_formula(HYPOTHESES, REFERENCES), abs=1e-6)
    assert scores.chrf == pytest.approx(chrf_by_formula(HYPOTHESES, REFERENCES), abs=1e-6)
    assert 20 < scores.bleu < 90
    assert scores.n == 3
    assert corpus_bleu(HYPOTHESES, REFERENCES, tokenize="none") == scores.bleu


def test_every_reference_counts_wherever_it_stands():
    expected = score_translations(HYPOTHESES, REFERENCES)
    fewer = score_translations(HYPOTHESES, [found[:1] for found in REFERENCES])
    assert fewer.bleu < expected.bleu
    for order in itertools.permutations(REFERENCES[2]):
        turned = score_translations(HYPOTHESES, [*REFERENCES[:2], list(order)])
        assert (turned.bleu, turned.chrf) == (expected.bleu, expected.chrf)


def test_the_brevity_penalty():
    short, found = ["the cat sat on"], [["the cat sat on the mat"]]
    assert corpus_bleu(short, found) == pytest.approx(100 * np.exp(1 - 6 / 4))


def test_signatures_say_how_it_was_computed():
    scores = score_translations(HYPOTHESES, REFERENCES)
    assert scores.bleu_signature.startswith(
        "nrefs:var|case:mixed|eff:no|tok:13a|smooth:exp|version"
    )
    assert scores.chrf_signature.startswith("nrefs:var|case:mixed|eff:yes|nc:6|nw:0|space:no|")
    lower = score_translations(
        HYPOTHESES, [found[:1] for found in REFERENCES], tokenize="none", lowercase=True
    )
    assert lower.bleu_signature.startswith("nrefs:1|case:lc|eff:no|tok:none|")
    assert "case:lc" in lower.chrf_signature


def test_lowercase_and_tokenisation_change_what_counts_as_equal():
    hypotheses, references = ["The cat sat down, then left."], [["the cat sat down , then left ."]]
    split = corpus_bleu(hypotheses, references, lowercase=True)
    assert split == pytest.approx(100)
    assert corpus_bleu(hypotheses, references) < split
    assert corpus_bleu(hypotheses, references, tokenize="none", lowercase=True) < split


def test_bands_hold_the_sentences_of_their_length():
    scores = score_translations(HYPOTHESES, REFERENCES, SOURCES)
    assert {name: band.n for name, band in scores.by_length.items()} == {
        "1-5": 1,
        "6-8": 1,
        "12-15": 1,
        "12+": 1,
    }
    for name, row in (("1-5", 0), ("6-8", 1), ("12-15", 2), ("12+", 2)):
        alone = score_translations([HYPOTHESES[row]], [REFERENCES[row]])
        assert scores.by_length[name].bleu == alone.bleu
        assert scores.by_length[name].chrf == alone.chrf


@pytest.mark.parametrize(
    ("words", "expected"),
    [(0, "1-5"), (5, "1-5"), (8, "6-8"), (9, "9-11"), (11, "9-11"), (15, "12-15"), (16, "16+")],
)
def test_every_length_is_in_one_band(words, expected):
    found = score_translations(["a b"], [["a b"]], ["w\t" * words]).by_length
    assert [name for name in found if name in band_names()] == [expected]
    assert ("12+" in found) == (words >= 12)


def test_the_dictionary_is_json_in_the_form_of_a_manifest():
    content = score_translations(HYPOTHESES, REFERENCES, SOURCES).to_dict()
    assert json.loads(json.dumps(content)) == content
    assert set(content) == {"n", "bleu", "bleu_signature", "chrf", "chrf_signature", "by_length"}
    assert content["bleu"] == pytest.approx(corpus_bleu(HYPOTHESES, REFERENCES), abs=1e-4)
    assert set(content["by_length"]["12+"]) == {"n", "bleu", "chrf"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([], []), "at least one sentence, got 0 hypotheses, 0 references"),
        ((["a"], [["a"], ["b"]]), "got 1 hypotheses, 2 references"),
        ((["a"], [["a"]], ["a", "b"]), "2 sources"),
        ((["a"], ["a"]), r"references\[0\] must be a list of at least one text, got 'a'"),
        ((["a", "b"], [["a"], []]), r"references\[1\] must be a list"),
    ],
)
def test_lists_that_do_not_fit(arguments, message):
    with pytest.raises(ValueError, match=message):
        score_translations(*arguments)


def test_an_unknown_tokenisation():
    with pytest.raises(ValueError, match=r"one of 13a, none, .*got 'moses'.*Fix"):
        score_translations(["a"], [["a"]], tokenize="moses")
