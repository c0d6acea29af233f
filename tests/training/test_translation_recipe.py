"""Recipes of translation models as data."""

import json
from dataclasses import fields

import pytest

from attention_zoo.model_config import ModelConfig
from attention_zoo.registry import create_model
from attention_zoo.training.translation_recipe import (
    TRANSLATION_RECIPES,
    TranslationRecipe,
    get_translation_recipe,
)

BAD = {
    "batch_size": 0,
    "epochs": 0,
    "rounds_per_epoch": 0,
    "vocab_size": 0,
    "beam_width": 0,
    "learning_rate": 0.0,
    "final_learning_rate": -1.0,
    "clip_norm": 0,
    "label_smoothing": 1.0,
    "ema_momentum": 1.0,
    "subword_dropout": -0.1,
    "scheduled_sampling": 1.5,
    "warmup_steps": -1,
    "n_measured": -1,
    "length_penalty": -0.5,
    "patience": 0,
    "precision": "float16",
    "monitor": "chrf",
}


@pytest.mark.parametrize("name", BAD)
def test_a_field_out_of_range_is_named(name):
    with pytest.raises(ValueError, match=rf"TranslationRecipe: {name} is .*; expected "):
        TranslationRecipe(**{name: BAD[name]})


@pytest.mark.parametrize("entry", fields(TranslationRecipe), ids=lambda entry: entry.name)
@pytest.mark.parametrize("value", ["abc", float("nan"), float("inf"), 1.5, [1]])
def test_what_no_field_can_be_is_a_value_error_that_names_it(entry, value):
    fitting = {
        "clip_norm": 1.5,
        "length_penalty": 1.5,
        "learning_rate": 1.5,
        "buckets": [1],
    }
    if fitting.get(entry.name) == value:
        assert TranslationRecipe(**{entry.name: value})
        return
    with pytest.raises(ValueError, match=f"TranslationRecipe: {entry.name} is"):
        TranslationRecipe(**{entry.name: value})


@pytest.mark.parametrize("name", ["joint", "lowercase", "jit_compile"])
@pytest.mark.parametrize("value", [None, 1, "true", "maybe"])
def test_a_switch_is_true_or_false(name, value):
    with pytest.raises(ValueError, match=f"{name} is {value!r}; expected true or false"):
        TranslationRecipe(**{name: value})


def test_the_rate_falls():
    with pytest.raises(ValueError, match=r"final_learning_rate is 0\.1; expected at most"):
        TranslationRecipe(learning_rate=0.01, final_learning_rate=0.1)


def test_bleu_as_the_monitor_must_be_measured():
    with pytest.raises(ValueError, match="n_measured is 0; expected above 0 where BLEU"):
        TranslationRecipe(monitor="bleu", n_measured=0)
    assert TranslationRecipe(monitor="loss", n_measured=0).n_measured == 0


def test_replace_leaves_none_as_it_is_and_refuses_what_is_no_field():
    recipe = TranslationRecipe(epochs=3)
    changed = recipe.replace(epochs=None, batch_size=7)
    assert (changed.epochs, changed.batch_size) == (3, 7)
    with pytest.raises(ValueError, match=r"'epoch' is no field of a recipe.*did you mean epochs"):
        recipe.replace(epoch=3)
    with pytest.raises(ValueError, match="batch_size is 0"):
        recipe.replace(batch_size=0)


def test_options_of_one_model_go_over_those_of_all():
    recipe = TranslationRecipe(
        model={"units": 7, "dropout": 0.2}, models={"bahdanau_gru": {"units": 11, "d_attn": 5}}
    )
    assert recipe.model_options("bahdanau_gru") == {"units": 11, "dropout": 0.2, "d_attn": 5}
    assert recipe.model_options("luong_dot_gru") == {"units": 7, "dropout": 0.2}


@pytest.mark.parametrize("name", TRANSLATION_RECIPES)
def test_a_recipe_is_json_and_says_everything(name):
    recipe = get_translation_recipe(name)
    content = recipe.to_dict()
    assert set(content) == {entry.name for entry in fields(TranslationRecipe)}
    assert json.loads(json.dumps(content)) == content
    assert TranslationRecipe(**{**content, "buckets": tuple(content["buckets"])}) == recipe


@pytest.mark.parametrize("name", TRANSLATION_RECIPES)
@pytest.mark.parametrize("model", ["bahdanau_gru", "luong_general_gru"])
def test_its_models_can_be_made(name, model):
    recipe = get_translation_recipe(name)
    options = recipe.model_options(model)
    vocab = recipe.vocab_size
    config = create_model(model, **options, vocab_source=vocab, vocab_target=vocab).config
    assert {key: getattr(config, key) for key in options} == options
    assert config.max_length >= recipe.buckets[-1]


def test_the_tatoeba_models_have_one_size():
    """So that what differs between them is the attention, not the number of weights."""
    recipe = get_translation_recipe("tatoeba")
    sizes = [
        create_model(
            name,
            **recipe.model_options(name),
            vocab_source=recipe.vocab_size,
            vocab_target=recipe.vocab_size,
        ).count_params()
        for name in ("bahdanau_gru", "luong_general_gru", "seq2seq_gru")
    ]
    assert max(sizes) < 1.1 * min(sizes)
    assert set(recipe.model) <= {entry.name for entry in fields(ModelConfig)}


def test_an_unknown_recipe_is_refused_with_the_nearest():
    with pytest.raises(ValueError, match=r"'tatoba' is no recipe.*did you mean tatoeba"):
        get_translation_recipe("tatoba")
