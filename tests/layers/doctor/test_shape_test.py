"""The test that a diagnosis gives away: it passes with right arrays and fails with broken ones."""

import subprocess
import sys

import numpy as np
import pytest

from attention_zoo.layers import diagnose


def failures(text, arrays=None):
    """The names of the tests in the text that fail, with other arrays than its own on request."""
    names = {}
    exec(compile(text, "test_pasted.py", "exec"), names)
    if arrays is not None:
        names["arrays"] = lambda: arrays
    failed = []
    for name in names["AXES"]:
        try:
            names["test_shape"](name)
        except AssertionError:
            failed.append(name)
    others = [n for n in names if n.startswith("test_") and n != "test_shape"]
    for name in others:
        try:
            names[name]()
        except (AssertionError, ValueError):  # shapes that do not broadcast
            failed.append(name)
    return failed


def test_it_passes_with_the_right_step_and_fails_with_each_broken_one(form, step, all_breaks, mend):
    mechanism, one = form
    arrays = step(mechanism, one)
    for fault in list(all_breaks(arrays))[::7]:
        broken = fault(arrays)
        found = diagnose(mechanism, **broken)
        text = found.regression_test()
        assert failures(text) == []
        if found.verdict == "healthy":
            continue
        assert set(fault.names) <= set(failures(text, broken)), fault.label
        assert failures(text, arrays) == []


@pytest.mark.parametrize(
    ("name", "change", "failing"),
    [
        ("weights", lambda x: x * 2, "test_weights_sum_to_one_over_the_real_steps"),
        ("weights", np.ones_like, "test_masked_steps_have_no_weight"),
        ("context", lambda x: x + 1, "test_context_is_the_weighted_mean_of_the_memory"),
        ("query", lambda x: x * 0, "test_query_is_state_before"),
    ],
)
def test_numbers_have_a_test_too(step, name, change, failing):
    arrays = step("bahdanau")
    broken = arrays | {name: change(arrays[name])}
    if name == "query":
        broken = {"query": arrays["state_after"]} | {
            n: arrays[n] for n in ("state_before", "state_after")
        }
    text = diagnose("bahdanau", **broken).regression_test()
    assert failing in failures(text, broken)
    assert failures(text) == []
    assert failures(text, {n: arrays[n] for n in broken}) == []


def test_where_a_size_is_ambiguous_the_tensors_must_agree_and_no_more():
    found = diagnose("bahdanau", memory=np.ones((3, 5, 13)), mask=np.ones((3, 7)))
    text = found.regression_test()
    assert failures(text) == []
    assert failures(text, {"memory": np.ones((3, 5, 13)), "mask": np.ones((3, 7))})
    for steps in (5, 7, 11):
        right = {"memory": np.ones((3, steps, 13)), "mask": np.ones((3, steps))}
        assert failures(text, right) == []


def test_pytest_runs_it(tmp_path, step):
    found = diagnose("luong_concat", **step("luong_concat"))
    (tmp_path / "test_pasted.py").write_text(found.regression_test(), encoding="utf-8")
    line = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_pasted.py"]
    done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert f"{len(found.axes) + 2} passed" in done.stdout
