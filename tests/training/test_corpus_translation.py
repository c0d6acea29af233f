"""Translating many texts, with models whose answers are known and text that is ids in words."""

from types import SimpleNamespace

import numpy as np
import pytest

from attention_zoo import create_model
from attention_zoo.training.corpus_translation import Beam, translate_corpus


class Reverser:
    """Answers a source with its ids in reverse; keeps the shapes it was given."""

    name = "reverser"
    config = SimpleNamespace(vocab_source=50, vocab_target=50)

    def __init__(self):
        self.shapes, self.beams = [], []

    def greedy(self, source):
        self.shapes.append(source.shape)
        tokens = np.zeros((len(source), source.shape[1] + 3), np.int32)
        for row, ids in enumerate(source):
            real = [number for number in ids if number > 2][::-1]
            tokens[row, : len(real) + 1] = [*real, 2]
        return {"tokens": tokens}

    def beam_search(self, source, beam_width, length_penalty, n_best):
        self.beams.append((beam_width, length_penalty, n_best))
        return {"tokens": self.greedy(source)["tokens"][:, None, :]}


TEXTS = ["5 6 7", "11", "", "20 21 22 23 24 25 26 27", " \t ", "8 9", "31 32 33 34 35"]
REVERSED = ["7 6 5", "11", "", "27 26 25 24 23 22 21 20", "", "9 8", "35 34 33 32 31"]


@pytest.mark.parametrize("batch_size", [1, 2, 3, 100])
def test_answers_come_in_the_order_of_the_texts(word_tokenizers, batch_size):
    tokenizers = word_tokenizers(50, 50)
    found = translate_corpus(Reverser(), tokenizers, TEXTS, batch_size=batch_size)
    assert found == REVERSED


def test_batches_are_of_like_length_and_few_widths(word_tokenizers):
    model = Reverser()
    translate_corpus(model, word_tokenizers(50, 50), TEXTS, batch_size=2)
    assert model.shapes == [(2, 12), (2, 4), (1, 4)]


def test_very_long_texts_come_in_smaller_batches(word_tokenizers):
    model = Reverser()
    texts = [" ".join(["7"] * 9999), *["5 6"] * 3]
    found = translate_corpus(model, word_tokenizers(50, 50), texts, beam=Beam(2))
    assert model.shapes == [(1, 10000), (3, 4)]
    assert found == [texts[0], *["6 5"] * 3]


def test_beam_search_is_asked_for_its_best_answer(word_tokenizers):
    model = Reverser()
    found = translate_corpus(model, word_tokenizers(50, 50), TEXTS, beam=Beam(5, 0.7))
    assert found == REVERSED
    assert set(model.beams) == {(5, 0.7, 1)}


def test_progress_ends_at_the_number_of_texts(word_tokenizers):
    told = []
    translate_corpus(
        Reverser(),
        word_tokenizers(50, 50),
        TEXTS,
        batch_size=2,
        progress=lambda *done: told.append(done),
    )
    assert told == [(4, 7), (6, 7), (7, 7)]


def test_nothing_to_translate(word_tokenizers):
    model = Reverser()
    assert translate_corpus(model, word_tokenizers(50, 50), []) == []
    assert translate_corpus(model, word_tokenizers(50, 50), ["", " "]) == ["", ""]
    assert model.shapes == []


def test_a_model_of_the_zoo_answers_alone_as_in_a_batch(word_tokenizers):
    tokenizers = word_tokenizers(50, 50)
    model = create_model(
        "bahdanau_gru", vocab_source=50, vocab_target=50, d_emb=5, units=7, max_length=9
    )
    for beam in (None, Beam(3)):
        together = translate_corpus(model, tokenizers, TEXTS, beam=beam)
        alone = [translate_corpus(model, tokenizers, [text], beam=beam)[0] for text in TEXTS]
        assert together == alone
        assert len(set(together)) > 2


def test_tokenizers_of_another_model(word_tokenizers):
    with pytest.raises(ValueError, match=r"source tokenizer must have 50 pieces.*it has 49.*Fix"):
        translate_corpus(Reverser(), word_tokenizers(49, 50), ["5"])
    with pytest.raises(ValueError, match="batch_size must be at least 1, got 0"):
        translate_corpus(Reverser(), word_tokenizers(50, 50), ["5"], batch_size=0)
