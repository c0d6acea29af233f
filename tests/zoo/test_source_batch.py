"""`source_batch`: what a caller may hand in as source, and what is said of the rest."""

import collections

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attention_zoo.source_batch import source_batch

VOCAB = 23
DTYPES = ["i1", "u1", ">i2", "<u2", "<i4", ">i4", "u4", "<i8", ">i8", "u8"]
RECTANGLE = [[5, 0, 22], [1, 7, 2]]


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_of_integers(dtype):
    batch = source_batch(np.array(RECTANGLE, dtype), VOCAB, "a model")
    np.testing.assert_array_equal(batch, RECTANGLE)
    assert batch.dtype == np.int32
    assert batch.flags.c_contiguous


@pytest.mark.parametrize("dtype", DTYPES)
def test_an_id_beyond_the_vocabulary_of_every_dtype(dtype):
    ids = np.array(RECTANGLE, dtype)
    ids[1, 2] = VOCAB
    expected = rf"a model: source has id {VOCAB} in row 1 at position 2; expected ids from 0 to 22"
    with pytest.raises(ValueError, match=expected):
        source_batch(ids, VOCAB, "a model")


@pytest.mark.parametrize("dtype", [one for one in DTYPES if "i" in one])
def test_a_negative_id_of_every_dtype(dtype):
    ids = np.array(RECTANGLE, dtype)
    ids[0, 1] = -1
    with pytest.raises(ValueError, match="source has id -1 in row 0 at position 1"):
        source_batch(ids, None, "a model")


@pytest.mark.parametrize("bad", [2**31, 2**32 + 5, 2**63 - 1, 2**64 - 1, -(2**31), -(2**63)])
@pytest.mark.parametrize("as_list", [True, False])
def test_an_id_that_does_not_fit_32_bits_is_not_cut_to_them(bad, as_list):
    dtype = np.uint64 if bad >= 2**63 else np.int64
    source = [[5, 2], [7, bad, 2]] if as_list else np.array([[5, 2, 0], [7, bad, 2]], dtype)
    with pytest.raises(ValueError, match=rf"source has id {bad} in row 1[ ,]"):
        source_batch(source, None, "a model")


@given(st.lists(st.lists(st.integers(0, VOCAB - 1)), min_size=1).filter(any))
def test_rows_of_any_lengths_are_padded_to_the_longest(rows):
    batch = source_batch(rows, VOCAB, "a model")
    longest = max(map(len, rows))
    assert batch.tolist() == [row + [0] * (longest - len(row)) for row in rows]
    np.testing.assert_array_equal(source_batch(batch, VOCAB, "a model"), batch)


def test_a_view_is_laid_out_anew_and_a_whole_array_is_not_copied():
    whole = np.arange(20, dtype=np.int32).reshape(4, 5)
    for view in (whole.T, whole[::2], whole[:, 1:3]):
        batch = source_batch(view, VOCAB, "a model")
        np.testing.assert_array_equal(batch, view)
        assert batch.flags.c_contiguous
    assert source_batch(whole, VOCAB, "a model") is whole


@pytest.mark.parametrize("vocab_source", [None, 2**40])
@pytest.mark.parametrize("source", [[[2**32 + 7, 2]], np.array([[2**32 + 7, 2]])])
def test_no_vocabulary_is_larger_than_int32(source, vocab_source):
    with pytest.raises(ValueError, match=f"source has id {2**32 + 7} in row 0 at position 0"):
        source_batch(source, vocab_source, "a model")


def test_the_fault_is_named_not_another():
    with pytest.raises(ValueError, match=r"source is a deque of rows of different lengths"):
        source_batch(collections.deque([[7, 4], [5]]), VOCAB, "a model")
    with pytest.raises(ValueError, match="source has dtype object; expected integers"):
        source_batch(np.array([[1, 2]], object), VOCAB, "a model")
    with pytest.raises(ValueError, match="at least one row of source"):
        source_batch(np.zeros((0, 3), np.int32), VOCAB, "a model")
    with pytest.raises(ValueError, match="at least one step of source"):
        source_batch([[]], VOCAB, "a model")


@pytest.mark.parametrize(
    "source",
    [
        [],
        [[]],
        [[], []],
        np.zeros((0, 3), np.int32),
        np.zeros((3, 0), np.int32),
        np.zeros(3, np.int32),
        np.zeros((1, 2, 3), np.int32),
        np.int32(5),
        [5, 2],
        [[[5, 2]]],
        [["5", "2"]],
        np.zeros((2, 3), np.float32),
        np.zeros((2, 3), bool),
        [[True, False]],
        None,
    ],
)
def test_what_is_no_batch_of_ids_is_refused_by_name(source):
    with pytest.raises(ValueError, match=r"a model: source .*expected"):
        source_batch(source, VOCAB, "a model")
