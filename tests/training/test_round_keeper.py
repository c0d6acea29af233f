"""What a round's loss leads to, told round by round."""

import pytest

from attention_zoo.training import Stage
from attention_zoo.training.checkpoint import RunState, read_state
from attention_zoo.training.round_keeper import RoundKeeper


@pytest.fixture
def play(build_model, tmp_path):
    """A function that tells a keeper the losses of rounds of 3 steps and gives its state."""

    def run(stages, losses):
        keeper = RoundKeeper(stages, RunState(), 3, tmp_path)
        keeper.set_model(build_model())
        for number, loss in enumerate(losses):
            keeper.on_epoch_begin(number)
            keeper.on_epoch_end(number, {"loss": loss})
        return keeper.state

    return run


def test_the_first_round_of_a_harder_stage_replaces_the_best(play, tmp_path):
    stages = (Stage({2: 1.0}, steps=6), Stage({5: 1.0}, steps=9))
    state = play(stages, [0.3, 0.1, 0.9, 0.7])
    assert (state.best_stage, state.best_step, state.best_cost) == (1, 12, 0.7)
    assert read_state(tmp_path / "best.keras").step == 12
    assert read_state(tmp_path / "last.keras").step == 12


def test_a_worse_round_leaves_the_best(play, tmp_path):
    state = play((Stage({2: 1.0}, steps=9),), [0.3, 0.1, 0.2])
    assert (state.best_step, state.stale_rounds, state.stage) == (6, 0, 1)
    assert read_state(tmp_path / "best.keras").step == 6
    assert read_state(tmp_path / "last.keras").step == 9


def test_patience_begins_anew_with_each_stage(play):
    stages = (Stage({2: 1.0}, steps=6), Stage({5: 1.0}, steps=30, patience=2))
    losses = [0.1, 0.2, 0.9, 0.95]
    assert play(stages, losses).stage == 1
    assert play(stages, [*losses, 0.95]).stage == 2


def test_stale_rounds_of_a_stage_that_ended_are_forgotten(play):
    stages = (Stage({2: 1.0}, steps=9), Stage({5: 1.0}, steps=30))
    state = play(stages, [0.1, 0.2, 0.3])
    assert (state.stage, state.stage_step, state.stale_rounds) == (1, 0, 0)
