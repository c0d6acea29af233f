"""Reading onnxruntime's profile."""

import numpy as np
import pytest
from inference_process import save_sources
from onnx_profile import BETWEEN, OUTSIDE, costs, profile_onnx
from operator_cost import Cost, ProfileError, costs_of, with_rest


def run(start, length):
    return {"cat": "Session", "name": "model_run", "ts": start, "dur": length}


def node(kind, start, length):
    return {
        "cat": "Node",
        "name": f"some/{kind}_kernel_time",
        "ts": start,
        "dur": length,
        "args": {"op_name": kind},
    }


EVENTS = [
    run(0, 50),  # left out
    node("Loop", 5, 40),
    node("Add", 10, 30),
    run(100, 100),
    node("Loop", 105, 20),  # the encoder's
    node("Add", 110, 10),
    node("Softmax", 126, 2),
    node("If", 130, 65),
    node("Loop", 135, 50),  # the decode loop, with a branch and a loop in it
    node("MatMul", 140, 7),
    node("If", 150, 20),
    node("MatMul", 152, 11),
    node("Loop", 172, 8),
    node("Add", 174, 3),
    node("Add", 190, 2),  # behind the loop
    {"cat": "Session", "name": "session_initialization", "ts": 0, "dur": 999},
]


def test_the_decode_loop_is_taken_apart():
    found = {cost.what: cost for cost in costs(EVENTS, tokens=2, skip=1)}
    between = (50 - 7 - 20 - 8) + (20 - 11) + (8 - 3)
    expected = {
        OUTSIDE: (0, 50),
        BETWEEN: (0, between),
        "MatMul": (2, 18),
        "Add": (1, 3),
    }
    assert set(found) == set(expected)
    for what, (calls, us) in expected.items():
        assert found[what] == Cost(what, calls / 2, us / 2, us / 100)
    assert sum(cost.us for cost in found.values()) * 2 == 100


def test_events_in_another_order_give_the_same():
    assert costs(EVENTS[::-1], 2, 1) == costs(EVENTS, 2, 1)


def test_without_a_loop_or_a_run_there_is_no_profile():
    with pytest.raises(ProfileError, match="expected a Loop in every run"):
        costs([run(0, 10), node("Add", 1, 2)], 1)
    with pytest.raises(ProfileError, match="expected runs"):
        costs(EVENTS, 2, skip=2)


def test_a_file_is_profiled(counting_file, tmp_path):
    """Five steps of one Add; 3 and 4 tokens."""
    ids = [np.array([[7, 5, 2]], np.int32), np.array([[7, 5, 5, 2]], np.int32)]
    found = {c.what: c for c in profile_onnx(counting_file, save_sources(tmp_path / "s.npz", ids))}
    assert found["Add"].calls == 2 * 5 / 7
    assert {OUTSIDE, BETWEEN} <= set(found)
    assert sum(cost.share for cost in found.values()) == pytest.approx(1, abs=0.2)


def test_the_dearest_come_first_and_the_rest_in_one():
    table = costs_of({"a": [2, 3.0], "b": [4, 9.0], "c": [6, 5.0], "d": [8, 1.0]}, 2, 18.0)
    assert [cost.what for cost in table] == ["b", "c", "a", "d"]
    first, rest = with_rest(table, 1)
    assert first == table[0]
    assert rest == Cost("3 others", 8.0, 4.5, 0.5)
    assert with_rest(table, 3) == table
