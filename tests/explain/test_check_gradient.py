"""Gradient times embedding against finite differences of the model's own steps."""

import numpy as np
import pytest
import tensorflow as tf

from attention_zoo.explain.check_gradient import gradient_times_embedding
from attention_zoo.explain.check_replay import replay


def probabilities(model, found, embedded, monkeypatch):
    """(T_dec,) of the written tokens from these embeddings, the weights those of the replay."""
    mechanism = model.decoder.cell.mechanism
    states, prepared = model.start_embedded(
        tf.constant(embedded), tf.ones((1, found.n_tokens), tf.bool)
    )
    result = []
    for t, token in enumerate(found.read):
        weights = tf.constant(found.weights[t : t + 1], tf.float32)

        def attend(self, query, keys, values, mask, state, training, weights=weights):
            return mechanism.read(weights, values, query), weights, state

        with monkeypatch.context() as patch:
            patch.setattr(type(mechanism), "attend", attend)
            logits, _, states = model.decode_step(tf.constant([token]), states, prepared)
        result.append(float(tf.nn.softmax(logits)[0, found.target[0, t]]))
    return np.array(result)


@pytest.mark.parametrize("name", ["bahdanau_gru", "luong_general_gru", "feeding"])
def test_is_the_slope_along_the_embedding(name, new_small_model, sentence, monkeypatch):
    model = new_small_model(name, scale=0.6)  # smooth, so that differences are slopes
    found = replay(model, **sentence)
    embedded = model.embed_source(tf.constant(found.source)).numpy()
    slopes = np.empty((found.n_steps, found.n_tokens))
    for i in range(found.n_tokens):
        ends = []
        for sign in (1, -1):
            moved = embedded.copy()
            moved[0, i] *= 1 + sign * 0.02
            ends.append(probabilities(model, found, moved, monkeypatch))
        slopes[:, i] = np.abs(ends[0] - ends[1])
    got = gradient_times_embedding(found).importance
    np.testing.assert_allclose(got, slopes / slopes.sum(axis=1, keepdims=True), atol=5e-3)


def test_few_steps_at_a_time_give_the_same(shared_small_model, sentence, monkeypatch):
    found = replay(shared_small_model("bidirectional_tied"), **sentence)
    whole = gradient_times_embedding(found).importance
    monkeypatch.setattr("attention_zoo.explain.check_gradient._MAX_ROWS", 3)
    np.testing.assert_allclose(gradient_times_embedding(found).importance, whole, atol=1e-5)


def test_rows_are_shares(checked_name, shared_small_model, sentence):
    rows = gradient_times_embedding(replay(shared_small_model(checked_name), **sentence))
    np.testing.assert_allclose(rows.importance.sum(axis=1), 1.0, atol=1e-6)
    assert (rows.importance >= 0).all()
