"""Scheduled sampling: what the decoder reads in training."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from attention_zoo import create_model
from attention_zoo.seq2seq import Seq2Seq
from attention_zoo.training.losses import MaskedCrossEntropy
from attention_zoo.training.sampled_seq2seq import SampledSeq2Seq
from attention_zoo.vocabulary import PAD

STEPS = 40
SIZES = {"vocab_source": 23, "vocab_target": 23, "d_emb": 5, "units": 7, "max_length": 9}


def make_model(share, **options):
    keras.utils.set_random_seed(2)
    plain = create_model("bahdanau_gru", **SIZES, **options)
    model = SampledSeq2Seq(plain.config, share=share, steps=STEPS)
    generator = np.random.default_rng(0)
    for weight in model.trainable_variables:
        weight.assign(generator.normal(size=weight.shape))
    model.compile(keras.optimizers.Adam(0.01), MaskedCrossEntropy())
    return model


@pytest.fixture(scope="module")
def batch():
    generator = np.random.default_rng(1)
    ids = generator.integers(4, 23, (2, 67, 29)).astype(np.int32)
    ids[:, 3:9, 11:] = PAD
    return {"source": ids[0], "target": ids[1]}


@pytest.fixture
def read(monkeypatch):
    """A function (model, batch, step, training) -> [what each pass of the decoder read]."""
    original = Seq2Seq.call

    def run(model, batch, step, training=True):
        passes = []

        def call(self, inputs, training=False):
            passes.append(np.array(inputs.get("read", inputs["target"])))
            return original(self, inputs, training=training)

        monkeypatch.setattr(Seq2Seq, "call", call)
        model.optimizer.iterations.assign(step)
        model(batch, training=training)
        monkeypatch.setattr(Seq2Seq, "call", original)
        return passes

    return run


def guesses_of(model, batch):
    return np.argmax(Seq2Seq.call(model, batch), axis=-1)


@pytest.mark.parametrize(("step", "part"), [(STEPS // 4, 0.25), (STEPS, 1.0), (3 * STEPS, 1.0)])
def test_guesses_are_read_with_a_probability_that_rises_to_the_share(read, batch, step, part):
    share = 0.6
    model = make_model(share)
    right, mixed = read(model, batch, step)
    target = batch["target"]
    np.testing.assert_array_equal(right, target)
    guesses = guesses_of(model, batch)
    could = (target != PAD) & (guesses != target)
    assert could.sum() > 1000
    np.testing.assert_array_equal(mixed[~could], target[~could])
    is_guess = mixed[could] == guesses[could]
    np.testing.assert_array_equal(mixed[could][~is_guess], target[could][~is_guess])
    p = share * part
    assert abs(is_guess.mean() - p) < 5 * np.sqrt(p * (1 - p) / could.sum())


@pytest.mark.parametrize(
    ("share", "step", "training"), [(0.0, STEPS, True), (0.9, 0, True), (0.9, STEPS, False)]
)
def test_no_guess_is_read(read, batch, share, step, training):
    """Without a share, at the first step, and outside training."""
    passes = read(make_model(share), batch, step, training)
    assert len(passes) == (2 if share and training else 1)
    for found in passes:
        np.testing.assert_array_equal(found, batch["target"])


def test_each_step_draws_anew_and_a_seed_gives_the_same(read, batch):
    model = make_model(0.5)
    first, second = (read(model, batch, STEPS)[-1] for _ in range(2))
    assert (first != second).any()
    np.testing.assert_array_equal(read(make_model(0.5), batch, STEPS)[-1], first)


def test_no_gradient_goes_through_the_guesses(read, batch):
    """It is that of a model that is given the mixed tokens."""
    model = make_model(0.5)
    model.optimizer.iterations.assign(STEPS)
    state = model.seed_generator.state.numpy()
    mixed = read(model, batch, STEPS)[-1]
    model.seed_generator.state.assign(state)

    def gradients(call):
        with tf.GradientTape() as tape:
            loss = MaskedCrossEntropy()(batch["target"], call())
        return tape.gradient(loss, [weight.value for weight in model.trainable_variables])

    found = gradients(lambda: model(batch, training=True))
    expected = gradients(lambda: Seq2Seq.call(model, {**batch, "read": mixed}, training=True))
    for one, other in zip(found, expected, strict=True):
        one, other = tf.convert_to_tensor(one), tf.convert_to_tensor(other)
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-6)


def test_without_a_share_it_trains_as_the_plain_model(batch):
    models = [make_model(0.0), None]
    plain = models[1] = Seq2Seq(models[0].config)
    plain.set_weights(models[0].get_weights())
    plain.compile(keras.optimizers.Adam(0.01), MaskedCrossEntropy())
    one, other = (float(model.train_on_batch(batch)) for model in models)
    assert one == other
    for found, expected in zip(*(m.trainable_variables for m in models), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_trains_in_a_graph_with_sampling(batch):
    model = make_model(0.5)
    losses = [float(model.train_on_batch(batch)) for _ in range(25)]
    assert losses[-1] < 0.8 * losses[0]


def test_config_and_file_round_trip(batch, tmp_path):
    model = make_model(0.3)
    config = model.get_config()
    assert (config["share"], config["steps"]) == (0.3, STEPS)
    model.save(tmp_path / "model.keras")
    again = keras.saving.load_model(tmp_path / "model.keras")
    assert (again.share, again.steps) == (0.3, STEPS)
    np.testing.assert_array_equal(again(batch), model(batch))
