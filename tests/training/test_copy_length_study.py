"""The study, with a recipe of a few steps: files, sums and spread; not the result itself."""

import csv
import dataclasses
import json

import numpy as np
import pytest
from matplotlib import image

from attention_zoo.training import run_copy_length_study
from attention_zoo.training.copy_length_study import StudyResult, StudyRow

pytestmark = pytest.mark.slow

MODELS = ("bahdanau_gru", "seq2seq_gru")


@pytest.fixture(scope="module")
def study(tiny_recipe, tmp_path_factory):
    recipe = dataclasses.replace(
        tiny_recipe,
        stages=(dataclasses.replace(tiny_recipe.stages[0], steps=10),),
        steps_per_round=10,
    )
    output = tmp_path_factory.mktemp("study") / "new"
    return recipe, run_copy_length_study(output, seeds=2, recipe=recipe, command="it", verbose=0)


def test_csv_holds_each_model_seed_and_length(study):
    _, result = study
    with result.csv.open() as file:
        rows = list(csv.DictReader(file))
    found = {(row["model"], int(row["seed"]), int(row["length"])) for row in rows}
    assert found == {(m, seed, length) for m in MODELS for seed in (0, 1) for length in (2, 3)}
    assert len(rows) == 8
    assert [float(row["token_accuracy"]) for row in rows] == [
        row.token_accuracy for row in result.rows
    ]
    assert all(int(row["steps"]) == 10 for row in rows)


def test_json_holds_means_spread_and_how_it_was_made(study):
    recipe, result = study
    summary = json.loads(result.json.read_text())
    assert summary["chance"] == 1 / 5
    assert summary["seeds"] == 2
    assert summary["command"] == "it"
    assert summary["recipe"]["stages"] == [stage.to_dict() for stage in recipe.stages]
    for model in MODELS:
        for length in (2, 3):
            values = [
                row.token_accuracy
                for row in result.rows
                if row.model == model and row.length == length
            ]
            entry = summary["token_accuracy"][model][str(length)]
            assert entry["mean"] == pytest.approx(np.mean(values))
            assert (entry["min"], entry["max"]) == (min(values), max(values))
        assert summary["train_seconds"][model] > 0


def test_png_is_a_picture(study):
    _, result = study
    assert image.imread(result.png)[..., :3].std() > 0.01


def test_seeds_differ(study):
    _, result = study
    by_seed = [[row.token_accuracy for row in result.rows if row.seed == seed] for seed in (0, 1)]
    assert by_seed[0] != by_seed[1]


def test_runs_that_exist_are_refused_or_taken_up(study):
    recipe, result = study
    output = result.csv.parent
    with pytest.raises(FileExistsError, match="Fix"):
        run_copy_length_study(output, recipe=recipe, verbose=0)
    again = run_copy_length_study(output, seeds=2, recipe=recipe, resume=True, verbose=0)
    assert again.rows == result.rows


def test_gap(tmp_path):
    def row(model, seed, length, accuracy):
        return StudyRow(model, seed, length, accuracy, 0.0, 100, 10, 1.0)

    rows = (
        row("bahdanau_gru", 0, 5, 1.0),
        row("bahdanau_gru", 1, 5, 0.8),
        row("seq2seq_gru", 0, 5, 0.5),
        row("seq2seq_gru", 1, 5, 0.7),
    )
    result = StudyResult(rows, 0.1, tmp_path, tmp_path, tmp_path)
    assert result.gap()[5] == pytest.approx(0.3)
    assert result.spread("seq2seq_gru")[5] == (pytest.approx(0.6), 0.5, 0.7)


def test_ctrl_c_ends_the_study(tiny_recipe, tmp_path, monkeypatch):
    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("keras.Model.fit", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_copy_length_study(tmp_path, recipe=tiny_recipe, verbose=0)
    assert not (tmp_path / "copy_length.csv").exists()


def test_no_seeds(tmp_path):
    with pytest.raises(ValueError, match="seeds must be at least 1, got 0"):
        run_copy_length_study(tmp_path, seeds=0)
