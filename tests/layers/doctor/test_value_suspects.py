"""Numbers that disagree: never healthy, and never one tensor for certain where several may be."""

import numpy as np
import pytest

from attention_zoo.layers import diagnose

FORMULA = ("query", "W_a", "U_a", "v_a")


def one_number(x, number):
    changed = x.astype("float64")
    changed.flat[0] = number
    return changed


def without(arrays, *names):
    return {name: x for name, x in arrays.items() if name not in names}


def under_keys(arrays):
    """The same step, its memory under the name of keys."""
    return without(arrays, "memory") | {"keys": arrays["memory"]}


def told(mechanism, arrays):
    found = diagnose(mechanism, **arrays)
    return found.verdict, set(found.tensors)


# --- NaN and infinite numbers ---------------------------------------------------------------------


@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_a_number_that_is_none_is_named_whatever_tensor_has_it(form, step, mend, number):
    mechanism, one = form
    arrays = step(mechanism, one)
    for name in without(arrays, "mask"):
        broken = arrays | {name: one_number(arrays[name], number)}
        for given in (broken, {name: broken[name]}):
            found = diagnose(mechanism, **given)
            assert (found.verdict, found.tensors) == ("wrong", (name,)), str(found)
            assert found.findings[0].kind == "not finite"
            assert "where it comes from" in found.findings[0].fix
            assert found.undecided == ()
        found = diagnose(mechanism, **broken)
        assert bool(found.fixes) == (name in ("weights", "context"))  # the others make these
        if found.fixes:
            mended = mend(found.fixes, broken)
            np.testing.assert_allclose(mended[name], arrays[name], atol=1e-12)
        # nothing but this number: the whole tensor too
        whole = arrays | {name: np.full(arrays[name].shape, number)}
        assert told(mechanism, whole) == ("wrong", {name})


def test_what_follows_from_nan_is_named_beside_it_and_has_no_line(step):
    arrays = step("bahdanau")
    broken = arrays | {n: np.full(arrays[n].shape, np.nan) for n in ("scores", "weights")}
    found = diagnose("bahdanau", **broken)
    assert (found.tensors, found.fixes) == (("scores", "weights"), ())


def test_minus_infinity_masks_scores_and_hides_nothing_else(form, step):
    mechanism, one = form
    arrays = step(mechanism, one)
    mask = arrays["mask"] if one else arrays["mask"][:, None]
    masked = np.where(mask, arrays["scores"], -np.inf)
    for given in ({"scores": masked}, arrays | {"scores": masked}):
        assert told(mechanism, given)[0] == "healthy"
        assert told(mechanism, without(given, "mask"))[0] == "healthy"
    nothing = np.full(masked.shape, -np.inf)
    even = np.full(masked.shape, 0.2)
    for given in ({"scores": nothing}, {"scores": nothing, "weights": even}):
        assert told(mechanism, given) == ("wrong", {"scores"})


# --- scores and weights ---------------------------------------------------------------------------

CHANGES = {
    "zero": lambda x: x * 0,
    "scaled": lambda x: x * 1.5,
    "rolled": lambda x: np.roll(x, 1, axis=-1),
    "one": lambda x: one_number(x, x.flat[0] + 3),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_scores_that_neither_formula_nor_weights_agree_with_are_wrong(form, step, change):
    mechanism, one = form
    arrays = step(mechanism, one)
    broken = arrays | {"scores": change(arrays["scores"])}
    assert told(mechanism, broken) == ("wrong", {"scores"})
    # without the formula the weights may be what is wrong
    few = without(broken, *FORMULA, "state_before", "state_after")
    assert told(mechanism, few) == ("ambiguous", {"scores", "weights"})
    # without weights the scores may be those of another formula
    verdict, names = told(mechanism, without(broken, "weights", "context"))
    assert verdict == "ambiguous"
    assert {"scores", "query", "memory"} <= names


def test_a_tensor_of_the_formula_alone_is_one_of_several(form, step):
    mechanism, one = form
    arrays = step(mechanism, one)
    parts = {name for name in FORMULA if name in arrays}
    for name in parts:
        found = diagnose(mechanism, **arrays | {name: arrays[name] * 1.5})
        assert (found.verdict, set(found.tensors)) == ("ambiguous", {*parts, "scores"}), str(found)
        assert found.fixes == ()
        assert "scale" in str(found)


def test_a_scale_is_told_as_a_possible_reason_and_a_constant_is_no_fault(form, step):
    mechanism, one = form
    arrays = step(mechanism, one)
    assert told(mechanism, arrays | {"scores": arrays["scores"] + 3})[0] == "healthy"
    scaled = arrays["scores"] / np.sqrt(13)
    mask = arrays["mask"] if one else arrays["mask"][:, None]
    powers = np.where(mask, np.exp(scaled), 0)
    weights = powers / powers.sum(-1, keepdims=True)
    context = np.einsum("b...i,bih->b...h", weights, arrays["memory"])
    found = diagnose(
        mechanism, **arrays | {"scores": scaled, "weights": weights, "context": context}
    )
    assert found.verdict == "ambiguous"
    assert "memory" not in found.tensors  # the context has it right
    assert "1 / sqrt(d_h)" in str(found)


@pytest.mark.parametrize("dtype", ["float16", "float32", "bfloat16"])
@pytest.mark.parametrize("width", [13, 211])
def test_rounding_of_any_size_is_healthy(form, step, dtype, width):
    import ml_dtypes

    mechanism, one = form
    kind = ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype
    for seed in range(3):
        arrays = step(mechanism, one, seed, d_s=width, d_h=width, d_attn=width)
        del arrays["context"]  # a sum of rounded terms, tried elsewhere
        rounded = {n: x if n == "mask" else x.astype(kind) for n, x in arrays.items()}
        if dtype == "bfloat16":
            rounded.pop("weights")  # their sum is off by more than rounding of float32
        found = diagnose(mechanism, **rounded)
        assert found.verdict == "healthy", str(found)


# --- keys, context, mask --------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["keys", "context"])
def test_keys_and_context_that_disagree_are_both_told_unless_the_scores_decide(form, step, name):
    mechanism, one = form
    arrays = under_keys(step(mechanism, one))
    broken = arrays | {name: arrays[name] * 1.5}
    assert told(mechanism, broken) == ("wrong", {name})
    few = without(broken, *FORMULA)
    assert told(mechanism, few) == ("ambiguous", {"keys", "context"})


def test_a_mask_moved_by_one_is_told_beside_the_weights(form, step):
    mechanism, one = form
    arrays = step(mechanism, one)
    broken = arrays | {"mask": np.roll(arrays["mask"], 1, axis=1)}
    assert (broken["mask"] != arrays["mask"]).any()
    for given in (broken, {name: broken[name] for name in ("mask", "weights")}):
        assert told(mechanism, given) == ("ambiguous", {"mask", "weights"})
