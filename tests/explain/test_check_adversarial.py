"""Other weights with the same output."""

import numpy as np
import pytest

from attention_zoo.explain.check_adversarial import SAME_OUTPUT, check_adversarial
from attention_zoo.explain.check_distances import jensen_shannon, total_variation
from attention_zoo.explain.check_replay import replay


def test_what_is_found_keeps_the_limit(checked_name, shared_small_model, sentence):
    found = replay(shared_small_model(checked_name), **sentence)
    result = check_adversarial(found)
    assert (result.weights >= 0).all()
    np.testing.assert_allclose(result.weights.sum(axis=1), 1.0, atol=1e-5)
    steps = np.arange(found.n_steps)
    change = total_variation(found.outputs_with(steps, result.weights), found.outputs)
    assert change.max() <= SAME_OUTPUT + 1e-6
    np.testing.assert_allclose(result.change, change, atol=1e-6)
    divergence = jensen_shannon(result.weights, found.weights)
    np.testing.assert_allclose(result.divergence, divergence, atol=1e-9)
    assert (divergence <= np.array(result.limit) + 1e-9).all()
    assert result.largest == divergence.max() > 0


def test_no_weights_drawn_at_random_are_further_off(shared_small_model, sentence):
    """A search that looks hard finds at least what luck finds."""
    found = replay(shared_small_model("bahdanau_gru"), **sentence)
    result = check_adversarial(found)
    generator = np.random.default_rng(2)
    steps = np.repeat(np.arange(found.n_steps), 400)
    drawn = generator.dirichlet(np.full(found.n_tokens, 0.5), size=len(steps))
    same = total_variation(found.outputs_with(steps, drawn), found.outputs[steps]) <= SAME_OUTPUT
    lucky = np.where(same, jensen_shannon(drawn, found.weights[steps]), 0.0).reshape(-1, 400)
    assert same.any()
    assert (np.array(result.divergence) >= lucky.max(axis=1) - 0.02).all()


def test_a_model_that_ignores_its_context_has_them_as_far_off_as_there_are(
    new_small_model, without_context, sentence
):
    model = without_context(new_small_model("luong_general_gru"))
    result = check_adversarial(replay(model, **sentence))
    np.testing.assert_allclose(result.divergence, result.limit, atol=1e-9)
    assert result.share_above(0.2) == 1.0


def test_a_source_of_one_token_has_no_others(shared_small_model):
    result = check_adversarial(replay(shared_small_model("bahdanau_gru"), [2], [4, 2]))
    assert result.largest == pytest.approx(0.0, abs=1e-6)
    assert result.share_above(0.0) in (0.0, 0.5, 1.0)


def test_seeds_repeat(shared_small_model, sentence):
    found = replay(shared_small_model("luong_concat_gru"), **sentence)
    first, second = (check_adversarial(found, seed=4) for _ in range(2))
    np.testing.assert_allclose(first.weights, second.weights, atol=1e-6)
