"""Stages: when they end, and their learning rate."""

import pytest

from attention_zoo.training import Stage


def test_both_criteria_must_hold():
    stage = Stage({2: 1.0}, steps=3, until_loss=0.1, until_accuracy=0.9)
    assert not stage.reached(0.05, 0.8)
    assert not stage.reached(0.5, 0.95)
    assert stage.reached(0.1, 0.9)
    assert not Stage({2: 1.0}, steps=3).reached(0.0, 1.0)


def test_accuracy_criterion_without_the_metric():
    with pytest.raises(ValueError, match="TokenAccuracy"):
        Stage({2: 1.0}, steps=3, until_accuracy=0.9).reached(0.05, None)


@pytest.mark.parametrize(
    "options",
    [
        {"bands": {}},
        {"bands": {0: 1.0}},
        {"bands": {5: 0.0}},
        {"steps": 0},
        {"learning_rate": 0.0},
        {"final_learning_rate": -1.0},
        {"patience": 0},
    ],
)
def test_stage_fields_are_checked(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        Stage(**{"bands": {5: 1.0}, "steps": 3, **options})


def test_learning_rate_falls_along_a_half_cosine():
    stage = Stage({5: 1.0}, steps=8, learning_rate=1.0, final_learning_rate=0.2)
    assert stage.rate_at(0) == pytest.approx(1.0)
    assert stage.rate_at(4) == pytest.approx(0.6)
    assert stage.rate_at(8) == pytest.approx(0.2)
    assert stage.rate_at(99) == pytest.approx(0.2)
    assert Stage({5: 1.0}, steps=8, learning_rate=0.5).rate_at(7) == 0.5
