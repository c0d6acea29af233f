"""Tokens left out of the source, and out of the attention alone."""

import numpy as np
import pytest

from attention_zoo.explain.check_distances import total_variation
from attention_zoo.explain.check_leave_one_out import drop_from_attention, leave_one_out
from attention_zoo.explain.check_replay import replay


def outputs_of(model, source, target):
    logits = np.asarray(model({"source": np.array([source]), "target": np.array([target])}))[0]
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def test_the_change_is_that_of_the_shorter_source(checked_name, shared_small_model, sentence):
    """Masked in the middle is the same as not there: the encoder steps over it."""
    model = shared_small_model(checked_name)
    found = leave_one_out(replay(model, **sentence)).importance
    whole = outputs_of(model, **sentence)
    for i in range(len(sentence["source"])):
        shorter = [token for j, token in enumerate(sentence["source"]) if j != i]
        change = total_variation(outputs_of(model, shorter, sentence["target"]), whole)
        np.testing.assert_allclose(found[:, i], change, atol=1e-4)
    assert found.max() > 0.05, "nothing changes: the test says nothing"


def test_few_sources_at_a_time_give_the_same(shared_small_model, sentence, monkeypatch):
    found = replay(shared_small_model("bahdanau_gru"), **sentence)
    whole = leave_one_out(found).importance
    monkeypatch.setattr("attention_zoo.explain.check_leave_one_out._MAX_POSITIONS", 15)
    np.testing.assert_allclose(leave_one_out(found).importance, whole, atol=1e-6)


def test_out_of_the_attention_the_others_share_its_weight(shared_small_model, sentence):
    found = replay(shared_small_model("luong_general_gru"), **sentence)
    dropped = drop_from_attention(found).importance
    for t in range(found.n_steps):
        for i in range(found.n_tokens):
            weights = found.weights[t].copy()
            weights[i] = 0.0
            output = found.outputs_with(np.array([t]), (weights / weights.sum())[None])[0]
            change = total_variation(output, found.outputs[t])
            assert dropped[t, i] == pytest.approx(change, abs=1e-5)


def test_a_token_with_all_the_weight_leaves_it_to_all_others(shared_small_model, sentence):
    found = replay(shared_small_model("luong_general_gru"), **sentence)
    found.weights[0] = np.eye(5)[2]
    dropped = drop_from_attention(found).importance
    shared = np.array([[0.25, 0.25, 0.0, 0.25, 0.25]])
    output = found.outputs_with(np.array([0]), shared)[0]
    assert dropped[0, 2] == pytest.approx(total_variation(output, found.outputs[0]), abs=1e-5)


def test_a_source_of_one_token_has_no_tau(shared_small_model):
    found = replay(shared_small_model("bahdanau_gru"), [2], [4, 9, 2])
    for result in (leave_one_out(found), drop_from_attention(found)):
        assert result.without_tau == 3
        assert np.isfinite(result.importance).all()
