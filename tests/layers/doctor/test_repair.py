"""Rearrangements: what they offer, and what they do not."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attention_zoo.layers.repair import fits, repairs, turns


def offered(array, expected):
    return list(repairs("x", array, expected))


@given(data=st.data())
@settings(max_examples=100, deadline=None)
def test_each_repair_has_the_shape_asked_for_keeps_the_numbers_and_is_its_line(mend, data):
    shape = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=4), label="shape")
    unknown = st.one_of(st.none(), st.integers(1, 4))
    expected = tuple(data.draw(st.lists(unknown, min_size=1, max_size=4), label="expected"))
    array = np.arange(np.prod(shape)).reshape(shape)
    for repair in offered(array, expected):
        assert fits(repair.array.shape, expected)
        assert set(repair.array.flat) == set(array.flat)
        np.testing.assert_array_equal(mend([repair.code], {"x": array})["x"], repair.array)


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ((1, 5), (3, 5)),  # nothing broadcasts
        ((5,), (3, 5)),
        ((3, 5, 1), (3, 5, 7)),
        ((3, 5), (3, 7)),
        ((5, 6), (3, 10)),  # a reshape across the rows
        ((6, 5), (3, 10, 1)),
        ((4, 6), (2, 12)),
    ],
)
def test_nothing_is_offered_that_would_broadcast_or_scramble(shape, expected):
    assert offered(np.arange(np.prod(shape)).reshape(shape), expected) == []


def test_a_join_of_neighbouring_axes_is_taken_apart():
    array = np.arange(30).reshape(6, 5)
    kinds = {repair.kind: repair for repair in offered(array, (2, 3, 5))}
    assert list(kinds) == ["reshape"]
    np.testing.assert_array_equal(kinds["reshape"].array, array.reshape(2, 3, 5))


def test_only_numbers_that_repeat_are_a_tile():
    once = np.arange(5.0)
    assert [r.kind for r in offered(np.stack([once] * 3), (5,))] == ["drop_tile"]
    assert offered(np.stack([once, once, once + 1]), (5,)) == []
    # an array of one number shows nothing, unless it is a mask
    assert offered(np.ones((3, 5)), (5,)) == []
    assert [r.kind for r in repairs("mask", np.ones((3, 5)), (5,))] == ["drop_tile"]
    for tiled, part in ((np.tile(once, 2), "x[:5]"), (np.repeat(once, 2), "x[::2]")):
        (repair,) = offered(tiled, (5,))
        np.testing.assert_array_equal(repair.array, once)
        assert part in repair.code


def test_a_squeeze_may_need_a_transposition_and_costs_more():
    (repair,) = offered(np.zeros((5, 1, 3)) + np.arange(3), (3, 5))
    assert (repair.kind, repair.cost) == ("squeeze + transpose", 2)


def test_turns_keep_the_shape():
    assert list(turns("x", np.zeros((3, 5)))) == []
    assert [turn.code for turn in turns("x", np.zeros((5, 5)))] == ["x = x.T"]
    assert len(list(turns("x", np.zeros((5, 5, 5))))) == 5
