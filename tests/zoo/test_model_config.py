"""Every field of the config is checked, by name."""

import dataclasses
import json
import subprocess
import sys

import numpy as np
import pytest

from attention_zoo import ModelConfig

WHOLE = {
    "vocab_source": 5,
    "vocab_target": 5,
    "d_emb": 1,
    "units": 1,
    "d_s": 1,
    "d_attn": 1,
    "n_heads": 1,
    "encoder_layers": 1,
    "decoder_layers": 1,
    "max_length": 1,
}
CHOICES = ("attention", "score", "cell", "tied_embeddings")
SWITCHES = ("bidirectional", "input_feeding", "conditional", "layer_norm")
SHARES = ("dropout", "dropout_embedding", "dropout_memory", "dropout_readout")

BAD = [
    *[(name, value) for name in CHOICES for value in ("", "GRU", None, 1)],
    *[(name, value) for name, least in WHOLE.items() for value in (least - 1, -1, 7.0, "7", True)],
    *[(name, None) for name in WHOLE if name not in ("d_s", "d_attn")],
    *[(name, value) for name in SWITCHES for value in (0, 1, None, "yes")],
    *[(name, value) for name in SHARES for value in (-0.1, 1.0, 2, "0.1", True, float("nan"))],
    *[(name, None) for name in ("dropout", "dropout_memory")],
]


def test_every_field_is_tried():
    fields = {field.name for field in dataclasses.fields(ModelConfig)}
    assert {name for name, _ in BAD} == fields


@pytest.mark.parametrize(("name", "value"), BAD)
def test_a_bad_value_is_refused_by_the_name_of_its_field(name, value):
    with pytest.raises(
        ValueError, match=f"^ModelConfig: {name} is .*; expected .* Fix: "
    ) as caught:
        ModelConfig(**{name: value})
    assert repr(value) in str(caught.value)


@pytest.mark.parametrize("part", ["embedding", "readout"])
def test_a_dropout_of_its_own_takes_the_place_of_the_common_one(part):
    assert ModelConfig(dropout=0.3).dropout_of(part) == 0.3
    assert ModelConfig(dropout=0.3, **{f"dropout_{part}": 0.0}).dropout_of(part) == 0.0


@pytest.mark.parametrize(("name", "least"), WHOLE.items())
def test_the_least_value_is_allowed(name, least):
    assert getattr(ModelConfig(**{name: least}), name) == least


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("layer_norm", {"attention": "none", "layer_norm": True}),
        ("dropout_memory", {"attention": "none", "dropout_memory": 0.1}),
        ("score", {"attention": "luong", "score": "dot", "bidirectional": True}),
        ("d_s", {"attention": "luong", "score": "dot", "units": 7, "d_s": 11}),
        ("n_heads", {"n_heads": 2}),
        ("n_heads", {"attention": "none", "n_heads": 2}),
        ("n_heads", {"attention": "luong", "score": "concat", "n_heads": 2}),
        ("n_heads", {"attention": "luong", "units": 7, "n_heads": 2}),
        ("input_feeding", {"input_feeding": True}),
        ("input_feeding", {"attention": "none", "input_feeding": True}),
        ("conditional", {"attention": "none", "conditional": True}),
        ("conditional", {"attention": "luong", "conditional": True}),
        ("conditional", {"decoder_layers": 2, "conditional": True}),
        ("tied_embeddings", {"tied_embeddings": "all", "vocab_source": 11, "vocab_target": 13}),
        ("tied_embeddings", {"attention": "none", "tied_embeddings": "target", "d_emb": 11}),
    ],
)
def test_fields_that_do_not_go_together_are_refused(name, values):
    with pytest.raises(ValueError, match=f"^ModelConfig: {name} is .*; expected .* Fix: "):
        ModelConfig(**values)


@pytest.mark.parametrize(
    "values",
    [
        {"attention": "luong", "score": "dot", "units": 7, "d_s": 14, "bidirectional": True},
        {"attention": "luong", "units": 7, "n_heads": 2, "bidirectional": True},
        {"attention": "none", "tied_embeddings": "target", "d_emb": 11, "d_s": 11},
        {"attention": "none", "tied_embeddings": "all", "d_emb": 11, "units": 11},
        {"attention": "luong", "input_feeding": True, "tied_embeddings": "all"},
        {"dropout": 0},
    ],
)
def test_fields_that_do_go_together_are_allowed(values):
    assert ModelConfig(**values).to_dict().items() >= values.items()


def test_dict_round_trip():
    config = ModelConfig(attention="luong", score="dot", units=7, dropout=0.25, max_length=11)
    assert ModelConfig.from_dict(config.to_dict()) == config
    assert set(config.to_dict()) == {field.name for field in dataclasses.fields(ModelConfig)}


@pytest.mark.parametrize(("wrong", "meant"), [("unit", "units"), ("n_head", "n_heads")])
def test_an_unknown_field_is_refused_with_the_nearest(wrong, meant):
    with pytest.raises(ValueError, match=f"'{wrong}' is no ModelConfig field.*{meant}"):
        ModelConfig.from_dict({wrong: 1})


def test_frozen_and_changed_by_replace_alone():
    config = ModelConfig(units=7)
    with pytest.raises(dataclasses.FrozenInstanceError):
        config.units = 11
    assert config.replace(units=11) == ModelConfig(units=11)
    assert config.units == 7
    with pytest.raises(ValueError, match="units is 0"):
        config.replace(units=0)
    with pytest.raises(ValueError, match="no ModelConfig field"):
        config.replace(width=3)


def test_widths():
    assert ModelConfig(units=7).d_h == 7
    assert ModelConfig(units=7, bidirectional=True).d_h == 14
    assert ModelConfig(units=7, bidirectional=True).width_of_state == 7
    assert ModelConfig(units=7, d_s=11).width_of_state == 11


def test_needs_no_tensorflow():
    program = (
        "import sys; from attention_zoo import ModelConfig, list_models; ModelConfig(); "
        "list_models(); sys.exit('tensorflow' in sys.modules or 'keras' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_numpy_numbers_become_python_numbers():
    config = ModelConfig(units=np.int64(7), d_emb=np.int32(5))
    assert type(config.units) is type(config.d_emb) is int
    json.dumps(config.to_dict())
