"""Models by name."""

import pytest

from attention_zoo import create_model, list_models
from attention_zoo.registry import model_summary, register_model

NAMES = [
    "bahdanau_conditional_gru",
    "bahdanau_gru",
    "bahdanau_lstm",
    "luong_concat_gru",
    "luong_dot_gru",
    "luong_general_gru",
    "luong_general_lstm",
    "luong_multihead_gru",
    "seq2seq_gru",
    "seq2seq_lstm",
    "uniform_gru",
]


def test_the_models_of_the_zoo():
    assert list_models() == NAMES


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("luong_*", [name for name in NAMES if name.startswith("luong")]),
        ("*_lstm", [name for name in NAMES if name.endswith("lstm")]),
        ("bahdanau_gru", ["bahdanau_gru"]),
        ("BAHDANAU*", []),
        ("", []),
    ],
)
def test_patterns(pattern, names):
    assert list_models(pattern) == names


def test_a_name_says_attention_and_cell(new_model):
    for name in NAMES:
        config = new_model(name).config
        attention, *score, cell = name.split("_")
        assert config.cell == cell
        assert config.attention == {"seq2seq": "none"}.get(attention, attention)
        assert config.conditional == (score == ["conditional"])
        if score and score not in (["multihead"], ["conditional"]):
            assert [config.score] == score
        assert (config.n_heads > 1) == (score == ["multihead"])


@pytest.mark.parametrize(
    ("wrong", "meant"),
    [("bahdanu_gru", "bahdanau_gru"), ("luong_gru", "luong_dot_gru"), ("seq2seq", "seq2seq_gru")],
)
def test_an_unknown_name_is_refused_with_the_nearest(wrong, meant):
    with pytest.raises(ValueError, match=f"'{wrong}' is no model.*Fix: did you mean .*{meant}"):
        create_model(wrong)


def test_a_name_like_no_other_is_refused_with_all_of_them():
    with pytest.raises(ValueError, match=r"use one of bahdanau_conditional_gru, .*uniform_gru"):
        create_model("xyz")


def test_an_unknown_override_is_refused_with_the_nearest():
    with pytest.raises(ValueError, match=r"'unit' is no ModelConfig field.*units"):
        create_model("bahdanau_gru", unit=7)


@pytest.mark.parametrize(
    ("name", "override"),
    [
        ("bahdanau_gru", {"cell": "lstm"}),
        ("bahdanau_gru", {"attention": "luong"}),
        ("luong_dot_gru", {"score": "general"}),
    ],
)
def test_what_makes_a_model_what_it_is_cannot_be_overridden(name, override):
    (field,) = override
    with pytest.raises(ValueError, match=f"{name}: {field} is .*; expected .*Fix: "):
        create_model(name, **override)


def test_a_name_is_registered_once():
    def bahdanau_gru(**overrides):
        raise AssertionError("replaced the zoo's own model")

    with pytest.raises(ValueError, match="'bahdanau_gru' is registered already"):
        register_model(bahdanau_gru)
    assert list_models() == NAMES


def test_a_new_model_is_listed_and_created(monkeypatch, new_model):
    from attention_zoo import registry

    monkeypatch.setattr(registry, "_MODELS", dict(registry._MODELS))

    @register_model
    def tiny_gru(**overrides):
        """A model of a user."""
        return new_model("bahdanau_gru", **overrides)

    assert "tiny_gru" in list_models("t*")
    assert create_model("tiny_gru", units=3).config.units == 3
    assert model_summary("tiny_gru") == "A model of a user."


@pytest.mark.parametrize("name", NAMES)
def test_every_model_is_described_in_a_line(name):
    assert model_summary(name).endswith(".")


def test_the_weights_are_repeated_by_seed(new_model):
    import keras
    import numpy as np

    weights = []
    for seed in (3, 3, 5):
        keras.utils.set_random_seed(seed)
        weights.append(new_model("luong_general_gru").get_weights())
    for first, second in zip(*weights[:2], strict=True):
        np.testing.assert_array_equal(first, second)
    assert any((a != c).any() for a, c in zip(weights[0], weights[2], strict=True))
