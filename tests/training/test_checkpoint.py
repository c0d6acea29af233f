"""Checkpoints beside what a run does with them."""

import zipfile

import keras
import numpy as np
import pytest

from attention_zoo.training.checkpoint import (
    CheckpointError,
    RunState,
    load_checkpoint,
    read_state,
    save_checkpoint,
)


@pytest.fixture
def trained(build_model):
    model = build_model(dropout=0.5)
    source = np.random.default_rng(0).integers(4, 9, (13, 5))
    model.fit(source, source, batch_size=3, epochs=2, verbose=0)
    return model


def test_round_trip(trained, build_model, tmp_path):
    path = tmp_path / "last.keras"
    state = RunState(step=7, stage=1, stage_step=3, best_cost=0.25, identity={"seed": 3})
    save_checkpoint(path, trained, state)
    other = build_model(dropout=0.5, seed=1)
    assert load_checkpoint(path, other) == state
    assert read_state(path) == state
    pairs = [
        *zip(trained.variables, other.variables, strict=True),
        *zip(trained.optimizer.variables, other.optimizer.variables, strict=True),
    ]
    assert any("seed_generator" in variable.path for variable, _ in pairs)
    for one, again in pairs:
        np.testing.assert_array_equal(one, again)
    assert [path.name for path in tmp_path.iterdir()] == ["last.keras"]


def test_keras_reads_a_checkpoint_too(trained, tmp_path):
    save_checkpoint(tmp_path / "last.keras", trained, RunState())
    model = keras.models.load_model(tmp_path / "last.keras")
    for one, again in zip(trained.weights, model.weights, strict=True):
        np.testing.assert_array_equal(one, again)


def test_a_model_file_is_no_checkpoint(trained, tmp_path):
    trained.save(tmp_path / "model.keras")
    with pytest.raises(CheckpointError, match=r"model.keras: expected a checkpoint.*Fix"):
        read_state(tmp_path / "model.keras")


def test_a_model_without_the_dropout_of_the_run(trained, tmp_path):
    save_checkpoint(tmp_path / "last.keras", trained, RunState())
    plain = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
    plain.compile("adam", "mse")
    with pytest.raises(CheckpointError, match="must have 1 random states"):
        load_checkpoint(tmp_path / "last.keras", plain)


def test_a_state_of_another_version(trained, tmp_path, monkeypatch):
    monkeypatch.setattr("attention_zoo.training.checkpoint.asdict", lambda state: {"step": 3})
    save_checkpoint(tmp_path / "last.keras", trained, RunState())
    with pytest.raises(CheckpointError, match=r"got \['step'\]"):
        read_state(tmp_path / "last.keras")


@pytest.mark.parametrize("record", ["[]", "3", '{"state": []}', "{"])
def test_a_record_that_is_none(tmp_path, record):
    path = tmp_path / "last.keras"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("run_state.json", record)
    with pytest.raises(CheckpointError, match=r"last.keras: expected .*Fix"):
        read_state(path)


def test_weights_with_a_bad_byte(trained, build_model, tmp_path):
    path = tmp_path / "last.keras"
    save_checkpoint(path, trained, RunState())
    with zipfile.ZipFile(path) as archive:
        start = archive.getinfo("model.weights.h5").header_offset
    content = bytearray(path.read_bytes())
    content[start + 2000] ^= 0xFF
    path.write_bytes(content)
    with pytest.raises(CheckpointError, match=r"last.keras: the weights cannot be read.*Fix"):
        load_checkpoint(path, build_model(dropout=0.5))
