"""The two checkpoints of a run, as a kill or a user can leave them."""

import pytest

from attention_zoo.training.checkpoint import CheckpointError, RunState, read_state
from attention_zoo.training.checkpoint_pair import CheckpointPair


@pytest.fixture
def pair(build_model, tmp_path):
    """Rounds of 3 steps; the one of step 6 is the best, the one of step 9 the last."""
    pair, model = CheckpointPair(tmp_path), build_model()
    assert not pair.exists()
    for step, best in ((3, 3), (6, 6), (9, 6)):
        pair.save(model, RunState(step=step, best_step=best), is_best=step == best)
        (tmp_path / f"last_{step}.keras").write_bytes(pair.last.read_bytes())
        (tmp_path / f"best_{step}.keras").write_bytes(pair.best.read_bytes())
    return pair


def leave(pair, last, best):
    """Let the pair hold the files of these steps, or none."""
    for path, step in ((pair.last, last), (pair.best, best)):
        path.unlink(missing_ok=True)
        if step:
            saved = path.with_name(f"{path.stem}_{step}.keras")
            path.write_bytes(saved.read_bytes())


@pytest.mark.parametrize(
    ("last", "best", "settled"),
    [
        (9, 6, (9, 6)),
        (3, 6, (6, 6)),  # killed between best and last
        (None, 3, (3, 3)),  # the same in the first round
        (6, 3, (6, 6)),  # last names itself the best
        (6, None, (6, 6)),
    ],
)
def test_settled(pair, last, best, settled):
    leave(pair, last, best)
    assert pair.exists()
    state = pair.settle()
    assert (state.step, state.best_step) == settled
    assert read_state(pair.last).step == settled[0]
    assert read_state(pair.best).step == settled[1]


@pytest.mark.parametrize(("best", "got"), [(3, "got step 3"), (None, "got no file")])
def test_a_best_round_that_is_lost(pair, best, got):
    leave(pair, 9, best)
    with pytest.raises(CheckpointError, match=rf"best.keras: expected .* step 6, .*{got}.*Fix"):
        pair.settle()


def test_nothing_to_settle(pair):
    leave(pair, None, None)
    assert not pair.exists()
    with pytest.raises(CheckpointError, match="no checkpoint there"):
        pair.settle()
