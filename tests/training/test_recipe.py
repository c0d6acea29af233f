"""Recipes: names, and that what they make stays small enough to be shipped."""

import json

import pytest

from attention_zoo import create_model
from attention_zoo.training import RECIPES, CopyTask, get_recipe


@pytest.mark.parametrize("name", list(RECIPES))
def test_a_recipe_fits_together(name):
    recipe = get_recipe(name)
    assert max(recipe.lengths) == recipe.stages[-1].max_length
    assert max(recipe.lengths) + 1 <= recipe.model["max_length"]
    assert all(stage.steps % recipe.steps_per_round == 0 for stage in recipe.stages)
    lengths = [stage.max_length for stage in recipe.stages]
    assert lengths == sorted(lengths)
    json.dumps(recipe.identity())


@pytest.mark.parametrize("model", ["bahdanau_gru", "luong_general_gru", "seq2seq_gru"])
def test_presets_fit_in_6_mb_with_five_copies_of_the_weights(model):
    recipe = get_recipe("copy")
    vocab = CopyTask(recipe.n_symbols).vocab_size
    made = create_model(model, vocab_source=vocab, vocab_target=vocab, **recipe.model)
    assert 5 * 4 * made.count_params() < 5.5e6


def test_an_unknown_recipe_names_the_nearest():
    with pytest.raises(
        ValueError, match=r"'copi' is no recipe; expected one of 2 known names.*did you mean copy"
    ):
        get_recipe("copi")
