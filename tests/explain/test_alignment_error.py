"""Alignment error rate: worked examples, the definition, and what must hold for any links."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attention_zoo.explain.alignment_error import (
    THRESHOLDS,
    AlignmentError,
    alignment_error,
    best_threshold,
    diagonal_links,
    links_by_other_half,
    random_links,
)
from attention_zoo.explain.gold_links import GoldLinks
from attention_zoo.explain.word_links import links_by_threshold

LINKS = st.frozensets(st.tuples(st.integers(0, 4), st.integers(0, 6)), max_size=11)


def gold(sure, possible=()):
    return GoldLinks(frozenset(sure), frozenset([*sure, *possible]))


def test_a_worked_example():
    """|A| = 4, |S| = 3, |A n S| = 1, |A n P| = 3 over two pairs."""
    links = [[(0, 0), (1, 1)], [(2, 3), (3, 2)]]
    people = [gold([(0, 0), (2, 2)], [(1, 1)]), gold([(5, 5)], [(2, 3)])]
    error = alignment_error(links, people)
    assert error == AlignmentError(found=4, sure=3, found_sure=1, found_possible=3)
    assert error.precision == pytest.approx(75.0)
    assert error.recall == pytest.approx(100 / 3)
    assert error.aer == pytest.approx(100 * (1 - 4 / 7))
    assert error.to_dict() == {"precision": 75.0, "recall": 33.33, "aer": 42.86, "links": 4}


@given(st.lists(st.tuples(LINKS, LINKS, LINKS), min_size=1, max_size=5))
def test_the_definition_on_any_links(rows):
    found = [row[0] for row in rows]
    people = [gold(row[1], row[2]) for row in rows]
    error = alignment_error(found, people)
    a, s = (sum(map(len, it)) for it in (found, [row.sure for row in people]))
    if a + s:
        both = sum(
            len(x & y.sure) + len(x & y.possible) for x, y in zip(found, people, strict=True)
        )
        assert error.aer == pytest.approx(100 * (1 - both / (a + s)))
    assert 0.0 <= error.aer <= 100.0
    assert 0.0 <= error.precision <= 100.0
    assert 0.0 <= error.recall <= 100.0


@given(LINKS.filter(bool), LINKS)
def test_the_sure_links_with_any_of_the_possible_have_no_error(sure, possible):
    people = [gold(sure, possible)]
    for links in (sure, sure | possible):
        error = alignment_error([links], people)
        assert (error.aer, error.precision, error.recall) == (0.0, 100.0, 100.0)


def test_links_count_once_and_pairs_must_be_as_many():
    assert alignment_error([[(0, 0), (0, 0)]], [gold([(0, 0)])]).found == 1
    assert alignment_error([], []).aer == 0.0
    with pytest.raises(ValueError, match=r"each of the 2 pairs, got 1.*Fix"):
        alignment_error([[]], [gold([]), gold([])])


def test_the_best_threshold_is_that_of_the_lowest_error():
    generator = np.random.default_rng(0)
    weights = [generator.dirichlet(np.ones(7), 5) for _ in range(11)]
    people = [gold(links_by_threshold(row, 0.35)) for row in weights]
    assert best_threshold(weights, people) == 0.35
    errors = [
        alignment_error([links_by_threshold(row, it) for row in weights], people).aer
        for it in THRESHOLDS
    ]
    assert min(errors) == 0.0


def test_a_pair_has_no_say_in_its_own_threshold():
    """Even pairs are perfect at 0.3, odd ones at 0.6; each half gets the threshold of the other."""
    generator = np.random.default_rng(1)
    weights = [generator.dirichlet(np.ones(7) / 2, 5) for _ in range(12)]
    people = [
        gold(links_by_threshold(row, 0.6 if place % 2 else 0.3))
        for place, row in enumerate(weights)
    ]
    links, thresholds = links_by_other_half(weights, people)
    assert thresholds == (0.6, 0.3)
    for place, row in enumerate(weights):
        assert links[place] == links_by_threshold(row, thresholds[place % 2])


def test_links_that_know_no_words():
    assert diagonal_links(5, 5) == [(n, n) for n in range(5)]
    assert diagonal_links(2, 6) == [(0, 0), (0, 1), (0, 2), (1, 3), (1, 4), (1, 5)]
    assert diagonal_links(7, 2) == [(1, 0), (5, 1)]
    assert diagonal_links(0, 3) == []
    generator = np.random.default_rng(2)
    drawn = random_links(3, 700, generator)
    assert [target for _, target in drawn] == list(range(700))
    assert {source for source, _ in drawn} == {0, 1, 2}
    assert random_links(0, 3, generator) == []
