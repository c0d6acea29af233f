"""Scores of given translations, with text that is ids in words."""

import math

import numpy as np
import pytest

from attention_zoo import create_model
from attention_zoo.training.scoring import PairScore, corpus_perplexity, score_pairs
from attention_zoo.training.sentence_pairs import SentencePair


@pytest.fixture(scope="module")
def model():
    return create_model(
        "luong_general_gru", vocab_source=17, vocab_target=19, d_emb=5, units=7, max_length=9
    )


PAIRS = [
    SentencePair("5 6 7", "8 9"),
    SentencePair("5 16 7 9 4 11 12", "18 9 4 4 5 6 7"),
    SentencePair("12", "4"),
    SentencePair("9 9", "10 11 12 13 14 15 16"),
    SentencePair("4 5", ""),
]


def by_formula(model, pair):
    """sum of log softmax at the target's tokens and eos, one pair at a time, without padding."""
    source, target = ([*map(int, text.split()), 2] for text in (pair.source, pair.target))
    logits = np.asarray(model({"source": np.array([source]), "target": np.array([target])}))[0]
    logits = logits.astype(np.float64)
    log_p = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    return sum(log_p[step, token] for step, token in enumerate(target))


def test_scores_are_those_of_the_formula_in_the_order_of_the_pairs(model, word_tokenizers):
    tokenizers = word_tokenizers(17, 19)
    found = score_pairs(model, tokenizers, PAIRS, batch_size=2)
    assert [score.tokens for score in found] == [3, 8, 2, 8, 1]
    for pair, score in zip(PAIRS, found, strict=True):
        assert score.log_probability == pytest.approx(by_formula(model, pair), abs=1e-5)
        assert score.log_probability < 0


def test_what_greedy_search_wrote_has_the_score_that_it_said(model, word_tokenizers):
    source = np.array([[5, 6, 7, 2], [9, 2, 0, 0]])
    answer = model.greedy(source)
    pairs, expected = [], []
    for row, text in ((0, "5 6 7"), (1, "9")):
        length = int(answer["lengths"][row])
        tokens = [int(token) for token in answer["tokens"][row, :length]]
        ended = tokens[-1] == 2
        pairs.append(SentencePair(text, " ".join(map(str, tokens[:-1] if ended else tokens))))
        expected.append((float(answer["scores"][row]), ended))
    for score, (value, ended) in zip(
        score_pairs(model, word_tokenizers(17, 19), pairs), expected, strict=True
    ):
        if ended:
            assert score.log_probability == pytest.approx(value, abs=1e-5)
        else:  # the eos that search did not get to costs something more
            assert score.log_probability < value


def test_perplexity():
    scores = [PairScore(math.log(1 / 8), 3), PairScore(math.log(1 / 2), 1)]
    assert [score.perplexity for score in scores] == pytest.approx([2, 2])
    assert corpus_perplexity([*scores, PairScore(math.log(1 / 256), 2)]) == pytest.approx(4)
    assert PairScore(-1e6, 1).perplexity == math.inf
    with pytest.raises(ValueError, match="at least one score"):
        corpus_perplexity([])


def test_progress_and_bad_arguments(model, word_tokenizers):
    told = []
    score_pairs(
        model,
        word_tokenizers(17, 19),
        PAIRS,
        batch_size=2,
        progress=lambda *done: told.append(done),
    )
    assert told == [(2, 5), (4, 5), (5, 5)]
    with pytest.raises(ValueError, match="batch_size must be at least 1, got 0"):
        score_pairs(model, word_tokenizers(17, 19), PAIRS, batch_size=0)
    with pytest.raises(ValueError, match=r"target tokenizer must have 19 pieces.*it has 17.*Fix"):
        score_pairs(model, word_tokenizers(17, 17), PAIRS)
