"""Numbers of the right shapes that are wrong all the same."""

import numpy as np
import pytest

from attention_zoo.layers import diagnose


def softmax(scores, axis):
    powers = np.exp(scores - scores.max(axis, keepdims=True))
    return powers / powers.sum(axis, keepdims=True)


def context_of(arrays, weights):
    letters = "bt" if weights.ndim == 3 else "b"
    return np.einsum(f"{letters}i,bih->{letters}h", weights, arrays["memory"])


def kinds(diagnosis):
    return [(finding.tensor, finding.kind) for finding in diagnosis.findings]


def assert_mended(mechanism, found, broken, mend):
    assert diagnose(mechanism, **mend(found.fixes, broken)).verdict == "healthy"


@pytest.mark.parametrize("with_context", [True, False])
def test_a_softmax_over_another_axis(form, step, mend, with_context):
    mechanism, one = form
    arrays = step(mechanism, one)
    for axis, word in enumerate(("batch",) if one else ("batch", "T_dec")):
        weights = softmax(arrays["scores"], axis)
        broken = arrays | {"weights": weights, "context": context_of(arrays, weights)}
        if not with_context:
            del broken["context"]
        found = diagnose(mechanism, **broken)
        assert (found.verdict, kinds(found)) == ("wrong", [("weights", "softmax axis")]), str(found)
        assert f"sum to 1 over {word}" in found.findings[0].reason
        mended = mend(found.fixes, broken)
        np.testing.assert_allclose(mended["weights"], arrays["weights"], atol=1e-12)
        assert_mended(mechanism, found, broken, mend)
        # from the weights alone they cannot be made, so no line is given
        del broken["scores"]
        assert diagnose(mechanism, **broken).fixes == ()


def test_weights_that_sum_to_nothing_known(step):
    arrays = step("luong_dot")
    found = diagnose("luong_dot", weights=arrays["weights"] * 1.5, mask=arrays["mask"])
    assert kinds(found) == [("weights", "softmax axis")]
    assert "1.5" in found.findings[0].reason
    arrays["weights"][0, 0, 0] = np.nan
    assert "NaN" in diagnose("luong_dot", weights=arrays["weights"]).findings[0].reason


def test_weights_at_masked_steps(form, step, mend):
    mechanism, one = form
    arrays = step(mechanism, one)
    weights = softmax(arrays["scores"], -1)
    broken = arrays | {"weights": weights, "context": context_of(arrays, weights)}
    for left_out in ((), ("scores",), ("scores", "context")):
        less = {name: x for name, x in broken.items() if name not in left_out}
        found = diagnose(mechanism, **less)
        assert kinds(found) == [("weights", "unmasked")], str(found)
        mended = mend(found.fixes, less)
        for name in less:
            np.testing.assert_allclose(mended[name], arrays[name], atol=1e-12)


def test_a_mask_turned_round(form, step, mend):
    mechanism, one = form
    arrays = step(mechanism, one)
    broken = arrays | {"mask": ~arrays["mask"]}
    found = diagnose(mechanism, **broken)
    assert (found.verdict, kinds(found)) == ("wrong", [("mask", "mask inverted")]), str(found)
    np.testing.assert_array_equal(mend(found.fixes, broken)["mask"], arrays["mask"])
    # a memory that is 0 in the padding shows it without the weights
    memory = arrays["memory"] * arrays["mask"][..., None]
    assert diagnose(mechanism, memory=memory, mask=arrays["mask"]).verdict == "healthy"
    by_memory = diagnose(mechanism, memory=memory, mask=~arrays["mask"])
    assert kinds(by_memory) == [("mask", "mask inverted")]
    # and nothing shows it otherwise
    alone = diagnose(mechanism, memory=arrays["memory"], mask=~arrays["mask"])
    assert alone.verdict == "healthy"


def test_a_mask_of_other_numbers(step, mend):
    arrays = step("luong_general")
    broken = arrays | {"mask": np.where(arrays["mask"], 0.0, -1e9)}
    found = diagnose("luong_general", **broken)
    assert kinds(found) == [("mask", "mask values")]
    np.testing.assert_array_equal(mend(found.fixes, broken)["mask"], arrays["mask"])
    unclear = diagnose("luong_general", **arrays | {"mask": arrays["mask"] * 0.5})
    assert (kinds(unclear), unclear.fixes) == ([("mask", "mask values")], ())
    for dtype in ("int32", "float32"):
        assert diagnose("luong_general", **arrays | {"mask": arrays["mask"].astype(dtype)}).sizes


def test_a_context_that_is_not_the_weighted_mean(form, step, mend):
    mechanism, one = form
    arrays = step(mechanism, one)
    broken = arrays | {"context": arrays["context"] + 1}
    found = diagnose(mechanism, **broken)
    assert kinds(found) == [("context", "context")]
    np.testing.assert_allclose(mend(found.fixes, broken)["context"], arrays["context"])


def test_scores_and_weights_exchanged(form, step, mend):
    mechanism, one = form
    arrays = step(mechanism, one)
    broken = arrays | {"scores": arrays["weights"], "weights": arrays["scores"]}
    found = diagnose(mechanism, **broken)
    assert found.verdict == "wrong", str(found)
    assert found.fixes == ("scores, weights = weights, scores",)


def test_square_weights_exchanged_are_seen_by_the_scores(step, mend):
    arrays = step("bahdanau", d_s=13)
    broken = arrays | {"W_a": arrays["U_a"], "U_a": arrays["W_a"]}
    found = diagnose("bahdanau", **broken)
    assert found.fixes == ("W_a, U_a = U_a, W_a",), str(found)
    assert found.tensors == ("W_a", "U_a")
    few = {name: broken[name] for name in ("query", "memory", "W_a", "U_a", "v_a")}
    blind = diagnose("bahdanau", **few)
    assert blind.verdict == "healthy"
    assert ["W_a", "U_a"] in [[f.tensor for f in findings] for findings in blind.undecided]


def test_weights_turned_or_normalised_over_the_batch_when_it_is_as_long_as_the_source(step):
    arrays = step("luong_general", one_step=True, batch=5)
    few = {"weights": softmax(arrays["scores"], 0)}
    found = diagnose("luong_general", **few)
    assert found.verdict == "ambiguous"
    assert {finding.kind for (finding,) in found.candidates} == {"transpose", "softmax axis"}
    # the scores tell one from the other
    given = few | {"scores": arrays["scores"]}
    assert kinds(diagnose("luong_general", **given)) == [("weights", "softmax axis")]
    turned = {"weights": softmax(arrays["scores"], -1).T, "scores": arrays["scores"]}
    assert kinds(diagnose("luong_general", **turned)) == [("weights", "transpose")]


# --- s_{t-1} or s_t -------------------------------------------------------------------------------


def test_the_query_of_the_wrong_step(form, step, mend):
    mechanism, one = form
    arrays = step(mechanism, one)
    right, wrong = "state_before", "state_after"
    if mechanism != "bahdanau":
        right, wrong = wrong, right
    states = {name: arrays[name] for name in (right, wrong)}
    assert diagnose(mechanism, query=arrays[right], **states).verdict == "healthy"
    broken = {"query": arrays[wrong], **states}
    found = diagnose(mechanism, **broken)
    assert kinds(found) == [("query", "state")]
    assert f"equals {wrong}" in found.findings[0].reason
    assert "s_{t-1}" in found.findings[0].reason
    assert found.fixes == (f"query = {right}",)
    assert_mended(mechanism, found, broken, mend)
    near = {**broken, "query": arrays[wrong] + 0.01}
    assert "looks like" in diagnose(mechanism, **near).findings[0].reason
    # neither of the two, or both: nothing is said
    assert diagnose(mechanism, **{**broken, "query": arrays[wrong] * 5}).verdict == "healthy"
    alike = {"query": arrays[wrong], right: arrays[wrong], wrong: arrays[wrong]}
    assert diagnose(mechanism, **alike).verdict == "healthy"
    # one state alone does not show it
    assert diagnose(mechanism, query=arrays[wrong], **{wrong: arrays[wrong]}).verdict == "healthy"


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_rounding_is_no_fault(form, step, dtype):
    mechanism, one = form
    rounded = {
        name: x if name == "mask" else x.astype(dtype) for name, x in step(mechanism, one).items()
    }
    assert diagnose(mechanism, **rounded).verdict == "healthy"


def test_a_row_of_nothing_but_padding_has_weights_of_0(step):
    arrays = step("bahdanau")
    arrays["mask"][1] = False
    arrays["weights"][1] = arrays["context"][1] = 0
    assert diagnose("bahdanau", **arrays).verdict == "healthy"
