"""Batches of like length in an order that a resumed run takes up again."""

import time

import numpy as np
import pytest

from attention_zoo.training import SentenceBatches, SentencePair
from attention_zoo.vocabulary import EOS


@pytest.fixture(scope="module")
def batches(pairs, tokenizers):
    return SentenceBatches(pairs, tokenizers, 7, seed=3)


def rows(batch):
    """The pairs of a batch as tuples of ids without padding."""
    return [
        tuple(tuple(row[row > 0].tolist()) for row in sides)
        for sides in zip(batch["source"], batch["target"], strict=True)
    ]


@pytest.fixture(scope="module")
def encoded(pairs, tokenizers):
    return sorted(
        (tuple(tokenizers.source.encode(p.source)), tuple(tokenizers.target.encode(p.target)))
        for p in pairs
    )


def test_a_batch_is_full_padded_and_of_a_bucket(batches):
    for number in range(2 * batches.batches_per_epoch):
        batch = batches.batch(number)
        source, target = batch["source"], batch["target"]
        assert source.dtype == target.dtype == np.int32
        assert source.shape == target.shape == (7, source.shape[1])
        width = source.shape[1]
        assert width in batches.buckets
        for side in (source, target):
            lengths = (side != 0).sum(axis=1)
            for row, length in zip(side, lengths, strict=True):
                assert row[length - 1] == EOS
                assert not row[length:].any()


def test_an_epoch_holds_each_pair_once_but_for_less_than_a_batch(batches, encoded):
    n = batches.batches_per_epoch
    assert n == len(encoded) // 7
    left = len(encoded) - 7 * n
    for epoch in range(3):
        seen = [r for i in range(epoch * n, (epoch + 1) * n) for r in rows(batches.batch(i))]
        remaining = list(encoded)
        for pair in seen:
            remaining.remove(pair)  # ValueError if it is not there, or was there before
        assert len(remaining) == left


def test_like_lengths_stand_together(pairs, tokenizers):
    """Few batches are wider than their longest sentence needs: one a bucket, for the remainder."""
    batches = SentenceBatches(pairs, tokenizers, 7, seed=1)
    mixed = 0
    for number in range(batches.batches_per_epoch):
        batch = batches.batch(number)
        longest = np.maximum((batch["source"] > 0).sum(1), (batch["target"] > 0).sum(1))
        buckets = np.searchsorted(batches.buckets, longest)
        assert batches.buckets[buckets.max()] <= batch["source"].shape[1]
        mixed += buckets.min() != buckets.max() or (
            batches.buckets[buckets.max()] != batch["source"].shape[1]
        )
    assert mixed < len(batches.buckets)


def test_a_batch_depends_on_seed_and_number_alone(pairs, tokenizers, batches):
    n = batches.batches_per_epoch
    numbers = [2 * n + 1, 0, n - 1, n, 5]
    again = SentenceBatches(pairs, tokenizers, 7, seed=3)
    for number in numbers:
        for side in ("source", "target"):
            np.testing.assert_array_equal(again.batch(number)[side], batches.batch(number)[side])


def test_seeds_and_epochs_have_orders_of_their_own(pairs, tokenizers, batches):
    n = batches.batches_per_epoch
    other = SentenceBatches(pairs, tokenizers, 7, seed=4)
    orders = [
        [r for i in range(n) for r in rows(b.batch(first + i))]
        for b, first in ((batches, 0), (batches, n), (other, 0))
    ]
    assert orders[0] != orders[1]
    assert orders[0] != orders[2]
    widths = [batches.batch(i)["source"].shape[1] for i in range(n)]
    assert widths != sorted(widths)  # the lengths are shuffled as well


def test_the_dataset_is_the_batches_from_start_to_stop(batches):
    n = batches.batches_per_epoch
    start, stop = n - 3, n + 2
    dataset = batches.dataset(start, stop)
    assert dataset.element_spec["source"].shape.as_list() == [7, None]
    given = list(dataset.as_numpy_iterator())
    assert len(given) == dataset.cardinality() == 5
    for number, batch in enumerate(given, start=start):
        for side in ("source", "target"):
            np.testing.assert_array_equal(batch[side], batches.batch(number)[side])


def test_two_datasets_do_not_disturb_each_other(batches):
    n = batches.batches_per_epoch
    first = batches.dataset(0, 4).as_numpy_iterator()
    second = batches.dataset(n, n + 4).as_numpy_iterator()
    for number in range(4):
        np.testing.assert_array_equal(next(first)["source"], batches.batch(number)["source"])
        np.testing.assert_array_equal(next(second)["source"], batches.batch(n + number)["source"])


def test_ordered_has_every_pair_once_shortest_first(batches, encoded):
    given = list(batches.ordered().as_numpy_iterator())
    assert batches.ordered().cardinality() == len(given)
    assert sorted(r for batch in given for r in rows(batch)) == encoded
    assert [len(batch["source"]) for batch in given[:-1]] == [7] * (len(given) - 1)
    assert len(given[-1]["source"]) == len(encoded) % 7 or 7
    widths = [batch["source"].shape[1] for batch in given]
    assert widths == sorted(widths)
    assert all((batch["source"] > 0).any(axis=1).all() for batch in given)


def test_long_pairs_are_dropped_and_counted(tokenizers):
    short, long = SentencePair("Va !", "Go."), SentencePair("Va !", "x " * 99)
    batches = SentenceBatches([short, long, short, long, short], tokenizers, 2)
    assert (batches.dropped, len(batches), batches.batches_per_epoch) == (2, 3, 1)
    longest = len(tokenizers.target.encode("x " * 99))
    assert longest > 64
    wide = SentenceBatches([short, long], tokenizers, 1, buckets=(8, longest))
    assert wide.dropped == 0
    assert {wide.batch(i)["target"].shape[1] for i in range(2)} == {8, longest}
    narrow = SentenceBatches([short, long], tokenizers, 1, buckets=(9, 300), max_length=longest - 1)
    assert narrow.dropped == 1


def test_a_pair_as_long_as_a_bucket_is_in_it(tokenizers):
    pair = SentencePair("Je suis prêt.", "Go.")
    length = len(tokenizers.source.encode(pair.source))
    batches = SentenceBatches([pair], tokenizers, 1, buckets=(length - 1, length, length + 1))
    assert batches.batch(0)["source"].shape == (1, length)
    assert batches.batch(0)["target"].shape == (1, length)


def test_a_batch_is_made_in_a_millisecond_or_so(pairs, tokenizers):
    """A training step takes tens of milliseconds and more: it must not wait for its data."""
    batches = SentenceBatches(pairs * 20, tokenizers, 64)
    batches.batch(0)
    took = []
    for number in range(batches.batches_per_epoch):
        began = time.perf_counter()
        batches.batch(number)
        took.append(time.perf_counter() - began)
    assert np.median(took) < 0.01


@pytest.fixture(scope="module")
def dropped_out(pairs, tokenizers):
    return SentenceBatches(pairs, tokenizers, 7, seed=3, subword_dropout=0.3)


def texts(tokenizers, batch):
    """The pairs of a batch as text."""
    return [
        (tokenizers.source.decode(source), tokenizers.target.decode(target))
        for source, target in rows(batch)
    ]


def test_subword_dropout_splits_the_same_sentences_anew_each_epoch(
    pairs, tokenizers, dropped_out, encoded
):
    n = dropped_out.batches_per_epoch
    assert n == len(encoded) // 7
    sentences = [
        (tokenizers.source.decode(source), tokenizers.target.decode(target))
        for source, target in encoded
    ]
    epochs = []
    for epoch in range(2):
        given = [dropped_out.batch(i) for i in range(epoch * n, (epoch + 1) * n)]
        remaining = list(sentences)
        for pair in (pair for batch in given for pair in texts(tokenizers, batch)):
            remaining.remove(pair)
        assert len(remaining) == len(sentences) - 7 * n
        epochs.append({r for batch in given for r in rows(batch)})
    usual = set(encoded)
    for epoch in epochs:
        assert len(epoch & usual) < 0.3 * len(usual)
    assert len(epochs[0] & epochs[1]) < 0.3 * len(usual)
    assert sum(len(s) + len(t) for s, t in epochs[0]) > 1.1 * sum(len(s) + len(t) for s, t in usual)


def test_with_subword_dropout_a_batch_depends_on_seed_and_number_alone(
    pairs, tokenizers, dropped_out
):
    """In any order, from threads of other objects at work at the same time, in another process."""
    n = dropped_out.batches_per_epoch
    numbers = [2 * n + 1, 0, n - 1, n, 5]
    others = [
        SentenceBatches(pairs * 9, tokenizers, 7, seed=seed, subword_dropout=0.5) for seed in (1, 2)
    ]
    again = SentenceBatches(pairs, tokenizers, 7, seed=3, subword_dropout=0.3)
    given = {}
    for number in numbers:
        for other in others:
            other.batch(number * 7)
        given[number] = again.batch(number)
    for number in numbers:
        for side in ("source", "target"):
            np.testing.assert_array_equal(given[number][side], dropped_out.batch(number)[side])
    other = SentenceBatches(pairs, tokenizers, 7, seed=4, subword_dropout=0.3)
    assert sorted(rows(other.batch(0))) != sorted(rows(dropped_out.batch(0)))


def test_the_same_ids_are_drawn_in_another_process(pairs, tokenizers, pairs_file, run_python):
    code = """
import sys
from attention_zoo.tokenizer import Tokenizer, TokenizerPair
from attention_zoo.training.sentence_batches import SentenceBatches
from attention_zoo.training.sentence_pairs import read_tsv
tokenizer = Tokenizer.from_file(sys.argv[2])
both = TokenizerPair(tokenizer, tokenizer)
batches = SentenceBatches(read_tsv(sys.argv[1]).pairs, both, 7, seed=3, subword_dropout=0.3)
print(batches.batch(int(sys.argv[3]))["source"].tolist())
"""
    batches = SentenceBatches(pairs, tokenizers, 7, seed=3, subword_dropout=0.3)
    number = batches.batches_per_epoch + 2
    ran = run_python(code, str(pairs_file), str(tokenizers.source.path), str(number))
    assert ran.stdout.strip() == str(batches.batch(number)["source"].tolist()), ran.stderr


def test_a_sentence_too_long_in_its_new_split_keeps_the_usual_one(tokenizers):
    pair = SentencePair("Je suis prêt.", "I am ready to go there now.")
    source, target = (
        tuple(tokenizers.source.encode(pair.source)),
        tuple(tokenizers.target.encode(pair.target)),
    )
    longest = max(len(source), len(target))
    assert len(target) == longest
    batches = SentenceBatches(
        [pair] * 50, tokenizers, 50, buckets=(longest,), seed=1, subword_dropout=0.6
    )
    given = rows(batches.batch(0))
    assert len(given) == 50
    assert {t for _, t in given} == {target}  # no split of it is as short
    assert len({s for s, _ in given}) > 1  # the other side is short enough to be drawn


def test_ordered_never_drops_subwords(dropped_out, encoded):
    given = [r for batch in dropped_out.ordered().as_numpy_iterator() for r in rows(batch)]
    assert sorted(given) == encoded


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"buckets": (8, 8)}, "buckets must ascend"),
        ({"buckets": ()}, "buckets must ascend"),
        ({"buckets": (0, 4)}, "buckets must ascend"),
        ({"max_length": 65}, "max_length must be 1 to the widest bucket, 64, got 65"),
        ({"max_length": 0}, "max_length must be 1 to"),
        ({"seed": -1}, "seed not negative"),
        ({"subword_dropout": 1.0}, r"subword_dropout must be a number in \[0, 1\), got 1.0"),
        ({"subword_dropout": -0.1}, r"subword_dropout must be a number in \[0, 1\), got -0.1"),
        ({"batch_size": 0}, "batch_size must be 1 or more"),
        ({"batch_size": 500}, "at least batch_size = 500 pairs of at most 64 ids a side, got"),
    ],
)
def test_bad_options_are_errors(pairs, tokenizers, options, told):
    with pytest.raises(ValueError, match=told):
        SentenceBatches(pairs, tokenizers, **{"batch_size": 7, **options})
