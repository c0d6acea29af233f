"""A split without leaks."""

import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from attention_zoo.training import SentencePair
from attention_zoo.training.component_split import (
    Split,
    components,
    normalised,
    shared_sides,
    split_by_components,
)
from attention_zoo.training.sentence_pairs import read_tsv

TATOEBA = Path(__file__).resolve().parents[3] / "shared/data/tatoeba/fra-eng.tsv.gz"


def parts(split: Split):
    return [split.train, split.validation, split.test]


@pytest.mark.parametrize(
    "spelling",
    ["C’est où ?", "c'est où?", "C'EST  OÙ ?", "C'est ou\u0300\u202f?", " C'est\toù？ "],
)
def test_spellings_of_one_sentence(spelling):
    assert normalised(spelling) == "c'est où?"


@pytest.mark.parametrize("other", ["C'est où", "C'est où !", "C'est ou ?", "C'estoù ?"])
def test_other_sentences(other):
    assert normalised(other) != "c'est où?"


def test_components_follow_chains_over_both_sides():
    pairs = [
        SentencePair("a", "1"),
        SentencePair("b", "2"),
        SentencePair("c", "3"),
        SentencePair("B", "1"),  # joins the first two, by another spelling
        SentencePair("d", "4"),
        SentencePair("c", "5"),
        SentencePair("1", "d"),  # an equal sentence of the other language joins nothing
    ]
    assert components(pairs).tolist() == [0, 0, 1, 0, 2, 1, 3]


def components_by_flooding(pairs):
    """The same by the definition, step by step."""
    numbers = {}
    for first in range(len(pairs)):
        if first in numbers:
            continue
        number, waiting = len({*numbers.values()}), [first]
        while waiting:
            here = waiting.pop()
            if here in numbers:
                continue
            numbers[here] = number
            waiting += [
                other
                for other, pair in enumerate(pairs)
                if pair.source == pairs[here].source or pair.target == pairs[here].target
            ]
    return [numbers[place] for place in range(len(pairs))]


letters = st.sampled_from("abcdefgh")
some_pairs = st.lists(st.builds(SentencePair, letters, letters), min_size=1, max_size=23)


@given(some_pairs)
def test_components_are_those_of_the_definition(pairs):
    assert components(pairs).tolist() == components_by_flooding(pairs)


@given(some_pairs)
def test_components_do_not_depend_on_the_direction(pairs):
    swapped = [SentencePair(pair.target, pair.source) for pair in pairs]
    np.testing.assert_array_equal(components(pairs), components(swapped))


@given(st.lists(st.builds(SentencePair, st.text("aB’' ?"), st.text("cD. ")), min_size=9))
def test_no_split_shares_a_sentence(pairs):
    assume(components(pairs).max() >= 4)
    split = split_by_components(pairs, 3, 2, 2)
    for a in range(3):
        for b in range(a):
            for side in ("source", "target"):
                one, two = (
                    {normalised(getattr(pair, side)) for pair in parts(split)[part]}
                    for part in (a, b)
                )
                assert not one & two


def test_our_pairs_are_split_without_a_leak(pairs):
    split = split_by_components(pairs, 0, 20, 30)
    assert shared_sides(parts(split)) == 0
    assert (len(split.validation), len(split.test)) == (20, 30)
    assert sorted(map(str, split.train + split.validation + split.test)) == sorted(map(str, pairs))
    place = {pair: number for number, pair in enumerate(pairs)}
    for part in parts(split):
        assert [place[pair] for pair in part] == sorted(place[pair] for pair in part)


def test_a_random_split_of_the_same_pairs_leaks(pairs):
    """What `shared_sides` counts is there where nobody looks after it."""
    order = np.random.default_rng(0).permutation(len(pairs))
    shuffled = [pairs[number] for number in order]
    assert shared_sides([shuffled[50:], shuffled[20:50], shuffled[:20]]) >= 10


def test_shared_sides_counts_each_sentence_once():
    one = [SentencePair("a", "1"), SentencePair("b", "2")]
    two = [SentencePair("A", "3"), SentencePair("a", "2")]
    assert shared_sides([one, two]) == 2
    assert shared_sides([one, two, two]) == 3
    assert shared_sides([one, [SentencePair("1", "a")]]) == 0


def test_the_seed_decides(pairs):
    first, same, other = (split_by_components(pairs, seed, 20, 30) for seed in (5, 5, 6))
    assert first == same
    assert first.test != other.test


def test_the_other_direction_is_split_the_same_way(pairs):
    swapped = [SentencePair(pair.target, pair.source) for pair in pairs]
    split, other = (split_by_components(given, 0, 20, 30) for given in (pairs, swapped))
    for part, same in zip(parts(split), parts(other), strict=True):
        assert part == [SentencePair(pair.target, pair.source) for pair in same]


def test_a_component_that_is_too_large_stays_in_training():
    pairs = [SentencePair("same", str(n)) for n in range(9)]
    pairs += [SentencePair(str(n), f"alone {n}") for n in range(9)]
    for seed in range(7):
        split = split_by_components(pairs, seed, 4, 4)
        assert [len(part) for part in parts(split)] == [10, 4, 4]
        assert split.train[:9] == pairs[:9]


def test_parts_may_be_empty_but_not_training(pairs):
    split = split_by_components(pairs, 0, 0, 0)
    assert [len(part) for part in parts(split)] == [len(pairs), 0, 0]
    with pytest.raises(ValueError, match=rf"n_validation \+ n_test = 4000, got {len(pairs)},"):
        split_by_components(pairs)


@pytest.mark.parametrize("numbers", [(-1, 2, 3), (1, -2, 3), (1, 2, -3)])
def test_negative_numbers_are_an_error(pairs, numbers):
    with pytest.raises(ValueError, match="must not be negative, got"):
        split_by_components(pairs, *numbers)


def test_tatoeba_is_split_without_a_leak():
    if not TATOEBA.exists():
        pytest.skip(f"needs the Tatoeba pairs, {TATOEBA.name}, in a folder beside the checkout")
    with gzip.open(TATOEBA) as file:
        lines = sum(1 for _ in file)
    pairs = read_tsv(TATOEBA).pairs
    split = split_by_components(pairs)
    assert shared_sides(parts(split)) == 0
    assert [len(part) for part in parts(split)] == [lines - 4000, 2000, 2000]
