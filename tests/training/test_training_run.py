"""Training runs: stages, checkpoints, resume, Ctrl-C, log."""

import json
import signal
from pathlib import Path

import keras
import numpy as np
import pytest

from attention_zoo import written_beside as written_beside_module
from attention_zoo.training import CheckpointError, Stage, TrainingRun
from attention_zoo.training import training_run as training_run_module
from attention_zoo.training.checkpoint import read_state
from attention_zoo.training.round_keeper import RoundKeeper
from attention_zoo.training.run_log import RunLog

STAGES = (
    Stage({2: 1.0}, steps=6, learning_rate=0.02),
    Stage({2: 1.0, 5: 2.0}, steps=9, learning_rate=0.02, final_learning_rate=0.001),
)


@pytest.fixture
def make_run(build_model, copy_batches, tmp_path):
    """A function that gives a run over STAGES, in rounds of 3 steps, with a new model."""

    def make(directory="run", stages=STAGES, **options):
        options = {"steps_per_round": 3, "verbose": 0, **options}
        model = options.pop("model", None) or build_model(dropout=0.3)
        return TrainingRun(model, stages, copy_batches, tmp_path / directory, **options)

    return make


@pytest.fixture
def press_ctrl_c(monkeypatch):
    """A function that sends SIGINT before the step of this number (counted over the run)."""

    def at(step):
        original = RoundKeeper.on_train_batch_begin

        def on_train_batch_begin(self, batch, logs=None):
            if self.state.step + batch == step:
                signal.raise_signal(signal.SIGINT)
            original(self, batch, logs)

        monkeypatch.setattr(RoundKeeper, "on_train_batch_begin", on_train_batch_begin)

    return at


def assert_equal_weights(one, other):
    """Weights and optimizer; `test_checkpoint` sees to the random states."""
    for first, second in zip(one.weights, other.weights, strict=True):
        np.testing.assert_array_equal(first, second)
    for first, second in zip(one.optimizer.variables, other.optimizer.variables, strict=True):
        np.testing.assert_array_equal(first, second)


def test_runs_all_stages_and_logs_each_round(make_run, tmp_path):
    result = make_run().train()
    assert result.is_complete
    assert result.step == 15
    rows = RunLog(tmp_path / "run" / "log.csv").rows()
    assert [row["step"] for row in rows] == [3, 6, 9, 12, 15]
    assert [row["stage"] for row in rows] == [1, 1, 2, 2, 2]
    assert [row["max_length"] for row in rows] == [2, 2, 5, 5, 5]
    assert {"loss", "token_accuracy", "sequence_accuracy", "seconds"} <= set(rows[0])
    assert rows[0]["learning_rate"] == 0.02
    np.testing.assert_allclose(rows[-1]["learning_rate"], STAGES[1].rate_at(8), rtol=1e-5)


def test_learns(make_run, tmp_path):
    make_run(stages=(Stage({3: 1.0}, steps=90, learning_rate=0.05),), steps_per_round=30).train()
    rows = RunLog(tmp_path / "run" / "log.csv").rows()
    assert rows[-1]["loss"] < 0.3 * rows[0]["loss"]


@pytest.mark.parametrize("step", [2, 8])
def test_resumed_run_ends_as_an_unbroken_one(make_run, press_ctrl_c, monkeypatch, step):
    """In the first round, in the middle of each stage, and with dropout."""
    unbroken = make_run("unbroken")
    unbroken.train()
    broken = make_run("broken")
    with monkeypatch.context():
        press_ctrl_c(step)
        assert not broken.train().is_complete
        monkeypatch.undo()
    again = make_run("broken")
    has_checkpoint = (again.directory / "last.keras").exists()
    assert has_checkpoint == (step >= 3)
    result = again.train(resume=has_checkpoint)
    assert result.is_complete
    assert result.step == 15
    assert_equal_weights(unbroken.model, again.model)
    columns = ("step", "stage", "loss", "token_accuracy", "learning_rate")
    logs = [RunLog(run.directory / "log.csv").rows() for run in (unbroken, again)]
    one, other = ([[row[c] for c in columns] for row in rows] for rows in logs)
    assert one == other


def test_ctrl_c_keeps_the_best_and_says_how_to_resume(make_run, press_ctrl_c, capsys):
    press_ctrl_c(8)
    run = make_run(resume_hint="type this again")
    result = run.train()
    assert not result.is_complete
    assert result.step == 6
    told = capsys.readouterr().out
    assert "Stopped after step 6" in told
    assert str(run.directory / "best.keras") in told
    assert "type this again" in told
    best = keras.models.load_model(run.directory / "best.keras")
    assert_equal_weights(best, run.model)
    assert not (run.directory / "model.keras").exists()


def test_ctrl_c_before_the_first_round(make_run, press_ctrl_c, capsys):
    press_ctrl_c(1)
    result = make_run(resume_hint="type this again").train()
    assert result.step == 0
    told = capsys.readouterr().out
    assert "nothing was saved yet: start the run again, without resume" in told
    assert "type this again" not in told


def test_ctrl_c_while_saving(make_run, monkeypatch, capsys):
    """What is told, and loaded, is what the disk holds: a best round is there before `last`."""
    original = written_beside_module.os.replace
    saved = []

    def replace(beside, path):
        saved.append(path.name)
        if saved.count("last.keras") == 2:
            signal.raise_signal(signal.SIGINT)
        original(beside, path)

    monkeypatch.setattr(written_beside_module.os, "replace", replace)
    run = make_run()
    result = run.train()
    monkeypatch.undo()
    assert (result.step, result.best_step, result.is_complete) == (6, 6, False)
    told = capsys.readouterr().out
    assert "Stopped after step 6" in told
    assert "at step 6, kept in" in told
    assert read_state(run.directory / "last.keras").step == 6
    assert not list(run.directory.glob("*partial*"))
    assert make_run().train(resume=True).step == 15


def test_a_finished_run_can_be_resumed_and_does_nothing(make_run):
    first = make_run()
    first.train()
    again = make_run()
    result = again.train(resume=True)
    assert result.is_complete
    assert result.step == 15
    assert_equal_weights(first.model, again.model)


def test_the_model_ends_with_the_best_round_of_the_last_stage(make_run, tmp_path):
    run = make_run()
    result = run.train()
    rows = RunLog(tmp_path / "run" / "log.csv").rows()
    best = min((row for row in rows if row["stage"] == 2), key=lambda row: row["loss"])
    assert result.best_step == best["step"]
    np.testing.assert_allclose(result.best_value, best["loss"], rtol=1e-4)
    assert_equal_weights(keras.models.load_model(tmp_path / "run" / "best.keras"), run.model)


def test_best_is_not_the_last_when_the_loss_rises(make_run, build_model, copy_batches):
    """With a learning rate that ruins the model the best round is the first."""
    stage = Stage({2: 1.0}, steps=12, learning_rate=30.0)
    run = make_run(stages=(stage,))
    result = run.train()
    rows = RunLog(run.directory / "log.csv").rows()
    assert result.best_step < 12
    assert result.best_value == pytest.approx(min(row["loss"] for row in rows), rel=1e-4)


def test_a_stage_ends_by_its_loss(make_run):
    run = make_run(stages=(Stage({2: 1.0}, 30, until_loss=100.0), STAGES[1]))
    assert run.train().step == 3 + 9


def test_a_stage_ends_by_its_accuracy(make_run):
    stage = Stage({2: 1.0}, steps=3000, until_accuracy=0.9, learning_rate=0.05)
    run = make_run(stages=(stage,), model=None, steps_per_round=30)
    assert run.train().step < 3000
    rows = RunLog(run.directory / "log.csv").rows()
    assert [row["token_accuracy"] >= 0.9 for row in rows] == [False] * (len(rows) - 1) + [True]


def test_patience_ends_a_stage(make_run):
    stage = Stage({2: 1.0}, steps=60, learning_rate=30.0, patience=2)
    run = make_run(stages=(stage,))
    result = run.train()
    assert result.is_complete
    assert result.step == result.best_step + 2 * 3


def test_validation_decides_what_is_best(make_run):
    source = np.random.default_rng(0).integers(4, 9, (13, 5))
    run = make_run(validation=(source, source))
    result = run.train()
    rows = RunLog(run.directory / "log.csv").rows()
    best = min((row for row in rows if row["stage"] == 2), key=lambda row: row["val_loss"])
    assert result.best_step == best["step"]
    assert result.best_value == pytest.approx(best["val_loss"], rel=1e-4)


def test_a_used_directory_is_refused(make_run):
    make_run().train()
    with pytest.raises(FileExistsError, match=r"already holds a run. Fix: resume"):
        make_run().train()


def test_resume_without_a_checkpoint(make_run):
    with pytest.raises(CheckpointError, match=r"no checkpoint there. Fix"):
        make_run().train(resume=True)


def test_resume_with_other_options_names_them(make_run):
    make_run(identity={"seed": 3}).train()
    with pytest.raises(CheckpointError, match=r"seed = 3, resumed with 4"):
        make_run(identity={"seed": 4}).train(resume=True)
    with pytest.raises(CheckpointError, match="stages"):
        make_run(identity={"seed": 3}, stages=STAGES[:1]).train(resume=True)


def test_resume_with_another_model(make_run, build_model):
    make_run().train()
    with pytest.raises(CheckpointError, match="do not fit this model"):
        make_run(model=build_model(n_symbols=7, dropout=0.3)).train(resume=True)


def test_resume_from_a_damaged_checkpoint(make_run):
    run = make_run()
    run.train()
    (run.directory / "last.keras").write_bytes(b"half a file")
    with pytest.raises(CheckpointError, match=r"holds none.*Fix"):
        make_run().train(resume=True)


def test_a_crash_while_saving_leaves_the_old_checkpoint(make_run, monkeypatch):
    run = make_run()
    calls = []

    def break_down(beside, path):
        calls.append(path)
        if path.name == "last.keras" and calls.count(path) == 2:
            raise OSError("disk full")
        Path(beside).rename(path)

    monkeypatch.setattr(written_beside_module.os, "replace", break_down)
    with pytest.raises(OSError, match="disk full"):
        run.train()
    monkeypatch.undo()
    assert read_state(run.directory / "last.keras").step == 3
    assert make_run().train(resume=True).is_complete


class Killed(BaseException):
    """Stands for a kill: nothing after it runs but the cleaning up of files."""


@pytest.mark.slow
@pytest.mark.parametrize("renames", [0, 1, 2, 7, 9])
def test_a_kill_at_any_rename_changes_nothing(make_run, monkeypatch, renames):
    """Weights, best round and log are those of an unbroken run; even is best, odd last."""
    unbroken = make_run("unbroken")
    whole = unbroken.train()
    original, done = written_beside_module.os.replace, []

    def replace(beside, path):
        if len(done) == renames:
            raise Killed
        done.append(path)
        original(beside, path)

    broken = make_run("broken")
    with monkeypatch.context() as patch:
        patch.setattr(written_beside_module.os, "replace", replace)
        with pytest.raises(Killed):
            broken.train()
    again = make_run("broken")
    result = again.train(resume=renames > 0)
    assert (result.step, result.best_step) == (whole.step, whole.best_step)
    assert result.best_value == whole.best_value
    assert read_state(again.directory / "best.keras").step == whole.best_step
    assert_equal_weights(unbroken.model, again.model)
    one, other = (RunLog(r.directory / "log.csv").rows() for r in (unbroken, again))
    assert [(row["step"], row["loss"]) for row in one] == [
        (row["step"], row["loss"]) for row in other
    ]


def test_publish_writes_model_and_record(make_run):
    run = make_run(identity={"batch_size": 3})
    result = run.train()
    path = run.publish(
        result, {"accuracy": 0.5}, {"task": "copy", "data_licence": "none"}, 7, command="train it"
    )
    assert path == run.directory / "model.keras"
    assert_equal_weights(keras.models.load_model(path), run.model)
    record = json.loads((run.directory / "training.json").read_text())
    assert record["task"] == "copy"
    assert record["metrics"] == {"accuracy": 0.5}
    assert record["seed"] == 7
    assert record["command"] == "train it"
    assert record["steps"] == 15
    assert record["seconds"] > 0
    assert set(record["versions"]) == {"attention-zoo", "tensorflow", "keras"}
    assert record["run"]["batch_size"] == 3
    assert not list(run.directory.glob("*.partial*"))


def test_nan_stops_the_run_and_is_not_saved(make_run, build_model):
    model = build_model(dropout=0.3)
    model.optimizer.clipnorm = None
    stage = Stage({2: 1.0}, steps=30, learning_rate=float("inf"))
    run = make_run(stages=(stage,), model=model)
    with pytest.raises(FloatingPointError, match=r"loss became nan.*Fix"):
        run.train()
    assert not (run.directory / "best.keras").exists()


def test_tensorboard_on_request(make_run):
    pytest.importorskip("tensorboard")
    run = make_run(tensorboard=True)
    run.train()
    events = list((run.directory / "tensorboard").rglob("events.out.tfevents*"))
    assert {path.parent.parent.name for path in events} == {"stage_1", "stage_2"}


def test_tensorboard_that_is_not_installed(make_run, monkeypatch):
    monkeypatch.setattr(training_run_module.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r'pip install "attention-zoo\[tensorboard\]"'):
        make_run(tensorboard=True)


def test_arguments_are_checked(make_run):
    with pytest.raises(ValueError, match="at least one Stage"):
        make_run(stages=())
    with pytest.raises(ValueError, match=r"stage 2, 9, must be a multiple .* 10 steps"):
        make_run(stages=(Stage({2: 1.0}, 5), Stage({2: 1.0}, 9)), steps_per_round=5)
    with pytest.raises(ValueError, match="must be compiled"):
        make_run(model=keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)]))
