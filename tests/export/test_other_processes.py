"""The files in processes that lack what made them."""

import json

import numpy as np
import pytest

MODEL = "luong_general_gru"
SOURCE = [[5, 9, 4, 2], [7, 2]]


@pytest.fixture(scope="module")
def expected(exported, assert_decided):
    """What Keras answers to SOURCE."""
    assert_decided(exported(MODEL).model, SOURCE)
    return exported(MODEL).model.greedy(SOURCE)


def test_saved_model_loads_with_tensorflow_alone(exported, expected, fresh_process):
    code = """
import json, sys
import tensorflow as tf
loaded = tf.saved_model.load(sys.argv[1])
source = tf.constant([[5, 9, 4, 2], [7, 2, 0, 0]])
answers = {}
for name in ("serving_default", "beam"):
    outputs = loaded.signatures[name](source=source)
    answers[name] = {key: value.numpy().tolist() for key, value in outputs.items()}
print(json.dumps({"answers": answers, "ours": "attention_zoo" in sys.modules}))
"""
    folder = exported(MODEL).folder / "saved_model" / "1"
    said = json.loads(fresh_process(code, str(folder), blocked=("attention_zoo",)).splitlines()[-1])
    assert not said["ours"]
    greedy = said["answers"]["serving_default"]
    np.testing.assert_array_equal(greedy["tokens"], expected["tokens"])
    np.testing.assert_allclose(greedy["alignments"], expected["alignments"], atol=1e-4)
    assert np.shape(said["answers"]["beam"]["tokens"]) == (2, 3, 11)


@pytest.mark.parametrize("kind", ["OnnxModel", "LiteRTModel"])
def test_runtime_runs_without_tensorflow(exported, expected, fresh_process, kind):
    code = """
import json, sys
from attention_zoo.export import runtime
model = getattr(runtime, sys.argv[1])(sys.argv[2])
greedy, beam = model.predict([[5, 9, 4, 2], [7, 2]]), model.beam_search([[5, 9, 4, 2]])
print(json.dumps({
    "tokens": greedy["tokens"].tolist(),
    "beams": beam["tokens"].shape,
    "loaded": [name for name in ("tensorflow", "keras", "h5py", "onnx") if name in sys.modules],
}))
"""
    blocked = ("tensorflow", "keras", "tf2onnx", "onnx", "h5py", "matplotlib", "click")
    said = json.loads(
        fresh_process(code, kind, str(exported(MODEL).folder), blocked=blocked).splitlines()[-1]
    )
    assert said["loaded"] == []
    assert said["beams"] == [1, 3, 11]
    np.testing.assert_array_equal(said["tokens"], expected["tokens"])
