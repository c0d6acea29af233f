"""Reading LiteRT's profile."""

import numpy as np
import pytest
from inference_process import save_sources
from operator_cost import Cost, ProfileError
from tflite_profile import costs, profile_tflite

EVENTS = [
    ("FULLY_CONNECTED", 2, 90),
    ("WHILE", 2, 500),
    ("LESS", 18, 1),
    ("FULLY_CONNECTED", 19, 30),
    ("ARG_MAX", 19, 5),
    ("FULLY_CONNECTED", 19, 10),
    ("ARG_MAX", 19, 5),
]


def test_only_the_subgraph_that_chooses_tokens_counts():
    assert costs(EVENTS, tokens=2) == [
        Cost("FULLY_CONNECTED", 1.0, 20.0, 0.8),
        Cost("ARG_MAX", 1.0, 5.0, 0.2),
    ]


def test_a_file_that_chooses_nothing_is_told():
    with pytest.raises(ProfileError, match="ARG_MAX"):
        costs(EVENTS[:4], tokens=2)


def test_a_file_is_profiled(translation_folder, translation_model, tmp_path):
    """Each step chooses once, so that the tokens are counted right."""
    ids = [np.array([[7, 5, 11, 2]], np.int32), np.array([[13, 2]], np.int32)]
    sources = save_sources(tmp_path / "sources.npz", ids)
    try:
        found = {c.what: c for c in profile_tflite(translation_folder / "model.tflite", sources)}
    except ProfileError:
        pytest.skip("this LiteRT has no profiler, or another one")
    assert found["ARG_MAX"].calls == 1.0
    assert sum(cost.share for cost in found.values()) == pytest.approx(1)


def test_another_file_is_an_error(tmp_path):
    path = tmp_path / "model.tflite"
    path.write_bytes(b"no model")
    sources = save_sources(tmp_path / "sources.npz", [np.array([[2]], np.int32)])
    with pytest.raises(ProfileError, match="no answer"):
        profile_tflite(path, sources)
