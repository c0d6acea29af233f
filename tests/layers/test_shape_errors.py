"""Nothing broadcasts: every disagreement of an axis is an error that names the tensor."""

import functools

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from attention_zoo import layers
from attention_zoo.layers import ShapeError, check_axes

# the word under which a message speaks of an input, where it is not its own name
SAID = {
    "memory": "memory",
    "keys": "keys",
    "memory_mask": "mask",
    "mask": "mask",
    **{f"state_{i}": f"states[{i}]" for i in range(3)},
}


@functools.cache
def built(case):
    layer = case.make()
    case.run(layer, case.draw())
    return layer


def shape_text(shape):
    return f"({shape[0]},)" if len(shape) == 1 else str(tuple(shape))


def break_axis(drawn, name, axis, size):
    shape = list(drawn[name].shape)
    shape[axis] = size
    return drawn | {name: np.resize(drawn[name], shape)}


def partners(case, name, axis):
    """Whether the axis of an input is fixed by anything else: another input or a weight."""
    word = case.inputs[name][axis]
    others = [n for n, axes in case.inputs.items() if n != name and word in axes]
    # the values of an additive mechanism are multiplied with no weight, so any width is right
    free = case.name == "bahdanau-keys" and word == "d_v"
    return bool(others) or (word.startswith("d_") and not free)


@given(data=st.data())
@settings(max_examples=15, deadline=None)
def test_each_axis_of_each_input_is_checked(case, data):
    drawn = case.draw()
    name = data.draw(st.sampled_from(sorted(drawn)), label="input")
    axis = data.draw(st.integers(0, drawn[name].ndim - 1), label="axis")
    if not partners(case, name, axis):
        return
    right = drawn[name].shape[axis]
    size = data.draw(st.sampled_from([1, right - 1, right + 1, 2 * right, 31]), label="size")
    if size in (0, right):
        return
    broken = break_axis(drawn, name, axis, size)
    with pytest.raises(ValueError, match=r"expected") as caught:
        case.run(built(case), broken)
    text = str(caught.value)
    assert isinstance(caught.value, ShapeError), text
    assert SAID.get(name, name) in text
    assert "Fix: " in text
    # the message shows the shape that came and the shape that was wanted, in words and numbers
    assert f"{case.inputs[name][axis]}" in text or "width of" in text or "d_v" in text, text
    assert str(size) in text
    assert str(right) in text


@given(data=st.data())
@settings(max_examples=8, deadline=None)
def test_a_missing_or_an_extra_axis_is_an_error(case, data):
    drawn = case.draw()
    name = data.draw(st.sampled_from(sorted(drawn)), label="input")
    if name == "query" and data.draw(st.booleans(), label="query"):
        return  # a query may have two axes or three
    x = drawn[name]
    broken = x[None] if data.draw(st.booleans(), label="extra") else x[0]
    if name == "query" and broken.ndim in (2, 3):
        return
    with pytest.raises(ValueError, match=r"expected|rank|ndim") as caught:
        case.run(built(case), drawn | {name: broken})
    text = str(caught.value)
    assert SAID.get(name, name) in text
    assert shape_text(broken.shape) in text


def test_batch_of_one_does_not_meet_a_batch_of_three(case):
    for name in case.inputs:
        if len(case.inputs) == 1:
            continue
        drawn = case.draw()
        with pytest.raises(ValueError, match="batch"):
            case.run(built(case), drawn | {name: drawn[name][:1]})


def unknown_signature(case, drawn):
    return {
        name: tf.TensorSpec(
            [n if a.startswith("d_") else None for n, a in zip(x.shape, axes, strict=True)], x.dtype
        )
        for name, x, axes in ((name, drawn[name], case.inputs[name]) for name in drawn)
    }


@pytest.mark.parametrize("jit_compile", [False, True], ids=["graph", "xla"])
def test_unknown_batches_that_differ_fail_at_run_time(case, jit_compile):
    if len(case.inputs) == 1:
        pytest.skip("one input alone")
    drawn = case.draw()
    compiled = tf.function(
        lambda x: case.call(built(case), x),
        input_signature=[unknown_signature(case, drawn)],
        jit_compile=jit_compile,
    )
    names = list(case.inputs)
    # under XLA every new shape compiles anew, so only the smallest case of each kind
    for name in names if not jit_compile else names[-1:]:
        for few, many in ((1, 2), (2, 3)) if not jit_compile else ((1, 2),):
            broken = {
                n: tf.convert_to_tensor(x[: few if n == name else many]) for n, x in drawn.items()
            }
            words = None if jit_compile else "has another size than|has shape"
            with pytest.raises((tf.errors.InvalidArgumentError, ValueError), match=words):
                compiled(broken)


@pytest.mark.parametrize("jit_compile", [False, True], ids=["graph", "xla"])
def test_unknown_times_that_differ_fail_at_run_time(case, jit_compile):
    timed = [n for n, axes in case.inputs.items() if "T_enc" in axes]
    if len(timed) < 2:
        pytest.skip("no two inputs with T_enc")
    drawn = case.draw()
    compiled = tf.function(
        lambda x: case.call(built(case), x),
        input_signature=[unknown_signature(case, drawn)],
        jit_compile=jit_compile,
    )
    for name in timed:
        broken = {n: x[:, :1] if n == name else x for n, x in drawn.items()}
        with pytest.raises((tf.errors.InvalidArgumentError, ValueError)):
            compiled({n: tf.convert_to_tensor(x) for n, x in broken.items()})


# check_axes itself --------------------------------------------------------------------------


def test_the_text_of_an_error():
    with pytest.raises(ShapeError) as caught:
        check_axes(
            "decoder",
            {
                "query": ((3, 13), ("batch", "d_s")),
                "memory": ((3, 5, 17), ("batch", "T_enc", "d_h")),
                "memory_mask": ((3, 7), ("batch", "T_enc")),
            },
        )
    assert str(caught.value) == (
        "decoder: memory_mask has shape (3, 7); expected (batch, T_enc) = (3, 5). "
        "T_enc = 5 is fixed by memory. Fix: pad or cut memory_mask to T_enc = 5."
    )


def test_most_tensors_fix_a_size_and_the_odd_one_is_named():
    with pytest.raises(ShapeError, match=r"^f: a has shape \(2,\).*fixed by b and c"):
        check_axes("f", {n: ((2 if n == "a" else 3,), ("batch",)) for n in "abc"})


def test_a_weight_outvotes_all_tensors():
    with pytest.raises(ShapeError, match=r"^f: a has shape .*d_s = 5 is fixed by W_a"):
        check_axes("f", dict.fromkeys("abc", ((3,), ("d_s",))), fixed={"d_s": (5, "W_a")})


def test_a_transposed_tensor_is_told_so():
    tensors = {
        "memory": ((5, 3, 17), ("batch", "T_enc", "d_h")),
        "mask": ((3, 5), ("batch", "T_enc")),
        "query": ((3, 7), ("batch", "d_s")),
        "keys": ((3, 5, 17), ("batch", "T_enc", "d_h")),
    }
    with pytest.raises(ShapeError, match=r"memory looks transposed: swap its axes 0 and 1"):
        check_axes("f", tensors)


def test_own_advice_replaces_the_general_one():
    with pytest.raises(ShapeError, match=r"Fix: call \.T on it\.$"):
        check_axes(
            "f",
            {"a": ((3,), ("batch",)), "b": ((2,), ("batch",))},
            fixes={"b": "call .T on it."},
        )


def test_unknown_sizes_agree_with_everything_and_known_ones_come_back():
    sizes = check_axes(
        "f",
        {"a": ((None, 5), ("batch", "T_enc")), "b": ((3, None), ("batch", "T_enc"))},
    )
    assert sizes == {"batch": 3, "T_enc": 5}
    assert check_axes("f", {"a": ((None,), ("batch",))}) == {"batch": None}


def test_an_empty_axis_is_refused_where_it_may_not_be():
    tensors = {"memory": ((3, 0, 17), ("batch", "T_enc", "d_h"))}
    check_axes("f", tensors)
    with pytest.raises(ShapeError, match=r"memory.*T_enc of at least 1"):
        check_axes("f", tensors, at_least_one=("T_enc",))


def test_first_call_names_the_tensor_before_there_are_weights():
    query, memory = np.zeros((3, 13), "float32"), np.zeros((3, 5, 17), "float32")
    for broken, name in (([query[0], memory], "query"), ([query, memory[0]], "memory")):
        with pytest.raises(ValueError, match=name):
            layers.BahdanauAttention(19)(broken)
    with pytest.raises(ValueError, match="memory"):
        layers.BahdanauAttention(19)([query, memory[:2]])
