"""The NumPy formulas against loops of plain Python numbers, and their errors."""

import doctest
import math
import subprocess
import sys

import numpy as np
import pytest

from attention_zoo.layers import reference

D_S, D_H, D_ATTN, T_ENC = 5, 7, 3, 11

WORKED_STATES = [[1, 0, 0.2], [0.5, 0.5, 0.1], [0.1, 0.9, 0.3]]


def draw(*shape, seed=0):
    return np.random.default_rng([seed, *shape]).normal(size=shape)


def arguments(function):
    """Named arguments of one function of the module, at sizes that are different primes."""
    states = {"decoder_state": draw(D_S), "encoder_states": draw(T_ENC, D_H)}
    if function == "dot_attention":
        return states | {"decoder_state": draw(D_H)}
    if function == "general_attention":
        return states | {"W": draw(D_S, D_H)}
    if function == "concat_attention":
        return states | {"W_a": draw(D_S + D_H, D_ATTN), "v_a": draw(D_ATTN)}
    return states | {"W_a": draw(D_S, D_ATTN), "U_a": draw(D_H, D_ATTN), "v_a": draw(D_ATTN)}


def score_of(function, s, h, W=None, W_a=None, U_a=None, v_a=None):
    """e_i of one pair of states, number by number."""
    if function == "dot_attention":
        return sum(s[j] * h[j] for j in range(len(s)))
    if function == "general_attention":
        return sum(s[j] * W[j][k] * h[k] for j in range(len(s)) for k in range(len(h)))
    if function == "concat_attention":
        W_a, U_a = W_a[: len(s)], W_a[len(s) :]
    total = 0.0
    for a in range(len(v_a)):
        inner = sum(s[j] * W_a[j][a] for j in range(len(s)))
        inner += sum(h[k] * U_a[k][a] for k in range(len(h)))
        total += v_a[a] * math.tanh(inner)
    return total


FUNCTIONS = ["additive_attention", "dot_attention", "general_attention", "concat_attention"]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_equals_a_loop_over_numbers(function):
    named = arguments(function)
    context, weights = getattr(reference, function)(**named)

    lists = {name: value.tolist() for name, value in named.items()}
    s, h = lists.pop("decoder_state"), lists.pop("encoder_states")
    exp = [math.exp(score_of(function, s, h_i, **lists)) for h_i in h]
    expected = [e / sum(exp) for e in exp]
    assert weights.shape == (T_ENC,)
    assert context.shape == (D_H,)
    np.testing.assert_allclose(weights, expected, atol=1e-12)
    mean = [sum(a * h_i[k] for a, h_i in zip(expected, h, strict=True)) for k in range(D_H)]
    np.testing.assert_allclose(context, mean, atol=1e-12)


def test_worked_example_has_the_weights_of_dot():
    _, weights = reference.dot_attention([0.9, 0.1, 0.2], WORKED_STATES)
    assert weights.round(3).tolist() == [0.464, 0.305, 0.231]


def test_a_state_near_the_third_row_moves_the_largest_weight_to_position_2():
    _, weights = reference.dot_attention([0.1, 0.9, 0.3], WORKED_STATES)
    assert weights.argmax() == 2


def test_doctests_run_and_pass():
    result = doctest.testmod(reference)
    assert result.attempted >= 10
    assert result.failed == 0


def test_needs_numpy_alone():
    program = (
        "import sys; from attention_zoo.layers import reference; "
        "heavy = {'tensorflow', 'keras'} & set(sys.modules); sys.exit(str(heavy) if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("scores", [[800.0, 801.0], [-800.0, -801.0], [0.0, -1e30]])
def test_softmax_is_finite_at_any_size(scores):
    weights = reference.softmax(scores)
    assert np.isfinite(weights).all()
    assert weights.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("scores", [[], [[1.0, 2.0]], 1.0])
def test_softmax_refuses_what_is_not_a_vector(scores):
    with pytest.raises(ValueError, match="scores"):
        reference.softmax(scores)


def broken_arguments():
    return [
        pytest.param(function, name, axis, id=f"{function}-{name}-{axis}")
        for function in FUNCTIONS
        for name, value in arguments(function).items()
        for axis in range(value.ndim)
        if (name, axis) != ("encoder_states", 0)  # any number of encoder states is right
    ]


@pytest.mark.parametrize(("function", "name", "axis"), broken_arguments())
@pytest.mark.parametrize("size", ["longer", "one"])
def test_an_axis_of_another_size_is_an_error_and_never_broadcasts(function, name, axis, size):
    named = arguments(function)
    shape = list(named[name].shape)
    shape[axis] = 1 if size == "one" else shape[axis] + 2
    named[name] = draw(*shape)
    with pytest.raises(ValueError, match=function) as caught:
        getattr(reference, function)(**named)
    # two tensors disagree: the text shows both, whichever came first
    assert name in str(caught.value)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_missing_or_an_extra_axis_is_an_error_that_names_the_argument(function):
    for name, value in arguments(function).items():
        for wrong in (value[None], value[0]):
            with pytest.raises(ValueError, match=name):
                getattr(reference, function)(**arguments(function) | {name: wrong})


@pytest.mark.parametrize("function", FUNCTIONS)
def test_no_encoder_states_is_an_error(function):
    with pytest.raises(ValueError, match=r"encoder_states .* at least 1"):
        getattr(reference, function)(**arguments(function) | {"encoder_states": np.zeros((0, D_H))})
