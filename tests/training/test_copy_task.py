"""The copy task: what it draws, and that it draws it again."""

import itertools

import numpy as np
import pytest

from attention_zoo.training import CopyTask
from attention_zoo.vocabulary import EOS, FIRST_SYMBOL, PAD


def lengths_of(rows: np.ndarray) -> np.ndarray:
    return np.argmax(rows == EOS, axis=1)


def test_a_row_is_symbols_then_eos_then_padding():
    task = CopyTask(n_symbols=7)
    data = task.sample(101, 2, 11, seed=3)
    rows = data["source"]
    assert rows.shape == (101, 12)
    assert rows.dtype == np.int32
    np.testing.assert_array_equal(rows, data["target"])
    for row, length in zip(rows, lengths_of(rows), strict=True):
        assert all(FIRST_SYMBOL <= symbol < task.vocab_size for symbol in row[:length])
        assert row[length] == EOS
        assert all(row[length + 1 :] == PAD)
    assert set(lengths_of(rows)) == set(range(2, 12))
    assert set(rows[rows >= FIRST_SYMBOL]) == set(range(4, 11))


def test_same_seed_same_data_other_seed_other_data():
    draw = CopyTask(5, seed=1).sample(13, 3, 7, seed=2)["source"]
    np.testing.assert_array_equal(draw, CopyTask(5, seed=1).sample(13, 3, 7, seed=2)["source"])
    assert (draw != CopyTask(5, seed=1).sample(13, 3, 7, seed=3)["source"]).any()
    assert (draw != CopyTask(5, seed=2).sample(13, 3, 7, seed=2)["source"]).any()


def test_wider_rows_hold_padding():
    rows = CopyTask(5).sample(3, 2, 2, seed=0, width=11)["source"]
    assert rows.shape == (3, 11)
    assert (rows[:, 3:] == PAD).all()


def test_source_and_target_are_not_one_array():
    data = CopyTask(5).sample(3, 2, 2, seed=0)
    data["source"][:] = 9
    assert (data["target"][:, -1] == EOS).all()


def test_bands_decide_lengths_and_share():
    task = CopyTask(5)
    batches = task.batches(17, {7: 1.0, 3: 1.0, 13: 2.0}, seed=0, steps=101, min_length=2)
    rows = [batch["source"] for batch in batches]
    assert {batch.shape for batch in rows} == {(17, 14)}
    lengths = lengths_of(np.concatenate(rows))
    assert set(lengths) == set(range(2, 14))
    for low, high, share in ((2, 3, 0.25), (4, 7, 0.25), (8, 13, 0.5)):
        found = np.mean((low <= lengths) & (lengths <= high))
        assert abs(found - share) < 0.05
    assert abs(np.mean(lengths == 2) - 0.125) < 0.03


def test_long_and_short_stand_in_one_batch():
    for batch in CopyTask(5).batches(17, {3: 1.0, 13: 1.0}, seed=0, steps=11):
        lengths = lengths_of(batch["source"])
        assert lengths.min() <= 3 < lengths.max()


def test_a_stream_can_be_taken_up_anywhere():
    task = CopyTask(5)
    whole = list(task.batches(3, {5: 1.0, 2: 1.0}, seed=1, steps=11))
    rest = list(task.batches(3, {5: 1.0, 2: 1.0}, seed=1, steps=11, start=7))
    assert len(whole) == 11
    assert len(rest) == 4
    for one, other in zip(whole[7:], rest, strict=True):
        np.testing.assert_array_equal(one["source"], other["source"])


def test_batches_differ_from_each_other():
    batches = [b["source"] for b in CopyTask(5).batches(3, {7: 1.0}, seed=1, steps=5)]
    assert all((one != other).any() for one, other in itertools.combinations(batches, 2))


def test_dataset_is_the_stream():
    task = CopyTask(5)
    dataset = task.dataset(3, 1, 7, 1, 6, bands={2: 1.0, 7: 1.0}, start=1)
    stream = task.batches(3, {2: 1.0, 7: 1.0}, seed=1, steps=6, start=1)
    for element, batch in zip(dataset, stream, strict=True):
        assert set(element) == {"source", "target"}
        for name in element:
            np.testing.assert_array_equal(element[name], batch[name])


def test_dataset_without_bands_is_uniform():
    rows = np.concatenate([e["source"] for e in CopyTask(5).dataset(101, 2, 7, 0, 11)])
    assert rows.shape == (1111, 8)
    counts = np.bincount(lengths_of(rows), minlength=8)
    assert (counts[:2] == 0).all()
    assert (abs(counts[2:] - 1111 / 6) < 50).all()


def test_dataset_runs_again_from_its_start():
    dataset = CopyTask(5).dataset(3, 2, 7, 0, 2)
    first, again = (np.stack([e["source"] for e in dataset]) for _ in range(2))
    np.testing.assert_array_equal(first, again)


def test_vocabulary_and_chance():
    task = CopyTask(n_symbols=13)
    assert task.vocab_size == 17
    assert task.chance == 1 / 13


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: CopyTask(1), "n_symbols must be at least 2, got 1"),
        (lambda: CopyTask(5, seed=-1), "seed must not be negative, got -1"),
        (lambda: CopyTask(5).sample(3, 0, 2, 0), "min_length=0"),
        (lambda: CopyTask(5).sample(3, 4, 2, 0), "min_length=4, max_length=2"),
        (lambda: CopyTask(5).sample(3, 4, 7, -2), "seed must not be negative, got -2"),
        (lambda: CopyTask(5).sample(3, 4, 7, 0, width=7), "at least max_length [+] 1 = 8"),
        (lambda: next(CopyTask(5).batches(3, {}, 0, 1)), "bands must map"),
        (lambda: next(CopyTask(5).batches(3, {5: 0.0}, 0, 1)), "shares above 0"),
        (lambda: CopyTask(5).dataset(3, 1, 7, 0, 1, bands={5: 1.0}), "largest band must be"),
        (lambda: CopyTask(5).dataset(3, 6, 7, 0, 1, bands={5: 1, 7: 1}), "min_length=6"),
    ],
)
def test_mistakes_are_named_with_a_fix(call, message):
    with pytest.raises(ValueError, match=message + r"[\s\S]*Fix"):
        call()
