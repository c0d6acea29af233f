"""Links from weights, and how they are written."""

import numpy as np
import pytest

from attention_zoo.explain.word_links import (
    format_links,
    links_by_argmax,
    links_by_threshold,
    rows_for,
)

# rows: target words; the third looks nowhere
WEIGHTS = np.array([[0.1, 0.6, 0.3], [0.4, 0.2, 0.4], [0.0, 0.0, 0.0], [0.0, 0.0, 1.0]])


def test_argmax_links_source_to_target():
    assert links_by_argmax(WEIGHTS) == [(1, 0), (0, 1), (2, 3)]
    assert links_by_argmax(np.zeros((0, 3))) == []
    assert links_by_argmax(np.zeros((2, 0))) == []


def test_threshold_takes_what_is_at_least_as_large():
    assert sorted(links_by_threshold(WEIGHTS, 0.4)) == [(0, 1), (1, 0), (2, 1), (2, 3)]
    assert links_by_threshold(WEIGHTS, 1.0) == [(2, 3)]


@pytest.mark.parametrize("threshold", [0.0, -0.1, 1.1, float("nan")])
def test_wrong_thresholds(threshold):
    with pytest.raises(ValueError, match=r"expected above 0, at most 1. Fix"):
        links_by_threshold(WEIGHTS, threshold)


def test_format_sorts_by_source():
    assert format_links([(10, 0), (2, 5), (2, 3)]) == "2-3 2-5 10-0"
    assert format_links([]) == ""


def test_the_row_of_a_token_is_that_which_writes_it_or_the_next():
    rows = np.arange(5)[:, None] * np.ones((1, 3))
    np.testing.assert_array_equal(rows_for(rows)[:, 0], [0, 1, 2, 3])
    np.testing.assert_array_equal(rows_for(rows, "next")[:, 0], [1, 2, 3, 4])
    with pytest.raises(ValueError, match=r"'before'; expected one of current, next"):
        rows_for(rows, "before")
