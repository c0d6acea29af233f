"""Texts as ids in one array."""

import numpy as np
import pytest

from attention_zoo.training.encoded_texts import EncodedTexts, ranges

ROWS = [[5, 6, 2], [2], [7, 8, 9, 10, 2]]


@pytest.fixture
def texts():
    return EncodedTexts.of_rows(ROWS)


def test_rows_come_back(texts):
    assert len(texts) == 3
    assert [texts.row(number).tolist() for number in range(3)] == ROWS
    assert texts.lengths.tolist() == [3, 1, 5]


def test_padding_stands_behind(texts):
    padded = texts.padded(np.array([2, 1, 2]), 6)
    assert padded.dtype == np.int32
    assert padded.tolist() == [[7, 8, 9, 10, 2, 0], [2, 0, 0, 0, 0, 0], [7, 8, 9, 10, 2, 0]]


def test_some_of_them_in_another_order(texts):
    some = texts.selected(np.array([2, 0]))
    assert [some.row(number).tolist() for number in range(2)] == [ROWS[2], ROWS[0]]
    assert some.padded(np.array([1]), 3).tolist() == [ROWS[0]]


def test_long_ones_are_replaced(texts):
    shorter = EncodedTexts.of_rows([[3, 2], [4, 2], [6, 2]])
    mixed = texts.no_longer_than(3, shorter)
    assert [mixed.row(number).tolist() for number in range(3)] == [[5, 6, 2], [2], [6, 2]]


def test_ranges_are_end_to_end():
    starts, lengths = np.array([7, 0, 4]), np.array([2, 0, 3])
    assert ranges(starts, lengths).tolist() == [7, 8, 4, 5, 6]
