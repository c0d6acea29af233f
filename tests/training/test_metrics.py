"""Metrics against counts made by hand in NumPy."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from attention_zoo.layers.shapes import ShapeError
from attention_zoo.training import Perplexity, SequenceAccuracy, TokenAccuracy
from attention_zoo.vocabulary import PAD

METRICS = [TokenAccuracy, SequenceAccuracy, Perplexity]
VOCAB = 7


def random_batch(batch: int, t_dec: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Targets of differing lengths, the last row of padding alone; about half of them right."""
    generator = np.random.default_rng(seed)
    target = generator.integers(1, VOCAB, (batch, t_dec)).astype(np.int32)
    lengths = generator.integers(1, t_dec + 1, batch)
    lengths[-1] = 0
    target[np.arange(t_dec) >= lengths[:, None]] = PAD
    logits = generator.normal(size=(batch, t_dec, VOCAB)).astype(np.float32)
    helped = generator.random((batch, t_dec)) < 0.7
    np.put_along_axis(
        logits, target[..., None], np.where(helped, 5.0, -5.0)[..., None].astype(np.float32), -1
    )
    return target, logits


def count(name: str, target: np.ndarray, logits: np.ndarray, weight: np.ndarray):
    """(sum, weight) of one batch, token by token."""
    total = weights = 0.0
    for row, scores, row_weight in zip(target, logits.astype(np.float64), weight, strict=True):
        real = [t for t in range(len(row)) if row[t] != PAD]
        if not real:
            continue
        right = {t: np.argmax(scores[t]) == row[t] for t in real}
        if name == "SequenceAccuracy":
            mean = np.mean([row_weight[t] for t in real])
            total += mean * all(right[t] for t in real if row_weight[t] != 0)
            weights += mean
            continue
        for t in real:
            nll = np.log(np.exp(scores[t]).sum()) - scores[t, row[t]]
            total += row_weight[t] * (right[t] if name == "TokenAccuracy" else nll)
            weights += row_weight[t]
    return total, weights


def expected(name: str, batches) -> float:
    sums = np.sum([count(name, *batch) for batch in batches], axis=0)
    ratio = sums[0] / sums[1]
    return np.exp(ratio) if name == "Perplexity" else ratio


@pytest.mark.parametrize("metric_class", METRICS)
@pytest.mark.parametrize("weighting", ["none", "sequence", "token", "some tokens 0"])
def test_over_batches_of_differing_size(metric_class, weighting):
    metric = metric_class()
    batches = []
    for seed, (batch, t_dec) in enumerate([(5, 3), (11, 2), (7, 13)]):
        target, logits = random_batch(batch, t_dec, seed)
        generator = np.random.default_rng(seed + 100)
        given, full = None, np.ones(target.shape)
        if weighting == "sequence":
            given = generator.uniform(0.1, 2, batch)
            full = np.repeat(given[:, None], t_dec, axis=1)
        elif weighting == "token":
            given = full = generator.uniform(0.1, 2, target.shape)
        elif weighting == "some tokens 0":
            given = full = generator.integers(0, 2, target.shape).astype(np.float64)
        metric.update_state(target, logits, sample_weight=given)
        batches.append((target, logits, full))
    assert 0.05 < expected("TokenAccuracy", batches) < 0.95
    np.testing.assert_allclose(metric.result(), expected(metric_class.__name__, batches), rtol=1e-5)


def test_perplexity_is_not_the_mean_over_batches():
    metric, means = Perplexity(), []
    for seed, size in enumerate([(2, 3), (17, 11)]):
        target, logits = random_batch(*size, seed)
        metric.update_state(target, logits)
        alone = Perplexity()
        alone.update_state(target, logits)
        means.append(float(alone.result()))
    assert abs(float(metric.result()) - np.mean(means)) > 0.01


@pytest.mark.parametrize(
    ("metric_class", "value"), [(TokenAccuracy, 0), (SequenceAccuracy, 0), (Perplexity, 1)]
)
def test_padding_alone(metric_class, value):
    metric = metric_class()
    metric.update_state(np.zeros((3, 5), np.int32), np.ones((3, 5, VOCAB), np.float32))
    assert float(metric.result()) == value


@pytest.mark.parametrize("metric_class", METRICS)
def test_reset(metric_class):
    metric, fresh = metric_class(), metric_class()
    metric.update_state(*random_batch(5, 3, 0))
    metric.reset_state()
    for one in (metric, fresh):
        one.update_state(*random_batch(5, 3, 1))
    assert float(metric.result()) == float(fresh.result())


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("metric_class", METRICS)
def test_half_precision_logits(metric_class, dtype):
    target, logits = random_batch(5, 3, 0)
    half = tf.cast(logits * 7.0, dtype)
    batch = (target, tf.cast(half, "float32").numpy(), np.ones(target.shape))
    metric = metric_class()
    metric.update_state(target, half)
    np.testing.assert_allclose(metric.result(), expected(metric_class.__name__, [batch]), rtol=1e-5)


def test_in_half_precision_it_still_counts_beyond_2048():
    """In float16, 2048 + 1 = 2048."""
    before = keras.config.floatx()
    keras.config.set_floatx("float16")
    try:
        metric = TokenAccuracy()
    finally:
        keras.config.set_floatx(before)
    target, logits = np.ones((41, 61), np.int32), np.zeros((41, 61, VOCAB), np.float32)
    logits[..., 1] = 1.0
    for _ in range(2):
        metric.update_state(target, logits)
    assert float(metric.weight) == 2 * 41 * 61
    assert float(metric.result()) == 1.0


@pytest.mark.parametrize("metric_class", METRICS)
def test_config_round_trip(metric_class):
    metric = metric_class(name="mine")
    again = keras.metrics.deserialize(keras.metrics.serialize(metric))
    assert type(again) is metric_class
    assert again.name == "mine"


@pytest.mark.parametrize("metric_class", METRICS)
def test_shapes_that_do_not_belong_together(metric_class):
    with pytest.raises(ShapeError, match="logits"):
        metric_class().update_state(np.ones((3, 5), np.int32), np.ones((3, 4, 7), np.float32))


def test_in_a_saved_model_without_custom_objects(build_model, tmp_path):
    model = build_model()
    source = np.random.default_rng(0).integers(4, 9, (13, 5))
    model.fit(source, source, verbose=0)
    model.save(tmp_path / "model.keras")
    again = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_allclose(
        again.evaluate(source, source, verbose=0), model.evaluate(source, source, verbose=0)
    )
