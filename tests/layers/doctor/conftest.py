"""Attention steps with every tensor right, computed with NumPy alone, and ways to break them."""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pytest

from attention_zoo.layers.attention_axes import MECHANISMS, axes_of

# different primes; the widths of Luong's "dot" are one
SIZES = {"batch": 3, "T_enc": 5, "T_dec": 7, "d_s": 11, "d_h": 13, "d_attn": 17, "d_out": 19}
FORMS = [(mechanism, one) for mechanism in MECHANISMS for one in (True, False)]
FORM_NAMES = [f"{mechanism}-{'one_step' if one else 'steps'}" for mechanism, one in FORMS]


def right(mechanism, one_step=False, seed=0, **sizes):
    """name -> array of all tensors of a step, keys left out: memory is both keys and values."""
    n = {**SIZES, **sizes}
    if mechanism == "luong_dot":
        n["d_s"] = n["d_h"]
    n["d_s + d_h"] = n["d_h + d_s"] = n["d_s"] + n["d_h"]
    rng = np.random.default_rng(seed)
    names = ["query", "memory", "W_a", "U_a", "v_a", "W_c", "state_after"]
    axes = axes_of(mechanism, names, one_step, dot_widths=False)
    made = {name: rng.normal(size=[n[axis] for axis in axes[name]]) for name in axes}
    made["state_before"] = made["query"].copy()
    if mechanism != "bahdanau":
        made["state_before"], made["state_after"] = made["state_after"], made["query"].copy()
    lengths = rng.integers(1, n["T_enc"] + 1, size=n["batch"])
    lengths[0] = n["T_enc"]
    made["mask"] = np.arange(n["T_enc"]) < lengths[:, None]
    made["scores"] = scores_of(mechanism, made)
    mask = made["mask"] if one_step else made["mask"][:, None]
    real = np.where(mask, made["scores"], -np.inf)
    powers = np.exp(real - real.max(-1, keepdims=True))
    made["weights"] = powers / powers.sum(-1, keepdims=True)
    made["context"] = (made["weights"][..., None] * over_steps(made, "memory")).sum(-2)
    return made


def over_steps(made, name):
    """(batch, T_enc, d) or, for a sequence of queries, (batch, 1, T_enc, d)."""
    return made[name] if made["query"].ndim == 2 else made[name][:, None]


def scores_of(mechanism, made):
    """The formulas of the papers, (batch[, T_dec], T_enc)."""
    s, h = made["query"][..., None, :], over_steps(made, "memory")
    if mechanism == "bahdanau":
        return np.tanh(s @ made["W_a"] + h @ made["U_a"]) @ made["v_a"]
    if mechanism == "luong_concat":
        d_s = s.shape[-1]
        return np.tanh(s @ made["W_a"][:d_s] + h @ made["W_a"][d_s:]) @ made["v_a"]
    return ((s @ made["W_a"] if "W_a" in made else s) * h).sum(-1)


@dataclass(frozen=True)
class Break:
    """One fault: `names` are the tensors that it makes wrong, `apply` makes it."""

    label: str
    names: tuple
    apply: object

    def __call__(self, arrays):
        return {**arrays, **self.apply(arrays)}


def one(label, name, change):
    return Break(f"{label}-{name}", (name,), lambda arrays: {name: change(arrays[name])})


def swapped(a, b):
    return Break(f"swap-{a}-{b}", (a, b), lambda arrays: {a: arrays[b], b: arrays[a]})


def breaks(arrays):
    """All transpositions, keepdims, tiles and exchanges that change the shape of something."""
    for name, x in arrays.items():
        for i, j in combinations(range(x.ndim), 2):
            if x.shape[i] != x.shape[j]:
                yield one(f"axes{i}{j}", name, lambda x, i=i, j=j: np.swapaxes(x, i, j))
        for axis in range(x.ndim + 1):
            yield one(f"keepdims{axis}", name, lambda x, axis=axis: np.expand_dims(x, axis))
        for axis in range(x.ndim + 1):
            yield one(
                f"tile_new{axis}", name, lambda x, a=axis: np.repeat(np.expand_dims(x, a), 23, a)
            )
        for axis in range(x.ndim):
            yield one(f"tile{axis}", name, lambda x, a=axis: np.concatenate([x, x], axis=a))
            yield one(f"repeat{axis}", name, lambda x, a=axis: np.repeat(x, 3, axis=a))
        for axis in range(x.ndim):
            if x.shape[axis] == 1:
                yield one(f"squeeze{axis}", name, lambda x, a=axis: np.squeeze(x, a))
    for a, b in combinations(arrays, 2):
        if arrays[a].shape != arrays[b].shape:
            yield swapped(a, b)


def apply_lines(lines, arrays):
    """The arrays after some lines of NumPy were run on them."""
    values = dict(arrays)
    for line in lines:
        exec(line, {"np": np}, values)
    return {name: values[name] for name in arrays}


@pytest.fixture(params=FORMS, ids=FORM_NAMES)
def form(request):
    """(mechanism, whether there is one query only)."""
    return request.param


@pytest.fixture(scope="session")
def step():
    """(mechanism, one_step, seed, sizes) -> arrays that are right."""
    return right


@pytest.fixture(scope="session")
def all_breaks():
    """arrays -> faults that change a shape."""
    return breaks


@pytest.fixture(scope="session")
def mend():
    """(lines of NumPy, arrays) -> arrays."""
    return apply_lines
