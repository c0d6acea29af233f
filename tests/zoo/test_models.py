"""What every model of the zoo must do as a Keras model."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from attention_zoo import ModelConfig, Seq2Seq
from attention_zoo.training.losses import MaskedCrossEntropy
from attention_zoo.training.metrics import Perplexity, SequenceAccuracy, TokenAccuracy
from attention_zoo.vocabulary import BOS, PAD


def compiled(model, **kwargs):
    model.compile(
        optimizer=kwargs.pop("optimizer", None) or keras.optimizers.Adam(0.01),
        loss=MaskedCrossEntropy(),
        metrics=[TokenAccuracy(), SequenceAccuracy(), Perplexity()],
        **kwargs,
    )
    return model


def numpy_results(logits, target):
    """loss, token accuracy, sequence accuracy, perplexity over the real tokens."""
    logits, real = np.asarray(logits, "float64"), target != PAD
    log_p = logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
    nll = -np.take_along_axis(log_p, target[..., None], axis=-1)[..., 0]
    hits = logits.argmax(axis=-1) == target
    return {
        "loss": nll[real].mean(),
        "token_accuracy": hits[real].mean(),
        "sequence_accuracy": (hits | ~real).all(axis=1).mean(),
        "perplexity": np.exp(nll[real].mean()),
    }


def test_compile_fit_evaluate_predict_save_load(model_name, new_model, batch, tmp_path):
    x = batch(n=6)
    model = compiled(new_model(model_name))
    history = model.fit(x, batch_size=3, epochs=3, verbose=0)
    assert np.isfinite(history.history["loss"]).all()
    assert history.history["loss"][-1] < history.history["loss"][0]
    results = model.evaluate(x, batch_size=6, verbose=0, return_dict=True)
    logits = model.predict(x, batch_size=3, verbose=0)
    assert logits.shape == (6, 6, 11)
    assert logits.dtype == np.float32
    for name, value in numpy_results(logits, x["target"]).items():
        assert results[name] == pytest.approx(value, abs=1e-4), name

    model.save(tmp_path / "model.keras")
    again = keras.saving.load_model(tmp_path / "model.keras")
    assert type(again) is Seq2Seq
    assert again.config == model.config
    np.testing.assert_allclose(np.asarray(again(x)), np.asarray(model(x)), atol=1e-6)
    assert again.optimizer.iterations.numpy() == model.optimizer.iterations.numpy() == 6


def test_tf_data_and_labels_of_ones_own_give_what_numpy_gives(new_model, batch):
    x = batch(n=6)
    model = compiled(new_model("bahdanau_gru"), run_eagerly=True)
    expected = model.evaluate(x, batch_size=3, verbose=0, return_dict=True)
    data = tf.data.Dataset.from_tensor_slices(x).batch(3)
    assert model.evaluate(data, verbose=0, return_dict=True) == pytest.approx(expected, abs=1e-5)
    pairs = tf.data.Dataset.from_tensor_slices((x, x["target"])).batch(3)
    assert model.evaluate(pairs, verbose=0, return_dict=True) == pytest.approx(expected, abs=1e-5)
    labelled = model.evaluate(x, x["target"], batch_size=3, verbose=0, return_dict=True)
    assert labelled == pytest.approx(expected, abs=1e-5)
    model.fit(data, epochs=1, verbose=0)
    # the label is what is scored, the target what is read
    other = np.where(x["target"] == PAD, PAD, 3).astype("int32")
    results = model.evaluate(x, other, batch_size=6, verbose=0, return_dict=True)
    wanted = numpy_results(model(x), other)
    assert {name: results[name] for name in wanted} == pytest.approx(wanted, abs=1e-4)


def test_batches_of_many_lengths(new_model, batch):
    def batches():
        for seed, (T_enc, T_dec) in enumerate([(5, 6), (3, 2), (7, 4)]):
            yield batch(n=2 + seed, T_enc=T_enc, T_dec=T_dec, seed=seed)

    spec = {name: tf.TensorSpec((None, None), tf.int32) for name in ("source", "target")}
    data = tf.data.Dataset.from_generator(batches, output_signature=spec)
    model = compiled(new_model("luong_general_gru"))
    history = model.fit(data, verbose=0)
    assert np.isfinite(history.history["loss"]).all()


def test_padding_is_ignored_in_loss_and_metrics(model_name, shared_model, batch):
    model, x = shared_model(model_name), batch()
    padded = {name: np.pad(ids, ((0, 0), (0, 3))) for name, ids in x.items()}
    logits, wider = np.asarray(model(x)), np.asarray(model(padded))
    np.testing.assert_allclose(wider[:, :6], logits, atol=1e-4)
    loss = MaskedCrossEntropy()
    assert float(loss(padded["target"], wider)) == pytest.approx(
        float(loss(x["target"], logits)), abs=1e-4
    )
    for metric in (TokenAccuracy(), SequenceAccuracy(), Perplexity()):
        values = []
        for target, y in ((x["target"], logits), (padded["target"], wider)):
            metric.reset_state()
            metric.update_state(target, y)
            values.append(float(metric.result()))
        assert values[0] == pytest.approx(values[1], rel=1e-4)


def test_a_logit_sees_its_row_of_the_source_and_the_targets_before_it(
    any_name, shared_model, batch
):
    model, x = shared_model(any_name), batch()
    x["target"] = np.maximum(x["target"], 4)
    before = np.asarray(model(x))
    changed = {name: ids.copy() for name, ids in x.items()}
    changed["target"][:3, 3:] = 3
    changed["source"][3, 0] = 3
    after = np.asarray(model(changed))
    np.testing.assert_array_equal(after[:3, :4], before[:3, :4])
    assert (np.abs(after[:3, 4:] - before[:3, 4:]).max(axis=(1, 2)) > 1e-3).all()
    assert np.abs(after[3] - before[3]).max() > 1e-2
    np.testing.assert_array_equal(after[4:], before[4:])
    alone = np.asarray(model({name: ids[4:5] for name, ids in x.items()}))
    np.testing.assert_allclose(alone[0], before[4], atol=1e-4)


def test_one_step_at_a_time_is_teacher_forcing(any_name, shared_model, batch):
    model, x = shared_model(any_name), batch()
    logits, alignments = np.asarray(model(x)), np.asarray(model.alignments(x))
    states, prepared = model.start(tf.constant(x["source"]))
    weights = model.loop_weights()
    token = np.full(len(x["source"]), BOS, "int32")
    for t in range(x["target"].shape[1]):
        step_logits, step_alignments, states = model.decode_step(
            tf.constant(token), states, prepared, weights if t % 2 else None
        )
        np.testing.assert_allclose(step_logits, logits[:, t], atol=1e-4)
        np.testing.assert_allclose(step_alignments, alignments[:, t], atol=1e-5)
        token = x["target"][:, t]


def test_every_weight_is_trained(any_name, new_model, with_drawn_weights, batch):
    model, x = new_model(any_name), batch()
    x["source"][2] = PAD
    x["target"][3] = PAD
    with_drawn_weights(model)
    with tf.GradientTape() as tape:
        loss = MaskedCrossEntropy()(x["target"], model(x, training=True))
    gradients = tape.gradient(loss, model.trainable_variables)
    assert len({v.path for v in model.variables}) == len(model.variables)
    for variable, gradient in zip(model.trainable_variables, gradients, strict=True):
        assert gradient is not None, variable.path
        gradient = np.asarray(tf.convert_to_tensor(gradient))
        assert np.isfinite(gradient).all(), variable.path
        assert np.abs(gradient).max() > 0, variable.path


def test_a_variant_is_saved_with_all_it_is(variant, new_model, with_drawn_weights, batch, tmp_path):
    model, x = with_drawn_weights(new_model(variant)), batch()
    model.save(tmp_path / "model.keras")
    again = keras.saving.load_model(tmp_path / "model.keras")
    assert again.config == model.config
    np.testing.assert_array_equal(np.asarray(again(x)), np.asarray(model(x)))
    model.save_weights(tmp_path / "model.weights.h5")
    other = Seq2Seq.from_config(model.get_config())
    other.load_weights(tmp_path / "model.weights.h5")
    np.testing.assert_array_equal(np.asarray(other(x)), np.asarray(model(x)))


def test_dropout_works_in_training_alone(new_model, batch):
    model, x = new_model("bahdanau_gru", dropout=0.5, encoder_layers=2), batch()
    still = np.asarray(model(x))
    np.testing.assert_array_equal(np.asarray(model(x)), still)
    first, second = (np.asarray(model(x, training=True)) for _ in range(2))
    assert np.abs(first - still).max() > 1e-4
    assert np.abs(first - second).max() > 1e-4
    greedy = [model.greedy(x["source"])["scores"] for _ in range(2)]
    np.testing.assert_array_equal(*greedy)


def test_tied_embeddings_are_one_matrix(new_model):
    def shapes(**overrides):
        model = new_model("luong_general_gru", vocab_source=11, **overrides)
        return [tuple(w.shape) for w in model.weights]

    none, target, both = (shapes(tied_embeddings=kind) for kind in ("none", "target", "all"))
    assert none.count((11, 5)) == 2
    assert none.count((7, 11)) == 1  # W_y
    assert target.count((11, 5)) == 2
    assert (7, 11) not in target
    assert (5, 11) not in target
    assert both.count((11, 5)) == 1


def test_xla_trains_as_without(new_model, batch):
    losses = []
    for jit_compile in (False, True):
        keras.utils.set_random_seed(3)
        model = compiled(
            new_model("feeding"), optimizer=keras.optimizers.SGD(0.1), jit_compile=jit_compile
        )
        history = model.fit(batch(n=4), batch_size=4, epochs=3, verbose=0, shuffle=False)
        losses.append(history.history["loss"])
    np.testing.assert_allclose(losses[0], losses[1], atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "policy"),
    [
        ("bahdanau_lstm", "mixed_float16"),
        ("feeding", "mixed_bfloat16"),
    ],
)
def test_half_precision(new_model, batch, name, policy):
    x, config = batch(), new_model(name).config
    x["source"][2] = PAD
    model = compiled(Seq2Seq(config.replace(dropout=0.1, encoder_layers=2), dtype=policy))
    assert {part.compute_dtype for part in model._flatten_layers()} == {policy[6:]}
    model.fit(x, verbose=0)
    logits = np.asarray(model(x))
    assert logits.dtype == np.float32
    assert np.isfinite(logits).all()
    result = model.greedy(x["source"])
    assert str(result["scores"].dtype) == "float32"
    assert all(np.isfinite(value).all() for value in result.values())


def test_learns_to_copy_four_sequences(new_model):
    keras.utils.set_random_seed(5)
    ids = np.array([[4, 5, 6, 2, 0], [7, 4, 2, 0, 0], [9, 9, 8, 10, 2], [5, 2, 0, 0, 0]], "int32")
    x = {"source": ids, "target": ids}
    model = compiled(new_model("luong_general_lstm", units=29, d_emb=13, max_length=5))
    data = tf.data.Dataset.from_tensors(x).repeat(120)
    model.fit(data, epochs=1, verbose=0)
    assert model.evaluate(x, verbose=0, return_dict=True)["sequence_accuracy"] == 1.0
    np.testing.assert_array_equal(model.greedy(ids)["tokens"], ids)
    np.testing.assert_array_equal(model.beam_search(ids)["tokens"][:, 0], ids)


@pytest.mark.parametrize(
    ("broken", "match"),
    [
        (lambda x: {"source": x["source"]}, "target is missing"),
        (lambda x: {"target": x["target"]}, "source is missing"),
        (lambda x: x["source"], "source is missing"),
        (lambda x: x | {"source": x["source"].astype("float32")}, "source has dtype float32"),
        (lambda x: x | {"target": x["target"][0]}, r"target has shape \(6,\).*\(batch, T_dec\)"),
        (lambda x: x | {"target": x["target"][:1]}, r"target has shape \(1, 6\)"),
        (lambda x: x | {"source": x["source"][:, :0]}, "source has shape .*T_enc of at least 1"),
    ],
)
def test_bad_inputs_are_refused_by_name(shared_model, batch, broken, match):
    with pytest.raises(ValueError, match=match):
        shared_model("bahdanau_gru")(broken(batch()))


def test_unequal_batches_fail_in_a_graph_of_unknown_batch(shared_model, batch):
    model, x = shared_model("luong_general_gru"), batch()
    spec = {name: tf.TensorSpec((None, None), tf.int32) for name in x}
    for jit_compile in (False, True):
        call = tf.function(lambda x: model(x), input_signature=[spec], jit_compile=jit_compile)
        for name in x:
            broken = {n: tf.constant(ids[:1] if n == name else ids[:2]) for n, ids in x.items()}
            with pytest.raises((tf.errors.InvalidArgumentError, ValueError)):
                call(broken)


def test_a_symbolic_call_gives_the_shape_of_the_logits(any_name, new_model):
    inputs = {n: keras.Input((None,), dtype="int32") for n in ("source", "target")}
    logits = new_model(any_name)(inputs)
    assert logits.shape == (None, None, 11)
    assert logits.dtype == "float32"


def test_made_from_a_config_or_its_dict():
    config = ModelConfig(vocab_source=13, vocab_target=11, d_emb=5, units=7)
    assert Seq2Seq(config).config == Seq2Seq(config.to_dict()).config == config
    with pytest.raises(ValueError, match="'unit' is no ModelConfig field"):
        Seq2Seq({"unit": 7})


@pytest.mark.parametrize(("attention", "kind"), [("bahdanau", "backward"), ("luong", "copy")])
def test_the_decoder_begins_as_the_papers_say(attention, kind, batch):
    """Bahdanau: s_0 = tanh(W h<-_1 + b). Luong: s_0 = h_T."""
    config = ModelConfig(
        attention=attention,
        vocab_source=13,
        vocab_target=11,
        d_emb=5,
        units=7,
        bidirectional=kind == "backward",
    )
    model, source = Seq2Seq(config), tf.constant(batch()["source"])
    assert model.bridge.kind == kind
    states, _ = model.start(source)
    encoded = model.encoder(model.source_embedding(source), mask=source != PAD)
    memory = np.asarray(encoded["memory"])
    if kind == "copy":
        last = (np.asarray(source) != PAD).sum(axis=1) - 1
        expected = memory[np.arange(len(memory)), last]
    else:
        W, b = (w.numpy() for w in model.bridge.weights)
        expected = np.tanh(memory[:, 0, 7:] @ W + b)
    np.testing.assert_allclose(states[0], expected, atol=1e-5)


def test_the_readout_of_bahdanau(shared_model, batch):
    """logits = W_y tanh(W_r [s_t; c_t; y_{t-1}]) + b."""
    model, x = shared_model("bahdanau_gru"), batch()
    shifted = np.concatenate([np.full((7, 1), BOS), x["target"][:, :-1]], axis=1)
    embedded = np.asarray(model.target_embedding(shifted))
    encoded = model._encode(tf.constant(x["source"]))
    result = model.decoder(embedded, **encoded)
    joined = np.concatenate([result["outputs"], result["contexts"], embedded], axis=-1)
    W_r, b_r = (w.numpy() for w in model.readout.weights)
    W_y, b = model.output_layer.W_y.numpy(), model.output_layer.b.numpy()
    expected = np.tanh(joined @ W_r + b_r) @ W_y + b
    np.testing.assert_allclose(np.asarray(model(x)), expected, atol=1e-4)
