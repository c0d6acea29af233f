"""Steps run again with given weights, on every model that can be checked."""

import numpy as np
import pytest
import tensorflow as tf

from attention_zoo.explain.check_distances import total_variation
from attention_zoo.explain.check_replay import replay


def softmax(logits):
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


@pytest.fixture
def replayed(checked_name, shared_small_model, sentence):
    return replay(shared_small_model(checked_name), **sentence)


def test_own_weights_and_outputs_are_those_of_teacher_forcing(replayed):
    ids = {"source": replayed.source, "target": replayed.target}
    logits = np.asarray(replayed.model(ids))[0]
    np.testing.assert_allclose(replayed.outputs, softmax(logits), atol=1e-5)
    own = np.asarray(replayed.model.alignments(ids))[0]
    np.testing.assert_allclose(replayed.weights, own, atol=1e-5)
    assert (replayed.n_steps, replayed.n_tokens) == (7, 5)


def test_own_weights_again_change_nothing(replayed):
    steps = np.arange(replayed.n_steps)
    again = replayed.outputs_with(steps, replayed.weights)
    np.testing.assert_array_equal(again, replayed.outputs)
    # in another order and number the products may be summed otherwise
    steps = np.tile(steps[::-1], 3)
    again = replayed.outputs_with(steps, replayed.weights[steps])
    assert total_variation(again, replayed.outputs[steps]).max() < 1e-6


def test_given_weights_are_what_the_step_reads(replayed, monkeypatch):
    """Against the decode step itself, its mechanism replaced by one that answers with weights."""
    model = replayed.model
    generator = np.random.default_rng(0)
    given = generator.dirichlet(np.ones(replayed.n_tokens), size=replayed.n_steps)
    states, prepared = model.start(tf.constant(replayed.source))
    mechanism = model.decoder.cell.mechanism
    expected = []
    for t, token in enumerate(replayed.read):
        weights = tf.constant(given[t : t + 1], tf.float32)

        def attend(query, keys, values, mask, state, training, weights=weights):
            return mechanism.read(weights, values, query), weights, state

        with monkeypatch.context() as patch:
            patch.setattr(type(mechanism), "attend", lambda self, *args: attend(*args))
            logits, _, _ = model.decode_step(tf.constant([token]), states, prepared)
        expected.append(softmax(logits.numpy()))
        # the states of the prefix stay those of the model's own weights
        _, _, states = model.decode_step(tf.constant([token]), states, prepared)
    got = replayed.outputs_with(np.arange(replayed.n_steps), given)
    np.testing.assert_allclose(got, np.concatenate(expected), atol=1e-5)


def test_many_rows_are_the_same_as_few(shared_small_model, sentence, monkeypatch):
    found = replay(shared_small_model("bahdanau_gru"), **sentence)
    steps = np.tile(np.arange(found.n_steps), 3)
    weights = np.random.default_rng(1).dirichlet(np.ones(found.n_tokens), size=len(steps))
    whole = found.outputs_with(steps, weights)
    monkeypatch.setattr("attention_zoo.explain.check_replay._MAX_ROWS", 5)
    np.testing.assert_allclose(found.outputs_with(steps, weights), whole, atol=1e-6)


def test_without_a_target_it_is_the_greedy_output(shared_small_model, sentence):
    model = shared_small_model("luong_general_gru")
    found = replay(model, sentence["source"])
    greedy = model.greedy([sentence["source"]])
    assert found.target[0].tolist() == greedy["tokens"][0, : greedy["lengths"][0]].tolist()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        (
            "seq2seq_gru",
            r"seq2seq_gru: the model has no attention; expected .* Fix: .*bahdanau_gru",
        ),
        ("luong_multihead_gru", r"n_heads = 4; expected one head.* Fix: .*n_heads=1"),
    ],
)
def test_models_that_cannot_be_checked_are_refused(name, words, sentence):
    from attention_zoo import create_model

    model = create_model(name, vocab_source=13, vocab_target=11, units=8)
    with pytest.raises(ValueError, match=words):
        replay(model, **sentence)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"source": [4, 0, 2]}, r"source has padding \(id 0\).* Fix: cut"),
        ({"target": [4, 2, 0]}, r"target has padding \(id 0\).* Fix: cut"),
        ({"source": [4, 13, 2]}, r"source has id 13 .*vocab_source = 13"),
        ({"target": [4, 11]}, "id 11"),
        ({"source": []}, "at least 1"),
    ],
)
def test_ids_that_are_not_the_models_are_refused(change, words, shared_small_model, sentence):
    with pytest.raises(ValueError, match=words):
        replay(shared_small_model("bahdanau_gru"), **{**sentence, **change})
