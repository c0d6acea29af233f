"""The time that training waits for data."""

import time

import keras
import numpy as np
import pytest
import tensorflow as tf

from attention_zoo.training import DataWait


def slow_dataset(seconds, n=6):
    def batches():
        for _ in range(n):
            time.sleep(seconds)
            yield np.ones((2, 3), np.float32), np.ones((2, 1), np.float32)

    spec = (tf.TensorSpec((2, 3)), tf.TensorSpec((2, 1)))
    return tf.data.Dataset.from_generator(batches, output_signature=spec)


class Sleep(keras.callbacks.Callback):
    """Stands for the work of a step."""

    def __init__(self, seconds):
        super().__init__()
        self.seconds = seconds

    def on_train_batch_end(self, batch, logs=None):
        time.sleep(self.seconds)


def waited(data_seconds, step_seconds):
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    model.fit(np.ones((2, 3)), np.ones((2, 1)), verbose=0)  # traced before the clock runs
    wait = DataWait()
    history = model.fit(
        wait.watch(slow_dataset(data_seconds).prefetch(2)),
        steps_per_epoch=3,
        epochs=2,
        callbacks=[wait, Sleep(step_seconds)],
        shuffle=False,
        verbose=0,
    )
    shares = history.history["data_wait"]
    assert len(shares) == 2
    assert all(0 <= share <= 1 for share in shares)
    return shares[1]


def test_slow_data_is_most_of_the_time():
    assert waited(0.1, 0.0) > 0.6


def test_data_made_during_the_step_is_not_waited_for():
    assert waited(0.02, 0.1) < 0.15


def test_data_that_takes_twice_as_long_as_a_step_is_waited_for_half_the_time():
    assert 0.3 < waited(0.2, 0.1) < 0.7


def test_watching_changes_no_batch():
    dataset = tf.data.Dataset.range(5).map(lambda x: {"source": tf.fill((2, x), x)})
    watching = DataWait().watch(dataset)
    assert watching.cardinality() == 5
    plain, watched = (list(d.as_numpy_iterator()) for d in (dataset, watching))
    assert len(plain) == len(watched) == 5
    for one, other in zip(plain, watched, strict=True):
        np.testing.assert_array_equal(one["source"], other["source"])


def test_an_error_in_the_data_is_not_lost():
    def broken():
        yield 1
        raise RuntimeError("the data broke")

    dataset = tf.data.Dataset.from_generator(broken, output_signature=tf.TensorSpec((), tf.int32))
    with pytest.raises(tf.errors.OpError, match="the data broke"):
        list(DataWait().watch(dataset))
