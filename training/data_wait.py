"""How long training waits for its data."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import keras

if TYPE_CHECKING:
    import tensorflow as tf


class DataWait(keras.callbacks.Callback):
    """Adds `data_wait` to the logs of each epoch: the share of its time spent waiting for batches.

    `fit` fetches a batch inside its compiled step, where no callback sees it. So the wait is
    measured in the dataset: what `watch` returns does nothing but ask for the next batch, when it
    is asked itself, and keep the time. Put the callback before those that read the logs.

    >>> wait = DataWait()
    >>> model.fit(wait.watch(batches.dataset(0, 1000)), callbacks=[wait])  # doctest: +SKIP
    """

    def __init__(self) -> None:
        super().__init__()
        self.seconds = 0.0
        self._began = 0.0
        self._before = 0.0

    def watch(self, dataset: tf.data.Dataset) -> tf.data.Dataset:
        """The same batches, with the time that each was waited for added to `seconds`."""
        import tensorflow as tf

        def timed() -> Iterator[Any]:
            batches = dataset.as_numpy_iterator()
            while True:
                began = time.perf_counter()
                batch = next(batches, None)
                self.seconds += time.perf_counter() - began
                if batch is None:
                    return
                yield batch

        options = tf.data.Options()
        # a prefetch behind this one would be what is timed, not the training
        options.experimental_optimization.inject_prefetch = False
        watched = tf.data.Dataset.from_generator(timed, output_signature=dataset.element_spec)
        count = dataset.cardinality()
        if count >= 0:  # known: Keras warns at the end of an epoch whose length it did not know
            watched = watched.apply(tf.data.experimental.assert_cardinality(count))
        return watched.with_options(options)

    def on_epoch_begin(self, epoch: int, logs: dict[str, float] | None = None) -> None:
        self._began, self._before = time.perf_counter(), self.seconds

    def on_epoch_end(self, epoch: int, logs: dict[str, float] | None = None) -> None:
        if logs is not None:
            passed = time.perf_counter() - self._began
            logs["data_wait"] = (self.seconds - self._before) / passed
