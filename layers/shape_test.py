"""The test that a diagnosis gives away: a file for pytest that needs NumPy alone."""

import json
from collections.abc import Collection, Mapping

from attention_zoo.layers.attention_axes import Axes

_HEAD = '''"""The shapes of a {mechanism} attention step; written by attention-zoo doctor."""

import numpy as np
import pytest

SIZES = {sizes}
AXES = {axes}


def arrays():
    """Put a call of your own code here; these are made up, and right."""
    made = {{n: np.zeros([SIZES.get(axis, 7) for axis in axes]) for n, axes in AXES.items()}}
    if "mask" in made:
        made["mask"] = made["mask"] == 0
    if "weights" in made:
        made["weights"] += 1 / made["weights"].shape[-1]
    return made


@pytest.mark.parametrize("name", AXES)
def test_shape(name):
    given, sizes = arrays(), dict(SIZES)
    for other, axes in AXES.items():  # an axis that SIZES lacks has one size all the same
        for axis, size in zip(axes, np.shape(given[other])):
            sizes.setdefault(axis, size)
    expected = tuple(sizes[axis] for axis in AXES[name])
    actual = np.shape(given[name])
    assert actual == expected, f"{{name}} is {{actual}}; expected {{AXES[name]}} = {{expected}}"
'''

_SUM = """

def test_weights_sum_to_one_over_the_real_steps():
    given = arrays()
    real = np.any(given["mask"], axis=-1) if "mask" in given else np.array(1.0)
    total = np.moveaxis(given["weights"].sum(axis=-1), 0, -1)
    np.testing.assert_allclose(total, np.broadcast_to(real, total.shape), rtol=1e-3)
"""

_MASKED = """

def test_masked_steps_have_no_weight():
    given = arrays()
    weights = np.moveaxis(given["weights"], 0, -2)  # (..., batch, T_enc)
    assert not np.any(weights * ~np.asarray(given["mask"], bool))
"""

_CONTEXT = """

def test_context_is_the_weighted_mean_of_the_memory():
    given = arrays()
    memory = given.get("memory", given.get("keys"))
    expected = np.einsum("b...i,bih->b...h", given["weights"], memory)
    np.testing.assert_allclose(given["context"], expected, rtol=1e-3, atol=1e-5)
"""

_STATE = """

def test_query_is_{name}():
    given = arrays()
    np.testing.assert_array_equal(given["query"], given["{name}"])
"""


def shape_test(
    mechanism: str,
    axes: Mapping[str, Axes],
    sizes: Mapping[str, int | None],
    kinds: Collection[str],
) -> str:
    """The text of a test file for these axes and sizes.

    Args:
        mechanism: whose tensors they are.
        axes: tensor -> axes.
        sizes: axis -> size, None where nothing says: there the tensors must agree, no more.
        kinds: kinds of findings; those about numbers add a test each.
    """
    known = {axis: str(size) for axis, size in sizes.items() if size is not None}
    tuples = {name: _tuple(names) for name, names in axes.items()}
    text = _HEAD.format(mechanism=mechanism, sizes=_table(known), axes=_table(tuples))
    if "weights" in axes:
        text += _SUM
    if {"weights", "mask"} <= set(axes):
        text += _MASKED
    if "context" in kinds:
        text += _CONTEXT
    if "state" in kinds:
        text += _STATE.format(name="state_before" if mechanism == "bahdanau" else "state_after")
    return text


def _table(rows: Mapping[str, str]) -> str:
    lines = (f"    {json.dumps(name)}: {value}," for name, value in rows.items())
    return "\n".join(("{", *lines, "}"))


def _tuple(names: Axes) -> str:
    inside = ", ".join(json.dumps(name) for name in names)
    return f"({inside},)" if len(names) == 1 else f"({inside})"
