"""The table of axes is what the layers have."""

import keras
import numpy as np
import pytest

from attention_zoo import layers
from attention_zoo.layers.attention_axes import (
    MECHANISMS,
    PARAMETERS,
    axes_of,
    expected_shape,
    sizes_of,
)
from attention_zoo.layers.diagnosis import known_sizes

SIZES = {"batch": 3, "T_enc": 5, "T_dec": 7, "d_s": 11, "d_h": 13, "d_attn": 17, "d_out": 19}


def layer_of(mechanism):
    if mechanism == "bahdanau":
        return layers.BahdanauAttention(SIZES["d_attn"], seed=1)
    score = mechanism.removeprefix("luong_")
    units = SIZES["d_attn"] if score == "concat" else None
    return layers.LuongAttention(score, units=units, seed=1)


@pytest.mark.parametrize("named", MECHANISMS)
def test_weights_and_outputs_of_the_layers_have_the_axes_of_the_table(named):
    sizes = SIZES | ({"d_s": SIZES["d_h"]} if named == "luong_dot" else {})
    attention = layer_of(named)
    cell = keras.layers.GRUCell(sizes["d_s"])
    whole = (
        layers.BahdanauCell(cell, attention)
        if named == "bahdanau"
        else layers.LuongCell(cell, attention, units=sizes["d_out"])
    )
    memory = np.random.default_rng(0).normal(size=(3, 5, sizes["d_h"])).astype("float32")
    state = [np.zeros((3, sizes["d_s"]), "float32")]
    whole(np.zeros((3, 23), "float32"), states=state, memory=memory)
    for one in (True, False):
        query = np.ones((3, sizes["d_s"]) if one else (3, 7, sizes["d_s"]), "float32")
        context, weights = attention([query, memory], return_attention_scores=True)
        made = {"query": query, "memory": memory, "context": context, "weights": weights}
        found = {weight.name: weight for weight in [*attention.weights, *whole.weights]}
        made |= {name: found[name] for name in PARAMETERS[named]}
        axes = axes_of(named, made, one, dot_widths=False)
        for name, names in axes.items():
            assert tuple(made[name].shape) == expected_shape(names, sizes), name
        assert layers.diagnose(named, **made).verdict == "healthy"
    # the layers have no weight that the table lacks
    assert {weight.name for weight in attention.weights} <= set(PARAMETERS[named])


def test_a_sum_gives_its_missing_part_and_refuses_another():
    axes = {"W_a": ("d_s + d_h", "d_attn"), "memory": ("batch", "T_enc", "d_h")}
    shapes = {"W_a": (24, 17), "memory": (3, 5, 13)}
    assert sizes_of(shapes, axes)["d_s"] == 11
    assert sizes_of({"W_a": (13, 17), "memory": (3, 5, 13)}, axes) is None
    with_query = axes | {"query": ("batch", "d_s")}
    assert sizes_of(shapes | {"query": (3, 11)}, with_query) is not None
    assert sizes_of(shapes | {"query": (3, 7)}, with_query) is None


def test_one_sum_gives_the_part_that_another_lacks():
    axes = {"W_a": ("d_s + d_h", "d_attn"), "W_c": ("d_h + d_s", "d_out")}
    assert sizes_of({"W_a": (24, 17), "W_c": (24, 19)}, axes)["d_s + d_h"] == 24
    many = axes | {"query": ("batch", "d_s")}
    assert sizes_of({"W_a": (24, 17), "W_c": (23, 19), "query": (3, 11)}, many) is None


def test_heads_and_widths_of_values():
    axes = axes_of("luong_general", ["weights", "keys", "memory", "context", "W_c"], n_heads=2)
    assert axes["weights"] == ("batch", "n_heads", "T_dec", "T_enc")
    assert axes["context"][-1] == axes["memory"][-1] == "d_v"
    assert axes["keys"][-1] == "d_h"
    assert axes["W_c"] == ("d_v + d_s", "d_out")


def test_sizes_stand_in_the_usual_order():
    axes = axes_of("luong_concat", ["W_a", "query", "memory"])
    sizes = {"d_h": 13, "d_s": 11, "d_attn": 17, "batch": 3, "T_enc": 5, "T_dec": 7}
    assert list(known_sizes(axes, sizes)) == [
        *("batch", "T_enc", "T_dec", "d_s", "d_h", "d_attn"),
        "d_s + d_h",
    ]
    assert known_sizes(axes, sizes)["d_s + d_h"] == 24
