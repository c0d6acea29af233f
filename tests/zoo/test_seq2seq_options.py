"""Options of the model besides its attention: normalised memory, dropout by part, what it reads."""

import keras
import numpy as np
import pytest

from attention_zoo import list_models

ATTENDING = [name for name in list_models() if not name.startswith("seq2seq")]


def encoded(model, source, training=False):
    return {k: v for k, v in model._encode(source, training).items() if k == "memory"}["memory"]


@pytest.mark.parametrize("name", ["bahdanau_gru", "luong_general_lstm"])
def test_layer_norm_is_the_formula_on_the_memory(name, new_model, batch):
    x = batch()
    plain = new_model(name)
    model = new_model(name, layer_norm=True)
    for weight in model.memory_norm.weights:  # gamma, beta
        weight.assign(np.random.default_rng(1).normal(size=weight.shape))
    gamma, beta = (np.asarray(weight) for weight in model.memory_norm.weights)
    others = [np.asarray(w) for w in model.weights if "memory_norm" not in w.path]
    plain.set_weights(others)
    h = np.asarray(encoded(plain, x["source"]), "float64")
    centred = h - h.mean(-1, keepdims=True)
    epsilon = model.memory_norm.epsilon
    wanted = centred / np.sqrt(h.var(-1, keepdims=True) + epsilon) * gamma + beta
    np.testing.assert_allclose(encoded(model, x["source"]), wanted, atol=2e-4)


@pytest.mark.parametrize("name", ATTENDING)
def test_padding_changes_nothing_with_a_normalised_memory(name, new_model, batch):
    model = new_model(name, layer_norm=True)
    for weight in model.memory_norm.weights:
        weight.assign(np.random.default_rng(1).normal(size=weight.shape))
    x = batch(n=3, T_enc=5)
    wider = np.pad(x["source"], ((0, 0), (0, 4)))
    logits = np.asarray(model(x))
    np.testing.assert_allclose(model({**x, "source": wider}), logits, atol=1e-5)
    answers, padded = model.greedy(x["source"]), model.greedy(wider)
    np.testing.assert_array_equal(answers["tokens"], padded["tokens"])


@pytest.mark.parametrize("part", ["embedding", "memory", "readout"])
def test_each_dropout_works_in_training_alone(part, new_model, batch):
    x = batch()
    model = new_model("bahdanau_gru", **{f"dropout_{part}": 0.5})
    still = np.asarray(model(x))
    np.testing.assert_array_equal(model(x), still)
    assert np.abs(np.asarray(model(x, training=True)) - still).max() > 1e-4
    # the memory alone is dropped by its own dropout alone
    memory = np.asarray(encoded(model, x["source"]))
    dropped = np.asarray(encoded(model, x["source"], training=True))
    zeroed = ((dropped == 0) & (memory != 0)).mean()
    assert (zeroed > 0.2) == (part == "memory")


def test_reads_other_tokens_than_it_is_scored_on(new_model, batch):
    model = new_model("bahdanau_gru")
    x = batch()
    read = np.where(x["target"] > 0, 4, 0).astype("int32")
    logits = np.asarray(model({**x, "read": read}))
    np.testing.assert_array_equal(logits, model({**x, "target": read}))
    assert np.abs(logits - np.asarray(model(x))).max() > 1e-4


def test_options_survive_a_file(new_model, batch, tmp_path):
    model = new_model("luong_general_gru", layer_norm=True, dropout_memory=0.2, dropout_readout=0.1)
    model.save(tmp_path / "model.keras")
    again = keras.saving.load_model(tmp_path / "model.keras")
    assert again.config == model.config
    x = batch()
    np.testing.assert_allclose(again(x), np.asarray(model(x)), atol=1e-6)
