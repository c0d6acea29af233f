"""The ablation: `uniform_gru` is `bahdanau_gru` whose score is always the same."""

import numpy as np
import pytest

from attention_zoo import ModelConfig

OPTIONS = [{}, {"bidirectional": True, "layer_norm": True}, {"d_s": 3, "decoder_layers": 2}]


@pytest.mark.parametrize("options", OPTIONS, ids=["plain", "bidirectional", "deep"])
def test_is_the_additive_model_with_v_a_zero(options, new_model, with_drawn_weights, batch):
    additive = with_drawn_weights(new_model("bahdanau_gru", **options))
    mechanism = additive.decoder.cell.mechanism
    mechanism.v_a.assign(np.zeros(mechanism.v_a.shape))
    score = {id(weight) for weight in mechanism.weights}
    uniform = new_model("uniform_gru", **options)
    uniform.set_weights([np.asarray(w) for w in additive.weights if id(w) not in score])
    x = batch()
    np.testing.assert_allclose(np.asarray(uniform(x)), np.asarray(additive(x)), atol=1e-5)
    real = x["source"] != 0
    expected = real / real.sum(axis=1, keepdims=True)
    found = np.asarray(uniform.alignments(x))
    np.testing.assert_allclose(found, np.repeat(expected[:, None], 6, axis=1), atol=1e-6)


def test_which_models_attend_first():
    attends_first = {
        attention: ModelConfig(attention=attention).attends_first
        for attention in ("none", "bahdanau", "luong", "uniform")
    }
    assert attends_first == {"none": False, "bahdanau": True, "luong": False, "uniform": True}
