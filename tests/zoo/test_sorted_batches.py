"""Batches of like length."""

import numpy as np

from attention_zoo.sorted_batches import padded, sorted_batches


def test_longest_first_and_each_once():
    lengths = [3, 11, 5, 11, 2, 7, 13]
    batches = list(sorted_batches(lengths, 3))
    assert batches == [[6, 1, 3], [5, 2, 0], [4]]


def test_long_sequences_come_in_smaller_batches():
    batches = list(sorted_batches([100, 30, 20, 10, 2, 2], 3, max_positions=60))
    assert batches == [[0], [1, 2], [3, 4, 5]]


def test_nothing_gives_no_batch():
    assert list(sorted_batches([], 3)) == []


def test_padding_to_few_widths():
    found = padded([[5, 2], [7, 8, 9, 6, 2]])
    assert found.dtype == np.int32
    assert found.tolist() == [[5, 2, 0, 0, 0, 0, 0, 0], [7, 8, 9, 6, 2, 0, 0, 0]]
    assert padded([[4, 5, 6, 2]]).shape == (1, 4)
