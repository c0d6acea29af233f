"""A whole training of a translation model, a small one: what it writes, gives back and obeys."""

import json

import keras
import numpy as np
import pytest

from attention_zoo.tokenizer import TokenizerPair
from attention_zoo.training import translation_training as translation_training_module
from attention_zoo.training.bleu import score_translations
from attention_zoo.training.corpus_translation import Beam, translate_corpus
from attention_zoo.training.run_log import RunLog
from attention_zoo.training.stage import Stage
from attention_zoo.training.translation_training import train_translation

MODEL = "bahdanau_gru"


@pytest.fixture(scope="module")
def trained(translation_data, tiny_translation_recipe, tmp_path_factory):
    return train_translation(
        MODEL,
        translation_data,
        tmp_path_factory.mktemp("runs") / "run",
        recipe=tiny_translation_recipe,
        seed=3,
        command="typed so",
        verbose=0,
    )


@pytest.fixture(scope="module")
def dropped(trained, translation_data):
    """How many training pairs are longer than the widest bucket, 40."""
    tokenizer = trained.tokenizers.source
    count = sum(
        max(len(tokenizer.encode(pair.source)), len(tokenizer.encode(pair.target))) > 40
        for pair in translation_data.train
    )
    assert count > 0
    return count


@pytest.fixture(scope="module")
def log(trained):
    return RunLog(trained.directory / "log.csv").rows()


def test_the_run_is_all_there(trained):
    files = {path.name for path in trained.directory.iterdir()}
    assert files == {
        "best.keras",
        "curves.png",
        "last.keras",
        "log.csv",
        "model.keras",
        "tokenizer.model",
        "training.json",
    }
    assert trained.result.is_complete
    assert TokenizerPair.load(trained.directory).source.sha256 == trained.tokenizers.source.sha256


def test_each_epoch_has_a_row_of_the_log(
    trained, log, dropped, translation_data, tiny_translation_recipe
):
    recipe = tiny_translation_recipe
    steps = (len(translation_data.train) - dropped) // recipe.batch_size
    assert [row["step"] for row in log] == [steps * epoch for epoch in range(1, recipe.epochs + 1)]
    assert trained.result.step == log[-1]["step"]
    wanted = {"loss", "val_loss", "val_perplexity", "val_token_accuracy", "bleu", "data_wait"}
    assert wanted | {"tokens_per_second", "seconds", "learning_rate"} <= set(log[0])
    stage = Stage(
        {40: 1.0},
        steps * recipe.epochs,
        learning_rate=recipe.learning_rate,
        warmup_steps=recipe.warmup_steps,
        final_learning_rate=recipe.final_learning_rate,
    )
    rates = [stage.rate_at(int(row["step"]) - 1) for row in log]
    np.testing.assert_allclose([row["learning_rate"] for row in log], rates, rtol=1e-4)
    assert all(0 <= row["data_wait"] < 1 for row in log)


def test_it_learns(log):
    assert log[-1]["loss"] < log[0]["loss"] - 0.3
    assert log[-1]["val_loss"] < log[0]["val_loss"]


def test_the_record_says_what_was_done(trained, dropped, translation_data, tiny_translation_recipe):
    record = json.loads((trained.directory / "training.json").read_text())
    assert record["task"] == "translation"
    assert record["data"] == json.loads(json.dumps(translation_data.description))
    assert (record["seed"], record["command"]) == (3, "typed so")
    assert record["dropped_pairs"] == dropped
    assert record["run"]["recipe"] == tiny_translation_recipe.to_dict()
    assert record["run"]["name"] == MODEL
    assert record["best_loss"] == trained.result.best_value
    scores = trained.scores["test"].to_dict()
    assert {name: record["metrics"][name] for name in scores} == scores
    assert record["metrics"]["decoding"] == "beam 2, length penalty 1"


def test_the_scores_are_those_of_beam_search_on_the_test_set(trained, translation_data):
    sources = [entry.source for entry in translation_data.test]
    answers = translate_corpus(trained.model, trained.tokenizers, sources, beam=Beam(2, 1.0))
    references = [entry.references for entry in translation_data.test]
    assert trained.scores == {"test": score_translations(answers, references, sources)}


def test_the_model_is_the_average_of_the_best_round(trained):
    best = keras.saving.load_model(trained.directory / "best.keras")
    averages = best.optimizer._model_variables_moving_average
    published = keras.saving.load_model(trained.directory / "model.keras")
    assert type(published).__name__ == "Seq2Seq"
    assert published.dtype_policy.name == "float32"
    for model in (published, trained.model):
        for weight, average in zip(model.trainable_variables, averages, strict=True):
            np.testing.assert_array_equal(weight, average)
    assert any(
        (np.asarray(weight) != np.asarray(average)).any()
        for weight, average in zip(best.trainable_variables, averages, strict=True)
    )


@pytest.fixture(scope="module")
def by_bleu(translation_data, tiny_translation_recipe, tmp_path_factory):
    """A run in bfloat16 whose BLEU is made up: the best is in the second of four rounds."""
    values = iter([5.0, 7.0, 6.0, 6.5])
    directory = tmp_path_factory.mktemp("runs") / "by_bleu"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            translation_training_module, "bleu_measure", lambda *_: lambda: {"bleu": next(values)}
        )
        return train_translation(
            MODEL,
            translation_data,
            directory,
            recipe=tiny_translation_recipe.replace(
                precision="bfloat16", monitor="bleu", patience=2, epochs=9
            ),
            overrides={"units": 11},
            seed=3,
            verbose=0,
        )


def test_bleu_decides_what_is_best_and_patience_when_it_ends(by_bleu):
    rows = RunLog(by_bleu.directory / "log.csv").rows()
    assert [row["bleu"] for row in rows] == [5.0, 7.0, 6.0, 6.5]
    assert by_bleu.result.is_complete
    assert (by_bleu.result.best_value, by_bleu.result.best_step) == (7.0, rows[1]["step"])
    record = json.loads((by_bleu.directory / "training.json").read_text())
    assert record["best_bleu"] == 7.0


def test_overrides_go_over_the_recipe(by_bleu):
    assert by_bleu.model.config.units == 11
    assert by_bleu.model.config.d_emb == 7


def test_a_model_trained_in_bfloat16_computes_in_float32(by_bleu):
    assert by_bleu.model.dtype_policy.name == "float32"
    trained = keras.saving.load_model(by_bleu.directory / "best.keras", compile=False)
    assert trained.dtype_policy.name == "mixed_bfloat16"
    assert all(weight.dtype == "float32" for weight in trained.weights)


@pytest.mark.parametrize(
    ("name", "changes", "overrides", "told"),
    [
        ("bahdanau_gr", {}, {}, "did you mean bahdanau_gru"),
        (MODEL, {}, {"unit": 7}, "did you mean units"),
        (MODEL, {"vocab_size": 8000}, {}, "vocab_size is 8000, but the sentences give at most"),
        (MODEL, {"batch_size": 5000}, {}, "at least batch_size = 5000 pairs"),
    ],
)
def test_a_mistake_is_told_and_leaves_no_run(
    translation_data, tiny_translation_recipe, tmp_path, name, changes, overrides, told
):
    with pytest.raises(ValueError, match=told):
        train_translation(
            name,
            translation_data,
            tmp_path / "run",
            recipe=tiny_translation_recipe.replace(**changes),
            overrides=overrides,
            verbose=0,
        )
    assert not (tmp_path / "run" / "last.keras").exists()


def test_a_used_directory_stays_as_it_is(trained, translation_data, tiny_translation_recipe):
    def contents():
        return {path.name: path.read_bytes() for path in trained.directory.iterdir()}

    before = contents()
    with pytest.raises(FileExistsError, match=r"already holds a run\. Fix: resume it"):
        train_translation(
            MODEL,
            translation_data,
            trained.directory,
            recipe=tiny_translation_recipe.replace(vocab_size=310),
            verbose=0,
        )
    assert contents() == before
