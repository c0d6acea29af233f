"""The averaged weights in the model for a while, and the trained ones back bit by bit."""

import keras
import numpy as np
import pytest

from attention_zoo.training.fused_adam import FusedAdam
from attention_zoo.training.weight_average import WeightAverage


def make_model(use_ema=True):
    keras.utils.set_random_seed(1)
    model = keras.Sequential([keras.Input((5,)), keras.layers.Dense(7), keras.layers.Dense(1)])
    model.compile(FusedAdam(0.1, use_ema=use_ema, ema_momentum=0.9), "mse")
    return model


def draw(n=13):
    generator = np.random.default_rng(0)
    return generator.normal(size=(n, 5)), generator.normal(size=(n, 1))


@pytest.fixture
def trained():
    """Not by `fit`, which ends with the average in the model."""
    model = make_model()
    for _ in range(5):
        model.train_on_batch(*draw())
    return model


def weights(model):
    return [weight.numpy() for weight in model.trainable_variables]


def test_the_average_is_there_inside_and_the_weights_are_back_outside(trained):
    before = weights(trained)
    averages = [a.numpy() for a in trained.optimizer._model_variables_moving_average]
    with WeightAverage(trained):
        for found, average in zip(weights(trained), averages, strict=True):
            np.testing.assert_array_equal(found, average)
    for found, expected, average in zip(weights(trained), before, averages, strict=True):
        np.testing.assert_array_equal(found, expected)
        assert (found != average).any()


def test_they_are_back_after_an_error(trained):
    before = weights(trained)
    with pytest.raises(RuntimeError, match="while measuring"), WeightAverage(trained):
        raise RuntimeError("while measuring")
    for found, expected in zip(weights(trained), before, strict=True):
        np.testing.assert_array_equal(found, expected)


class Watcher(keras.callbacks.Callback):
    """Keeps the trained weights of each epoch, after its validation."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def on_epoch_end(self, epoch, logs=None):
        self.seen.append((weights(self.model), logs.get("val_loss")))


def test_validation_in_fit_sees_the_average_and_training_does_not_notice():
    """However often it is validated, a run ends with the same weights."""
    x, y = draw()
    fit = {"epochs": 4, "shuffle": False, "verbose": 0}
    plain, watched = make_model(), make_model()
    alone, together = Watcher(), Watcher()
    plain.fit(x, y, callbacks=[alone], **fit)
    watched.fit(x, y, validation_data=(x, y), callbacks=[WeightAverage(watched), together], **fit)
    for (expected, _), (found, _) in zip(alone.seen, together.seen, strict=True):
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one, other)
    last, loss = together.seen[-1]
    averaged = watched.evaluate(x, y, verbose=0)  # `fit` has put the average in for good
    assert loss == pytest.approx(averaged, rel=1e-5)
    for weight, value in zip(watched.trainable_variables, last, strict=True):
        weight.assign(value)
    assert watched.evaluate(x, y, verbose=0) != pytest.approx(averaged, rel=1e-3)


def test_nothing_happens_without_an_average_or_before_training():
    for model in (make_model(use_ema=False), make_model()):
        before = weights(model)
        with WeightAverage(model):
            for found, expected in zip(weights(model), before, strict=True):
                np.testing.assert_array_equal(found, expected)
