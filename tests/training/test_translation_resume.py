"""A training that was broken off twice, by Ctrl-C and by SIGKILL, ends as one that was not."""

import json
import shutil
import signal
import subprocess
import sys

import numpy as np
import pytest

from attention_zoo.training.checkpoint import read_state
from attention_zoo.training.round_keeper import RoundKeeper
from attention_zoo.training.run_log import RunLog
from attention_zoo.training.translation_training import train_translation

pytestmark = pytest.mark.slow

MODEL = "bahdanau_gru"
KILLED = """
import json, os, signal, sys
from attention_zoo.training import load_translation_data
from attention_zoo.training.round_keeper import RoundKeeper
from attention_zoo.training.translation_recipe import TranslationRecipe
from attention_zoo.training.translation_training import train_translation

pairs, directory, recipe, last_step = sys.argv[1:]
recipe = json.loads(recipe)
recipe["buckets"] = tuple(recipe["buckets"])
original = RoundKeeper.on_train_batch_begin

def on_train_batch_begin(self, batch, logs=None):
    if self.state.step + batch == int(last_step):
        os.kill(os.getpid(), signal.SIGKILL)
    original(self, batch, logs)

RoundKeeper.on_train_batch_begin = on_train_batch_begin
train_translation(
    "bahdanau_gru",
    load_translation_data(pairs, n_validation=13, n_test=17),
    directory,
    recipe=TranslationRecipe(**recipe),
    seed=3,
    resume=True,
    verbose=0,
)
"""


@pytest.fixture(scope="module")
def recipe(tiny_translation_recipe):
    return tiny_translation_recipe.replace(n_measured=0)


@pytest.fixture(scope="module")
def train(translation_data, recipe):
    """A function (directory, resume) -> the training."""

    def run(directory, resume=False, finish=False):
        return train_translation(
            MODEL,
            translation_data,
            directory,
            recipe=recipe,
            seed=3,
            resume=resume,
            finish=finish,
            resume_hint="type this again",
            verbose=0,
        )

    return run


@pytest.fixture(scope="module")
def unbroken(train, tmp_path_factory):
    return train(tmp_path_factory.mktemp("unbroken") / "run")


@pytest.fixture(scope="module")
def steps(unbroken, recipe):
    """Of an epoch."""
    return unbroken.result.step // recipe.epochs


@pytest.fixture(scope="module")
def interrupted(train, steps, tmp_path_factory):
    """Ctrl-C in the second epoch; (the training, what the folder holds)."""
    original = RoundKeeper.on_train_batch_begin

    def on_train_batch_begin(self, batch, logs=None):
        if self.state.step + batch == steps + 2:
            signal.raise_signal(signal.SIGINT)
        original(self, batch, logs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RoundKeeper, "on_train_batch_begin", on_train_batch_begin)
        trained = train(tmp_path_factory.mktemp("broken") / "run")
    return trained, {path.name for path in trained.directory.iterdir()}


@pytest.fixture(scope="module")
def killed(interrupted, steps, recipe, pairs_file):
    """The same run taken up in another process, which is killed in the third epoch."""
    directory = interrupted[0].directory
    arguments = [pairs_file, directory, json.dumps(recipe.to_dict()), 2 * steps + 3]
    ran = subprocess.run(
        [sys.executable, "-c", KILLED, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert ran.returncode == -signal.SIGKILL, ran.stderr
    return directory, read_state(directory / "last.keras").step


@pytest.fixture(scope="module")
def resumed(killed, train):
    return train(killed[0], resume=True)


def test_ctrl_c_publishes_nothing_and_keeps_the_run(interrupted, steps):
    trained, files = interrupted
    assert not trained.result.is_complete
    assert trained.result.step == steps
    assert trained.scores == {}
    assert files == {"best.keras", "last.keras", "log.csv", "tokenizer.model"}


def test_finish_publishes_the_best_of_a_broken_run(interrupted, train, steps, tmp_path):
    directory = tmp_path / "run"
    shutil.copytree(interrupted[0].directory, directory)
    finished = train(directory, finish=True)
    assert finished.is_published
    record = json.loads((directory / "training.json").read_text())
    assert (record["steps"], record["best_step"], record["is_complete"]) == (steps, steps, False)
    assert {"model.keras", "curves.png"} <= {path.name for path in directory.iterdir()}
    for found, expected in zip(finished.model.weights, interrupted[0].model.weights, strict=True):
        np.testing.assert_array_equal(found, expected)


def test_a_kill_keeps_the_epochs_before_it(killed, steps):
    directory, step = killed
    assert step == 2 * steps
    assert not (directory / "model.keras").exists()


def test_the_weights_are_those_of_an_unbroken_run(resumed, unbroken):
    assert resumed.result.is_complete
    assert resumed.result.step == unbroken.result.step
    assert resumed.result.best_step == unbroken.result.best_step
    for found, expected in zip(resumed.model.weights, unbroken.model.weights, strict=True):
        np.testing.assert_array_equal(found, expected)
    assert resumed.scores == unbroken.scores


def test_the_curve_is_that_of_an_unbroken_run(resumed, unbroken):
    columns = ("step", "loss", "val_loss", "val_token_accuracy", "tokens", "learning_rate")
    found, expected = (
        [[row[column] for column in columns] for row in RunLog(run.directory / "log.csv").rows()]
        for run in (resumed, unbroken)
    )
    assert found == expected
    assert len(found) == 3


def test_a_resume_with_another_recipe_is_refused(resumed, translation_data, recipe):
    told = r"was started with recipe\.label_smoothing = 0\.1, resumed with 0\.2\. Fix: resume"
    with pytest.raises(ValueError, match=told):
        train_translation(
            MODEL,
            translation_data,
            resumed.directory,
            recipe=recipe.replace(label_smoothing=0.2),
            seed=3,
            resume=True,
            verbose=0,
        )
