"""Weights between the words of pairs: the same as of forced pieces, merged."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from attention_zoo.explain.forced_alignment import forced_alignments
from attention_zoo.explain.pair_alignment import align_pairs, encode_text, encode_words
from attention_zoo.explain.word_merging import merge_pieces, words_of

PAIRS = [
    ("Je suis là .", "I am here ."),
    ("", "Nobody ."),
    ("Il pleut beaucoup aujourd'hui .", "It rains a lot today ."),
    ("  ", ""),
    ("Bonjour !", "   "),
    ("Bonjour !", "Good morning !"),
]


@pytest.mark.parametrize("convention", ["current", "next"])
def test_weights_are_those_of_forced_pieces_merged(translation_model, tokenizers, convention):
    found = align_pairs(translation_model, tokenizers, PAIRS, convention=convention, batch_size=2)
    ids = [(tokenizers.source.encode(a), tokenizers.target.encode(b)) for a, b in PAIRS]
    # a row and a column of eos at least, so that blank sides can be forced too
    forced = forced_alignments(translation_model, *map(list, zip(*ids, strict=True)))
    for (read, written), pieces, weights in zip(ids, forced, found, strict=True):
        source = words_of(tokenizers.source.pieces(read[:-1]))
        target = words_of(tokenizers.target.pieces(written[:-1]))
        assert weights.shape == (len(target), len(source))
        rows = pieces[:-1] if convention == "current" else pieces[1:]
        np.testing.assert_allclose(weights, merge_pieces(rows, target, source), atol=1e-6)
        # what is missing to 1 was looked at the end of the source
        assert (weights.sum(1) < 1 + 1e-5).all()


def test_words_between_spaces_are_counted_whatever_they_are(translation_model, tokenizers):
    pairs = [("L'eau est froide \u200b !", "a\u00a0b water , cold"), ("x", "")]
    first, second = align_pairs(translation_model, tokenizers, pairs, split_on_spaces=True)
    assert first.shape == (len(pairs[0][1].split()), len(pairs[0][0].split()))
    assert second.shape == (0, 1)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(st.text(st.sampled_from("abcéœ.,!'猫"), min_size=1, max_size=7), max_size=5))
def test_words_encoded_one_by_one_are_the_text_encoded(tokenizers, words):
    text = " ".join(words)
    ((ids, spans),) = encode_words(tokenizers.source, [text])
    assert ids == tokenizers.source.encode(text)
    assert [span.text for span in spans] == text.split()
    covered = [place for span in spans for place in range(span.start, span.stop)]
    assert covered == list(range(len(ids) - 1))
    ((same, _),) = encode_text(tokenizers.source, [text])
    assert same == ids


def test_a_word_that_the_tokenizer_drops_keeps_its_place():
    tokenizer = SimpleNamespace(
        encode_batch=lambda texts: [[*([5] * len(text.strip("-"))), 2] for text in texts]
    )
    ((ids, spans),) = encode_words(tokenizer, ["a -- bcd"])
    assert ids == [5, 5, 5, 5, 2]
    assert [(span.start, span.stop) for span in spans] == [(0, 1), (1, 1), (1, 4)]
    assert encode_words(tokenizer, []) == []
    assert encode_words(tokenizer, [""]) == [([2], [])]
