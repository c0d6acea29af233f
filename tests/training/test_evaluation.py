"""Free-running accuracy, with models whose answers are known."""

from types import SimpleNamespace

import numpy as np
import pytest

from attention_zoo.training import CopyTask, accuracy_by_length, evaluate_by_length
from attention_zoo.training.evaluation import compare_tokens
from attention_zoo.vocabulary import EOS, PAD


class Scripted:
    """Answers with what `edit` makes of the source."""

    def __init__(self, edit, max_length=14):
        self.edit = edit
        self.config = SimpleNamespace(max_length=max_length)
        self.batches = []

    def greedy(self, source, max_length):
        self.batches.append(source.shape)
        tokens = np.zeros((len(source), max_length), np.int32)
        edited = self.edit(source.copy())
        tokens[:, : edited.shape[1]] = edited
        return {"tokens": tokens}


def wrong_from(position):
    def edit(source):
        source[:, position:] = np.where(source[:, position:] > 3, 3, source[:, position:])
        return source

    return edit


def test_a_perfect_model():
    found = evaluate_by_length(Scripted(lambda s: s), CopyTask(5), [3, 7], n=11)
    assert [(length, a.token, a.sequence) for length, a in found.items()] == [(3, 1, 1), (7, 1, 1)]


def test_counts_symbols_at_their_position():
    model = Scripted(wrong_from(3))
    assert accuracy_by_length(model, CopyTask(5), [3, 4, 12], n=11) == {3: 1.0, 4: 0.75, 12: 0.25}


def test_is_batched_and_all_lengths_have_one_width():
    model = Scripted(lambda s: s)
    evaluate_by_length(model, CopyTask(5), [3, 7], n=11, batch_size=7)
    assert model.batches == [(7, 8), (4, 8), (7, 8), (4, 8)]


def test_the_sequences_are_the_same_for_every_model():
    seen = [[], []]
    for kept in seen:
        model = Scripted(lambda s, kept=kept: kept.append(s.copy()) or s)
        accuracy_by_length(model, CopyTask(5), [3, 7], n=5)
    np.testing.assert_array_equal(seen[0], seen[1])
    assert (seen[0][0][:, :3] != seen[0][1][:, :3]).any()


def test_chance():
    generator = np.random.default_rng(0)
    model = Scripted(lambda s: np.where(s > 3, generator.integers(4, 9, s.shape), s))
    found = accuracy_by_length(model, CopyTask(5), [2, 13], n=2000)
    assert all(abs(accuracy - 1 / 5) < 0.03 for accuracy in found.values())


def test_an_eos_too_early_loses_the_rest_and_one_too_late_only_the_sequence():
    target = np.array([[7, 5, 6, EOS, PAD]])
    early = compare_tokens(np.array([[7, EOS, PAD, PAD, PAD]]), target)
    assert (early.token, early.sequence) == (pytest.approx(1 / 3), 0.0)
    late = compare_tokens(np.array([[7, 5, 6, 6, EOS]]), target)
    assert (late.token, late.sequence) == (1.0, 0.0)
    shifted = compare_tokens(np.array([[4, 7, 5, 6, EOS]]), target)
    assert (shifted.token, shifted.sequence) == (0.0, 0.0)


def test_output_that_cannot_hold_the_target():
    with pytest.raises(ValueError, match="at least 5 positions, as target, got 3"):
        compare_tokens(np.zeros((1, 3), int), np.zeros((1, 5), int))


def test_a_model_that_cannot_write_so_much():
    with pytest.raises(ValueError, match=r"write 21 tokens.*max_length is 14.*Fix"):
        accuracy_by_length(Scripted(lambda s: s), CopyTask(5), [20])


def test_no_sequences():
    with pytest.raises(ValueError, match="n must be at least 1"):
        accuracy_by_length(Scripted(lambda s: s), CopyTask(5), [3], n=0)
