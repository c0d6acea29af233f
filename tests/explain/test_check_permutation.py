"""Permuted weights."""

import numpy as np
import pytest

from attention_zoo.explain.check_distances import total_variation
from attention_zoo.explain.check_permutation import check_permutation
from attention_zoo.explain.check_replay import replay


def test_the_median_is_that_of_the_permutations_one_by_one(shared_small_model, sentence):
    found = replay(shared_small_model("bahdanau_gru"), **sentence)
    result = check_permutation(found, count=13, seed=3)
    generator = np.random.default_rng([3, 1])
    for t in range(found.n_steps):
        drawn = [generator.permuted(found.weights[t]) for _ in range(13)]
        outputs = [found.outputs_with(np.array([t]), row[None])[0] for row in drawn]
        changes = [total_variation(output, found.outputs[t]) for output in outputs]
        assert result.median[t] == pytest.approx(np.median(changes), abs=1e-5)
        assert result.low[t] <= result.median[t] <= result.high[t]
    assert max(result.median) > 0.05, "the model does not read its context: the test says nothing"


def test_seeds_repeat_and_differ(shared_small_model, sentence):
    found = replay(shared_small_model("luong_dot_gru"), **sentence)
    assert check_permutation(found, 7, seed=1) == check_permutation(found, 7, seed=1)
    assert check_permutation(found, 7, seed=1) != check_permutation(found, 7, seed=2)


def test_equal_weights_can_be_permuted_at_will(shared_small_model, sentence):
    found = replay(shared_small_model("uniform_gru"), **sentence)
    np.testing.assert_allclose(found.weights, 1 / 5)
    assert max(check_permutation(found).high) < 1e-6


def test_a_model_that_ignores_its_context_does_not_change(
    checked_name, new_small_model, without_context, sentence
):
    model = without_context(new_small_model(checked_name))
    assert max(check_permutation(replay(model, **sentence)).high) < 1e-6


def test_a_source_of_one_token_has_nothing_to_permute(shared_small_model):
    found = replay(shared_small_model("bahdanau_gru"), [2], [4, 2])
    assert max(check_permutation(found).high) < 1e-6
