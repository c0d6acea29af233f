"""Words from pieces: what spells what, and that no weight is lost."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attention_zoo.explain.word_merging import Word, merge_pieces, words_of


def texts(pieces):
    return [word.text for word in words_of(pieces)]


@pytest.mark.parametrize(
    ("pieces", "words"),
    [
        (["▁Je", "▁suis", "▁fatig", "u", "é", ".", "</s>"], ["Je", "suis", "fatigué.", "</s>"]),
        (["a", "b", "▁c"], ["ab", "c"]),
        (["▁", "猫", "が", "すき", "。", "</s>"], ["猫", "が", "すき", "。", "</s>"]),
        (["▁我", "▁a", "b", "我", "c"], ["我", "ab", "我", "c"]),
        # a vowel sign that is a piece of its own stays with its letter
        (["▁กา", "ก", "\u0e31", "น"], ["กา", "ก\u0e31", "น"]),
        (["▁c", "<0xC5>", "<0x93>", "ur"], ["cœur"]),
        (["▁", "<0xE7>", "<0x8C>", "<0xAB>", "<0xE7>", "<0x8C>", "<0xAB>"], ["猫", "猫"]),
        (["▁a", "<0xFF>", "b"], ["a\ufffdb"]),
        (["▁a", "▁", "▁", "</s>"], ["a", "▁", "▁", "</s>"]),
        (["</s>", "a", "</s>"], ["</s>", "a", "</s>"]),
        ([], []),
    ],
)
def test_words(pieces, words):
    assert texts(pieces) == words


PIECES = st.lists(
    st.sampled_from(
        ["▁", "▁a", "b", "猫", "</s>", "<0xE7>", "<0x8C>", "<0xAB>", "<0xFF>", "é", "ก"]
    ),
    max_size=13,
)


@given(PIECES)
def test_every_piece_belongs_to_one_word(pieces):
    words = words_of(pieces)
    covered = [place for word in words for place in range(word.start, word.stop)]
    assert covered == list(range(len(pieces)))
    assert all(word.text and word.start < word.stop for word in words)


@given(PIECES, PIECES, st.integers(0, 2**32 - 1))
def test_rows_keep_their_sums(target, source, seed):
    weights = np.random.default_rng(seed).random((len(target), len(source)))
    target_words = words_of(target)
    merged = merge_pieces(weights, target_words, words_of(source))
    means = [weights[word.start : word.stop].sum(1).mean() for word in target_words]
    np.testing.assert_allclose(merged.sum(1), means, rtol=1e-5)


def test_weights_are_added_over_the_source_and_averaged_over_the_target():
    weights = np.arange(1.0, 36.0).reshape(5, 7) / 100
    target = [Word("a", 0, 3), Word("b", 3, 5)]
    source = [Word("x", 0, 2), Word("y", 2, 3), Word("z", 3, 7)]
    expected = np.zeros((2, 3))
    for t, word in enumerate(target):
        for i, other in enumerate(source):
            for p in range(word.start, word.stop):
                for q in range(other.start, other.stop):
                    expected[t, i] += weights[p, q] / (word.stop - word.start)
    np.testing.assert_allclose(merge_pieces(weights, target, source), expected, rtol=1e-6)


def test_a_word_without_pieces_has_no_weight_and_padding_is_left_out():
    weights = np.full((3, 5), 0.25)
    merged = merge_pieces(weights, [Word("a", 0, 1), Word("", 1, 1)], [Word("x", 0, 2)])
    np.testing.assert_array_equal(merged, [[0.5], [0.0]])
    assert merge_pieces(weights, [], []).shape == (0, 0)


@pytest.mark.parametrize("shape", [(1, 5), (3, 1), (3,), (2, 3, 5)])
def test_weights_smaller_than_the_words(shape):
    with pytest.raises(ValueError, match=r"at least \(2, 3\).*Fix"):
        merge_pieces(np.zeros(shape), [Word("a", 0, 2)], [Word("x", 0, 3)])
