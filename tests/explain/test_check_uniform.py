"""Weights frozen to uniform at decode time."""

import numpy as np
import pytest
import tensorflow as tf

from attention_zoo.explain.check_distances import total_variation
from attention_zoo.explain.check_replay import replay
from attention_zoo.explain.check_uniform import check_uniform
from attention_zoo.layers import UniformAttention


@pytest.mark.parametrize("name", ["bahdanau_gru", "stack", "luong_general_gru", "feeding"])
def test_is_the_model_with_its_mechanism_replaced(name, new_small_model, sentence, monkeypatch):
    model = new_small_model(name)
    found = replay(model, **sentence)
    result = check_uniform(found)
    uniform = UniformAttention()
    monkeypatch.setattr(
        type(model.decoder.cell.mechanism), "attend", lambda self, *args: uniform.attend(*args)
    )
    logits = model({"source": found.source, "target": found.target})
    outputs = tf.nn.softmax(logits).numpy()[0]
    change = total_variation(outputs, found.outputs)
    np.testing.assert_allclose(result.change, change, atol=1e-5)
    kept = outputs.argmax(axis=1) == found.outputs.argmax(axis=1)
    assert result.kept == tuple(kept)
    assert result.share_of_changed_tokens == pytest.approx(1 - kept.mean())
    assert max(change) > 0.01, "the model does not read its context: the test says nothing"


def test_a_model_trained_so_does_not_change(shared_small_model, sentence):
    result = check_uniform(replay(shared_small_model("uniform_gru"), **sentence))
    assert max(result.change) < 1e-6
    assert result.share_of_changed_tokens == 0.0
