"""Training by a recipe, on models of the zoo."""

import dataclasses
import json

import keras
import numpy as np
import pytest

from attention_zoo.training import CheckpointError, train_copy
from attention_zoo.training.run_log import RunLog


@pytest.fixture(scope="module")
def trained(tiny_recipe, tmp_path_factory):
    """Trained long enough that copying three symbols is learned for the most part."""
    directory = tmp_path_factory.mktemp("run") / "new"
    return train_copy(
        "luong_general_gru", directory, recipe=tiny_recipe, seed=3, command="train", verbose=0
    )


def test_learns_to_copy(trained):
    rows = RunLog(trained.directory / "log.csv").rows()
    assert rows[-1]["loss"] < 0.5 * rows[0]["loss"]
    assert trained.result.is_complete
    assert set(trained.accuracies) == {2, 3}
    assert trained.accuracies[2].token > 2 * trained.task.chance


def test_publishes_the_model_that_it_returns(trained):
    model = keras.models.load_model(trained.directory / "model.keras")
    source = trained.task.sample(7, 2, 3, seed=5)["source"]
    np.testing.assert_array_equal(
        model.greedy(source)["tokens"], trained.model.greedy(source)["tokens"]
    )
    record = json.loads((trained.directory / "training.json").read_text())
    assert record["task"] == "copy"
    assert record["data_licence"].startswith("none needed")
    assert record["seed"] == 3
    assert record["command"] == "train"
    by_length = record["metrics"]["by_length"]
    assert by_length["2"]["token"] == trained.accuracies[2].token
    assert record["metrics"]["chance"] == 1 / 5
    assert record["run"]["name"] == "luong_general_gru"


def test_resume_of_another_model_is_refused(trained, tiny_recipe):
    with pytest.raises(CheckpointError, match="name = 'luong_general_gru'"):
        train_copy("seq2seq_gru", trained.directory, recipe=tiny_recipe, seed=3, resume=True)


def test_resume_of_a_finished_run_measures_the_same(trained, tiny_recipe):
    again = train_copy(
        "luong_general_gru", trained.directory, recipe=tiny_recipe, seed=3, resume=True, verbose=0
    )
    assert again.accuracies == trained.accuracies
    assert again.result == trained.result


def test_overrides_replace_the_options_of_the_recipe(tiny_recipe, tmp_path):
    stage = dataclasses.replace(tiny_recipe.stages[0], steps=2)
    trained = train_copy(
        "seq2seq_gru",
        tmp_path / "run",
        recipe=dataclasses.replace(tiny_recipe, stages=(stage,), steps_per_round=2),
        overrides={"units": 11, "bidirectional": True},
        verbose=0,
    )
    assert trained.model.config.units == 11
    assert trained.model.config.bidirectional
    assert trained.model.config.d_emb == tiny_recipe.model["d_emb"]


def test_unknown_names(tmp_path):
    with pytest.raises(ValueError, match="bahdanau_gru"):
        train_copy("bahdanau_gro", tmp_path / "run")
    with pytest.raises(ValueError, match="copy_short"):
        train_copy("bahdanau_gru", tmp_path / "run", recipe="copy_shrt")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("option", ["vocab_source", "vocab_target"])
def test_the_vocabulary_is_no_option(tiny_recipe, tmp_path, option):
    with pytest.raises(ValueError, match=rf"{option} is set by the task, 9 .*got .* 33\. Fix"):
        train_copy("seq2seq_gru", tmp_path / "r", recipe=tiny_recipe, overrides={option: 33})
    assert not (tmp_path / "r").exists()
