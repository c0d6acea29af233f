"""The doctor names the broken tensor, and says so where shapes cannot tell."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attention_zoo.layers import Diagnosis, diagnose
from attention_zoo.layers.attention_axes import MECHANISMS, axes_of, sizes_of


def is_right(mechanism, arrays):
    """Whether some sizes make all the shapes right, in one of the two forms."""
    shapes = {name: x.shape for name, x in arrays.items()}
    forms = (axes_of(mechanism, arrays, one_step) for one_step in (True, False))
    return any(sizes_of(shapes, axes) is not None for axes in forms)


def candidates(diagnosis):
    """Every set of findings that explains the arrays."""
    rest = diagnosis.candidates or ((),)
    return [(*diagnosis.findings, *candidate) for candidate in rest]


def lines(findings):
    return [finding.code for finding in findings if finding.code]


def same(one, other):
    return all(np.array_equal(one[name], other[name]) for name in one)


# --- what is right --------------------------------------------------------------------------------


def test_a_right_step_is_healthy_and_its_sizes_are_found(form, step):
    mechanism, one = form
    arrays = step(mechanism, one)
    found = diagnose(mechanism, **arrays)
    assert isinstance(found, Diagnosis)
    assert (found.verdict, found.findings, found.candidates, found.undecided) == (
        *("healthy", (), ()),
        (),
    )
    assert found.sizes["batch"] == 3
    assert found.sizes["T_enc"] == 5
    assert found.sizes.get("T_dec") == (None if one else 7)
    assert found.sizes["d_h"] == 13
    assert found.sizes.get("d_s", 11) == 11
    assert found.sizes.get("d_attn", 17) == 17


@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_any_part_of_a_right_step_of_any_sizes_is_healthy(step, data):
    mechanism, arrays = drawn_step(data, step)
    found = diagnose(mechanism, **arrays)
    assert found.verdict == "healthy", str(found)


def drawn_step(data, step):
    """A mechanism and some of the arrays of a right step; sizes are small, so they coincide."""
    mechanism = data.draw(st.sampled_from(MECHANISMS), label="mechanism")
    names = ("batch", "T_enc", "T_dec", "d_s", "d_h", "d_attn", "d_out")
    sizes = {name: data.draw(st.integers(1, 4), label=name) for name in names}
    seed, one = data.draw(st.integers(0, 999), label="seed"), data.draw(st.booleans(), label="one")
    arrays = step(mechanism, one, seed, **sizes)
    chosen = data.draw(st.sets(st.sampled_from(sorted(arrays)), min_size=1), label="tensors")
    return mechanism, {name: x for name, x in arrays.items() if name in chosen}


def test_keys_of_another_width_than_the_memory_are_right_as_in_the_layers(step):
    arrays = step("bahdanau")
    keys, values = arrays["memory"], np.random.default_rng(1).normal(size=(3, 5, 29))
    context = np.einsum("bti,bih->bth", arrays["weights"], values)
    found = diagnose("bahdanau", **{**arrays, "keys": keys, "memory": values, "context": context})
    assert found.verdict == "healthy", str(found)
    assert (found.sizes["d_h"], found.sizes["d_v"]) == (13, 29)


# --- one fault, with sizes that are different primes ----------------------------------------------


def test_every_fault_is_named_and_its_fix_gives_back_the_right_step(form, step, all_breaks, mend):
    mechanism, one = form
    arrays = step(mechanism, one)
    tried = 0
    for fault in all_breaks(arrays):
        if fault.names == ("W_c",) and fault.label.startswith(("tile1", "repeat1")):
            continue  # d_out is the width of W_c alone: any is right
        broken = fault(arrays)
        found = diagnose(mechanism, **broken)
        assert found.verdict == "wrong", f"{fault.label}: {found}"
        assert set(found.tensors) == set(fault.names), f"{fault.label}: {found}"
        for finding in found.findings:
            assert finding.expected == arrays[finding.tensor].shape, fault.label
            assert finding.actual == broken[finding.tensor].shape, fault.label
            assert finding.tensor in str(found)
        mended = mend(found.fixes, broken)
        assert same(mended, arrays), fault.label  # and so healthy, as the test above says
        tried += 1
    assert tried > 100


LEAST = {
    "bahdanau": ("query", "memory", "W_a", "U_a", "v_a"),
    "luong_dot": ("query", "memory", "mask", "scores"),
    "luong_general": ("query", "memory", "W_a", "mask"),
    "luong_concat": ("query", "memory", "W_a", "v_a", "mask"),
}


def test_the_few_tensors_that_one_has_at_hand_will_do(form, step, all_breaks, mend):
    mechanism, one = form
    arrays = {name: x for name, x in step(mechanism, one).items() if name in LEAST[mechanism]}
    named = undecided = unseen = 0
    for fault in all_breaks(arrays):
        broken = fault(arrays)
        found = diagnose(mechanism, **broken)
        if is_right(mechanism, broken):
            unseen += 1  # such as a tile of T_dec, which the query alone has
            continue
        mended = [mend(lines(findings), broken) for findings in candidates(found)]
        assert any(same(arrays, each) for each in mended), f"{fault.label}: {found}"
        named += found.verdict == "wrong" and set(found.tensors) == set(fault.names)
        undecided += found.verdict == "ambiguous"
    assert named > 40
    assert named > 10 * undecided
    assert named > 5 * unseen


# --- one fault, where sizes coincide --------------------------------------------------------------


@given(data=st.data())
@settings(max_examples=120, deadline=None)
def test_a_fault_is_named_or_among_the_candidates_unless_no_shape_shows_it(step, all_breaks, data):
    mechanism, arrays = drawn_step(data, step)
    faults = list(all_breaks(arrays))
    fault = faults[data.draw(st.integers(0, len(faults) - 1), label="fault")]
    broken = fault(arrays)
    found = diagnose(mechanism, **broken)
    if is_right(mechanism, broken):
        return  # then only numbers could show it
    assert found.verdict in ("wrong", "ambiguous"), f"{fault.label}: {found}"
    assert any(
        {finding.tensor for finding in findings} == set(fault.names)
        for findings in candidates(found)
    ), f"{fault.label}: {found}"


@pytest.mark.parametrize(
    ("sizes", "name", "turn"),
    [
        ({"T_enc": 3}, "memory", (2, 0, 1)),  # batch = T_enc
        ({"d_h": 5}, "memory", (2, 0, 1)),  # T_enc = d_h
        ({"T_dec": 3}, "query", (2, 0, 1)),  # batch = T_dec
        ({"d_s": 7}, "query", (2, 0, 1)),  # T_dec = d_s
    ],
)
def test_two_axes_of_one_size_are_ambiguous_with_the_truth_among_the_candidates(
    step, mend, sizes, name, turn
):
    arrays = step("bahdanau", **sizes)
    shown = {n: x for n, x in arrays.items() if n in LEAST["bahdanau"] or n == "mask"}
    broken = {**shown, name: np.transpose(shown[name], turn)}
    found = diagnose("bahdanau", **broken)
    assert not is_right("bahdanau", broken)
    assert found.verdict == "ambiguous", str(found)
    assert found.tensors == (name,)
    assert any(same(mend(lines(f), broken), shown) for f in candidates(found))
    # with the numbers of the whole step it is decided
    whole = diagnose("bahdanau", **{**arrays, name: np.transpose(arrays[name], turn)})
    assert whole.verdict == "wrong", str(whole)
    assert same(mend(whole.fixes, {**arrays, name: broken[name]}), arrays)


@pytest.mark.parametrize("name", ["W_a", "U_a"])
def test_a_square_weight_is_ambiguous_and_the_scores_decide(step, mend, name):
    arrays = step("bahdanau", d_s=17, d_h=17)
    few = {n: arrays[n] for n in LEAST["bahdanau"]}
    found = diagnose("bahdanau", **few)
    # nothing is wrong with a square weight; but no shape could show it
    assert found.verdict == "healthy"
    assert f"{name} = {name}.T" in [line for faults in found.undecided for line in lines(faults)]
    assert f"Ambiguous, though nothing speaks for it: {name} has shape (17, 17)" in str(found)
    broken = {**arrays, name: arrays[name].T}
    decided = diagnose("bahdanau", **broken)
    assert (decided.verdict, decided.tensors) == ("wrong", (name,))
    assert same(mend(decided.fixes, broken), arrays)
    seen = diagnose("bahdanau", **arrays).undecided
    assert name not in {finding.tensor for findings in seen for finding in findings}


def test_a_mask_and_a_memory_that_disagree_alone_are_both_candidates():
    found = diagnose("bahdanau", memory=np.ones((3, 5, 13)), mask=np.ones((3, 7)))
    assert found.verdict == "ambiguous"
    assert [[f.tensor for f in findings] for findings in found.candidates] == [["memory"], ["mask"]]
    assert found.fixes == ()
    assert found.sizes["T_enc"] is None
    assert found.sizes["batch"] == 3


# --- what is wrong in size, and fixes that are refused --------------------------------------------


def test_widths_of_query_and_keys_come_first_for_dot(step, mend):
    arrays = step("luong_general")
    few = {"query": arrays["query"], "memory": arrays["memory"], "mask": arrays["mask"]}
    found = diagnose("luong_dot", **few)
    assert found.verdict == "wrong"
    assert (found.findings[0].tensor, found.findings[0].kind) == ("query", "widths")
    assert found.findings[0].expected == (3, 7, 13)
    assert found.findings[1].expected == (3, 5, 11)
    assert "d_s = d_h" in found.findings[0].reason
    assert "luong_general" in found.findings[0].fix
    assert diagnose("luong_dot", **mend(found.fixes, few)).verdict == "healthy"
    # beside another fault they are the first all the same
    both = diagnose("luong_dot", **few | {"mask": arrays["mask"].T})
    assert [f.tensor for f in both.findings] == ["query", "memory", "mask"]
    # a bidirectional encoder is the usual reason
    twice = diagnose("luong_dot", query=np.ones((3, 11)), memory=np.ones((3, 5, 22)))
    assert "bidirectional" in twice.findings[0].fix
    # a state must keep its width, so there is no line that only projects the query
    assert diagnose("luong_dot", **few, state_after=arrays["query"]).fixes == ()


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("mask", lambda x: x[:1]),
        ("memory", lambda x: x[0]),
        ("memory", lambda x: x[:, :1]),
        ("scores", lambda x: x[..., :1]),
        ("scores", lambda x: x[:, 0]),
        ("query", lambda x: x[:, 0]),
        ("query", lambda x: x[:1]),
    ],
)
def test_what_would_broadcast_is_refused(step, name, change):
    arrays = step("bahdanau")
    found = diagnose("bahdanau", **{**arrays, name: change(arrays[name])})
    assert (found.verdict, found.tensors) == ("wrong", (name,)), str(found)
    assert found.findings[0].kind == "refused"
    assert "broadcast" in found.findings[0].fix
    assert found.fixes == ()


def test_no_reshape_stands_for_a_transposition(step):
    arrays = step("bahdanau")
    shuffled = diagnose("bahdanau", **{**arrays, "memory": arrays["memory"].reshape(5, 3, 13)})
    assert "reshape" not in "".join(shuffled.fixes)
    joined = diagnose("bahdanau", **{**arrays, "memory": arrays["memory"].reshape(15, 13)})
    assert joined.fixes == ("memory = memory.reshape(3, 5, 13)",)


def test_wrong_widths_are_projected_and_weights_made_anew(step, mend):
    few = {n: x for n, x in step("bahdanau").items() if n in LEAST["bahdanau"]}
    more = {"state_before": few["query"]}
    wide = np.ones((3, 5, 23))
    for broken, name, kind in (
        ({**few, **more, "U_a": np.ones((13, 23))}, "U_a", "rebuild"),
        ({**few, **more, "keys": few["memory"], "memory": wide}, None, None),
    ):
        found = diagnose("bahdanau", **broken)
        if name is None:
            assert found.verdict == "healthy"  # d_v may be any width
            continue
        assert [(f.tensor, f.kind) for f in found.findings] == [(name, kind)], str(found)
        assert diagnose("bahdanau", **mend(found.fixes, broken)).verdict == "healthy"
    broken = {**few, **more, "query": np.ones((3, 7, 23))}
    found = diagnose("bahdanau", **broken)
    assert [(f.tensor, f.kind) for f in found.findings] == [("query", "project")]
    assert diagnose("bahdanau", **mend(found.fixes, broken)).verdict == "healthy"


def test_a_context_of_a_wrong_width_is_computed_anew(step, mend):
    broken = step("luong_general") | {"context": np.ones((3, 7, 23))}
    found = diagnose("luong_general", **broken)
    assert [(f.tensor, f.kind) for f in found.findings] == [("context", "recompute")]
    assert diagnose("luong_general", **mend(found.fixes, broken)).verdict == "healthy"


def test_lengths_given_as_a_mask(step, mend):
    arrays = step("bahdanau")
    broken = {**arrays, "mask": arrays["mask"].sum(axis=1)}
    found = diagnose("bahdanau", **broken)
    assert [(f.tensor, f.kind) for f in found.findings] == [("mask", "lengths")]
    assert same(mend(found.fixes, broken), arrays)


# --- several faults -------------------------------------------------------------------------------


def test_two_and_three_faults_are_named_together(step, mend):
    arrays = step("bahdanau")
    broken = dict(arrays)
    for count, name in enumerate(("W_a", "mask", "U_a"), 1):
        broken[name] = arrays[name].T
        found = diagnose("bahdanau", **broken)
        assert len(found.tensors) == count
        assert same(mend(found.fixes, broken), arrays)


def test_one_sentence_without_the_axis_batch(step, mend):
    arrays = step("luong_general", batch=1)
    alone = {n: x if n.startswith("W_") else x[0] for n, x in arrays.items()}
    found = diagnose("luong_general", **alone)
    assert found.verdict == "wrong", str(found)
    assert set(found.tensors) == {n for n in arrays if not n.startswith("W_")}
    assert same(mend(found.fixes, alone), arrays)


def test_too_many_faults_are_unknown(step):
    rng = np.random.default_rng(0)
    arrays = {
        name: rng.normal(size=[n + 2 + i for i, n in enumerate(x.shape)])
        for name, x in step("bahdanau").items()
    }
    found = diagnose("bahdanau", **arrays)
    assert found.verdict == "unknown"
    assert "one at a time" in str(found)


# --- heads ----------------------------------------------------------------------------------------


def test_heads_add_an_axis_to_scores_and_weights(step):
    arrays = {n: x for n, x in step("luong_general").items() if n in ("query", "memory", "W_a")}
    weights = np.full((3, 2, 7, 5), 0.2)
    arrays |= {"memory": np.ones((3, 5, 26)), "W_a": np.ones((11, 26)), "weights": weights}
    assert diagnose("luong_general", n_heads=2, **arrays).verdict == "healthy"
    turned = arrays | {"weights": np.swapaxes(weights, 1, 2)}
    assert diagnose("luong_general", n_heads=2, **turned).tensors == ("weights",)
    odd = diagnose("luong_general", n_heads=3, query=arrays["query"], memory=arrays["memory"])
    assert (odd.verdict, odd.findings[0].kind) == ("wrong", "heads")
    parts = np.concatenate([arrays["memory"][..., :13].mean(1)] * 2, axis=-1)
    context = np.repeat(parts[:, None], 7, axis=1)
    assert diagnose("luong_general", n_heads=2, **arrays, context=context).verdict == "healthy"
    wrong = diagnose("luong_general", n_heads=2, **arrays, context=context + 1)
    # no formula is tried with heads, so memory and weights may have changed as well
    assert wrong.verdict == "ambiguous"
    assert set(wrong.tensors) == {"memory", "weights", "context"}


# --- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "arrays", "said"),
    [
        ("bahdanou", {"query": np.ones(3)}, '"bahdanau"'),
        ("bahdanau", {}, "no tensor was given"),
        ("bahdanau", {"query": None}, "no tensor was given"),
        ("bahdanau", {"quary": np.ones(3)}, "call it query"),
        ("bahdanau", {"xyz": np.ones(3)}, "leave it out"),
        ("luong_dot", {"U_a": np.ones(3)}, "one of bahdanau"),
        ("bahdanau", {"query": "abc"}, "numbers or booleans"),
        ("bahdanau", {"query": np.array([[1], [2, 3]], object)}, "numbers or booleans"),
        ("bahdanau", {"query": np.ones((3, 0))}, "empty"),
        ("bahdanau", {"query": np.ones((3, 5)), "n_heads": 2}, "n_heads is 2"),
        ("luong_dot", {"query": np.ones((3, 5)), "n_heads": 0}, "n_heads is 0"),
    ],
)
def test_what_cannot_be_looked_at_is_an_error(asked, arrays, said):
    with pytest.raises(ValueError, match=r"expected|is no tensor|Fix: ") as caught:
        diagnose(asked, **arrays)
    assert said in str(caught.value)
    assert "Fix: " in str(caught.value)


def test_lists_and_tensors_are_arrays():
    import keras

    found = diagnose("luong_dot", query=[[1.0, 2.0]], memory=keras.ops.ones((1, 5, 2), "bfloat16"))
    assert found.verdict == "healthy"
    assert found.sizes["T_enc"] == 5


def test_it_needs_no_tensorflow(run_python):
    done = run_python(
        "import sys, numpy as np; from attention_zoo.layers import diagnose; "
        "diagnose('luong_dot', query=np.ones((2, 3)), memory=np.ones((2, 5, 3))); "
        "print([name for name in ('tensorflow', 'keras') if name in sys.modules])"
    )
    assert done.stdout.strip() == "[]", done.stderr
