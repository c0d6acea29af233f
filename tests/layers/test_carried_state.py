"""A mechanism that declares a state is carried along by cells, decoder, call and search alike."""

import keras
import numpy as np
import pytest
from keras import ops

from attention_zoo import create_model
from attention_zoo.layers import (
    AttentionDecoder,
    BahdanauAttention,
    BahdanauCell,
    LuongCell,
)

BATCH, T_ENC, T_DEC, D_EMB, D_S, D_H, D_ATTN = 2, 5, 3, 7, 11, 13, 17


class CoverageAttention(BahdanauAttention):
    """Additive attention whose score falls by the weight that a step has had so far."""

    def initial_state(self, values, mask):
        return (ops.zeros(ops.shape(values)[:2], dtype=self.compute_dtype),)

    def score(self, query, keys, state):
        return super().score(query, keys, state) - 3.0 * state[0]

    def next_state(self, weights, state):
        return (state[0] + weights,)


@pytest.fixture
def arrays():
    rng = np.random.default_rng(0)

    def draw(*shape):
        return rng.normal(size=shape).astype("float32")

    mask = np.ones((BATCH, T_ENC), bool)
    mask[1, 3:] = False
    return draw(BATCH, T_DEC, D_EMB), draw(BATCH, T_DEC, D_S), draw(BATCH, T_ENC, D_H), mask


def _softmax(scores, mask):
    powers = np.where(mask, np.exp(scores - scores.max(-1, keepdims=True)), 0.0)
    return powers / powers.sum(-1, keepdims=True)


def test_a_sequence_of_queries_is_attended_in_turn(arrays):
    _, queries, memory, mask = arrays
    mechanism = CoverageAttention(D_ATTN)
    _, weights = mechanism([queries, memory], mask=[None, mask], return_attention_scores=True)
    W_a, U_a, v_a = (ops.convert_to_numpy(w) for w in (mechanism.W_a, mechanism.U_a, mechanism.v_a))
    coverage = np.zeros((BATCH, T_ENC))
    for t in range(T_DEC):
        hidden = np.tanh((queries[:, t] @ W_a)[:, None] + memory @ U_a)
        expected = _softmax(hidden @ v_a - 3.0 * coverage, mask)
        coverage += expected
        np.testing.assert_allclose(weights[:, t], expected, atol=1e-5)


@pytest.mark.parametrize("order", [BahdanauCell, LuongCell])
def test_the_decoder_carries_what_the_mechanism_declares(arrays, order):
    inputs, _, memory, mask = arrays
    decoder = AttentionDecoder(order(keras.layers.GRUCell(D_S), CoverageAttention(D_ATTN)))
    result = decoder(inputs, memory=memory, memory_mask=mask, return_alignments=True)
    # the last state is the coverage: the sum of all weights given
    np.testing.assert_allclose(
        result["states"][-1], np.sum(result["alignments"], axis=1), atol=1e-5
    )
    assert len(result["states"]) == 2


@pytest.mark.parametrize(
    "cell",
    [
        lambda: BahdanauCell(keras.layers.LSTMCell(D_S), CoverageAttention(D_ATTN)),
        lambda: LuongCell(keras.layers.GRUCell(D_S), CoverageAttention(D_ATTN), 19, True),
    ],
)
def test_a_sequence_in_two_parts_equals_the_whole(arrays, cell):
    inputs, _, memory, mask = arrays
    decoder = AttentionDecoder(cell())
    attended = {"memory": memory, "memory_mask": mask}
    whole = decoder(inputs, **attended)
    first = decoder(inputs[:, :2], **attended)
    second = decoder(inputs[:, 2:], initial_state=first["states"], **attended)
    joined = np.concatenate([first["outputs"], second["outputs"]], axis=1)
    np.testing.assert_allclose(joined, whole["outputs"], atol=1e-6)
    for ours, theirs in zip(second["states"], whole["states"], strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-6)


def test_search_carries_it_too(monkeypatch):
    sizes = {"vocab_source": 19, "vocab_target": 19, "d_emb": D_EMB, "units": D_S}
    plain = create_model("bahdanau_gru", **sizes)
    monkeypatch.setattr("attention_zoo.decoder_parts.BahdanauAttention", CoverageAttention)
    covering = create_model("bahdanau_gru", **sizes)
    covering.set_weights(plain.get_weights())
    source = [[4, 5, 6, 7]]
    without = plain.greedy(source, max_length=T_DEC)["alignments"]
    covered = covering.greedy(source, max_length=T_DEC)["alignments"]
    # the first look is the same, the later ones turn away from where it fell
    np.testing.assert_allclose(covered[:, 0], without[:, 0], atol=1e-6)
    assert np.abs(covered[:, 1:] - without[:, 1:]).max() > 1e-3
    beam = covering.beam_search(source, beam_width=1, max_length=T_DEC)["alignments"]
    np.testing.assert_allclose(beam[:, 0], covered, atol=1e-6)
