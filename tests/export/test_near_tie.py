"""Other answers that are as good: what rounding may exchange, and nothing else."""

import itertools
import types

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from attention_zoo.export.beam_choices import beam_choices
from attention_zoo.export.decode_functions import DecodeSettings
from attention_zoo.export.keras_reference import KerasReference
from attention_zoo.export.near_tie import TOLERANCE, near_tie
from attention_zoo.vocabulary import EOS, PAD

VOCAB, T_DEC, BEAMS = 7, 4, 3
SOURCE = np.array([5, 6, 2], np.int32)
A, B = 4, 5


class Table:
    """Logits that depend on the last token alone: `table` is (VOCAB, VOCAB)."""

    def __init__(self, table):
        self.table = tf.constant(table, tf.float32)
        self.config = types.SimpleNamespace(vocab_target=VOCAB, vocab_source=VOCAB)

    def start(self, source):
        return [tf.zeros((tf.shape(source)[0], 1))], {"mask": tf.not_equal(source, PAD)}

    def loop_weights(self):
        return None

    def decode_step(self, tokens, states, prepared, weights=None):
        mask = tf.cast(prepared["mask"], tf.float32)
        return tf.gather(self.table, tokens), mask / 4.0, states


def reference(table, beams=BEAMS, penalty=0.7):
    return KerasReference(Table(table), DecodeSettings(T_DEC, beams, penalty))


def likely(**moves):
    """A table with logits as given, such as x1_4=3.0 after token 1 for token 4; -9 elsewhere."""
    table = np.full((VOCAB, VOCAB), -9.0)
    for move, logit in moves.items():
        table[tuple(map(int, move[1:].split("_")))] = logit
    return table


def answer(model, source=SOURCE):
    """The beam of one row."""
    return {name: value[0] for name, value in model.beam(source[None]).items()}


def tokens_of(*rows):
    return np.array([[*row, *[PAD] * (T_DEC - len(row))] for row in rows], np.int32)


TIES = st.lists(
    st.sampled_from([0.0, 1.0, 1.0 + 0.3 * TOLERANCE, 2.0]), min_size=VOCAB**2, max_size=VOCAB**2
)


@settings(max_examples=15, deadline=None)
@given(table=TIES, seed=st.integers(0, 999), beams=st.integers(1, 4))
def test_a_search_that_rounds_otherwise_stays_within_the_choices(table, seed, beams):
    table = np.reshape(table, (VOCAB, VOCAB))
    choices = beam_choices(reference(table, beams), SOURCE[None], TOLERANCE)
    if choices is None:
        return
    # after T_DEC steps the log-probabilities are off by a tenth of the tolerance at most
    noise = np.random.default_rng(seed).uniform(-1, 1, table.shape) * TOLERANCE / (20 * T_DEC)
    got = answer(reference(table + noise, beams))
    found = {
        tuple(one[:n].tolist()) for one, n in zip(got["tokens"], got["lengths"], strict=True) if n
    }
    assert choices.sure <= found <= choices.possible
    if len(choices.possible) <= 2 * beams:
        assert near_tie(reference(table, beams), SOURCE, got) is not None


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 999), beams=st.integers(1, 4))
def test_without_near_ties_the_choices_are_what_the_search_keeps(seed, beams):
    # gaps of at least 1e-3 between any two sums of a few logits are drawn nearly always
    table = np.random.default_rng(seed).normal(0, 2, (VOCAB, VOCAB))
    model = reference(table, beams)
    choices = beam_choices(model, SOURCE[None], 1e-12)
    got = answer(model)
    kept = {tuple(one[:n].tolist()) for one, n in zip(got["tokens"], got["lengths"], strict=True)}
    assert choices.sure == choices.possible == kept


def test_more_near_ties_than_are_followed():
    assert beam_choices(reference(np.zeros((VOCAB, VOCAB))), SOURCE[None], TOLERANCE) is None


def two_likely(gap):
    """A and B after every token, `gap` apart; never an end."""
    return likely(
        **{f"x{one}_{A}": 2.0 + gap for one in range(VOCAB)},
        **{f"x{one}_{B}": 2.0 for one in range(VOCAB)},
    )


def asked(model, tokens, beam=True):
    return near_tie(model, SOURCE, {"tokens": tokens if beam else tokens[0]})


@pytest.mark.parametrize(("gap", "accepted"), [(2e-5, True), (2e-3, False)])
def test_a_greedy_choice_is_as_good_within_the_tolerance(gap, accepted):
    model = reference(two_likely(gap))
    got = asked(model, tokens_of([A, B, A, A]), beam=False)
    assert (got is not None) == accepted
    if accepted:
        forced = model.forced(SOURCE[None], np.array([A, B, A, A]))
        assert got["scores"] == pytest.approx(forced["log_probs"].sum(), abs=1e-6)
        assert got["lengths"] == 4


def test_ranks_of_nearly_equal_scores_may_be_exchanged():
    model = reference(two_likely(2e-5), penalty=0.0)
    every = [list(one) for one in itertools.product([A, B], repeat=T_DEC)]
    for three in (every[:3], every[5:8], [every[0], every[15], every[3]]):
        assert asked(model, tokens_of(*three)) is not None


def test_answers_that_are_clearly_worse_or_missing_are_none():
    model = reference(two_likely(2e-3), penalty=0.0)
    best, *once = [A] * 4, [B, A, A, A], [A, B, A, A], [A, A, B, A], [A, A, A, B]
    for first, second in itertools.combinations(once, 2):  # exactly tied: B once
        assert asked(model, tokens_of(best, first, second)) is not None
    assert asked(model, tokens_of(best, once[0], [B, B, A, A])) is None  # B twice: worse
    assert asked(model, tokens_of(*once[:3])) is None  # the best is missing
    assert asked(model, tokens_of(once[0], best, once[1])) is None  # not best first
    assert asked(model, tokens_of(best, once[0], once[0])) is None  # the same twice
    assert asked(model, tokens_of(best, once[0])[[0, 1, 1]] * [[1], [1], [0]]) is None  # too few


def test_what_is_dropped_for_a_last_bit_may_have_ended_better():
    # A and B are equally likely; after A one answer is all but sure, after B there are three
    table = likely(x1_4=2.0, x1_5=2.0, x4_2=9.0, x5_2=0.0, x5_3=0.0, x5_6=0.0, x3_2=9.0, x6_2=9.0)
    model = reference(table, beams=1, penalty=0.0)
    after = {first: asked(model, tokens_of([first, EOS])) for first in (A, B)}
    assert all(one is not None for one in after.values())
    assert after[A]["scores"] - after[B]["scores"] > 1.0


@pytest.mark.parametrize(
    "row",
    [
        [A, EOS, A],  # goes on after eos
        [A, PAD, A, A],  # padding within
        [A, A, A, VOCAB],  # not in the vocabulary
        [A, A, A, -1],
        [A, A],  # does not end
        [],
    ],
)
@pytest.mark.parametrize("beam", [False, True])
def test_a_sequence_of_the_wrong_form_is_none(row, beam):
    model = reference(two_likely(0.0), penalty=0.0)
    rows = tokens_of(row, [A, A, A, A], [A, A, A, B])
    assert asked(model, rows, beam) is None


def test_fewer_answers_than_beams():
    # eos at once or after one unk; all else is impossible
    table = np.full((VOCAB, VOCAB), -1e9)
    table[1, EOS], table[1, 3], table[3, EOS] = 1.0, 1.0, 1.0
    model = reference(table, beams=3, penalty=0.0)
    got = answer(model)
    assert got["lengths"][2] == 0
    swapped = {name: value[[1, 0, 2]] for name, value in got.items()}
    accepted = near_tie(model, SOURCE, swapped)
    for name, value in swapped.items():
        np.testing.assert_allclose(accepted[name], value, atol=1e-6)
