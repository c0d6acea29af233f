"""The split files: any model's loop driven by the host, and what their step refuses."""

import shutil

import numpy as np
import pytest

from attention_zoo.export import onnx_split
from attention_zoo.export.cases import random_sources
from attention_zoo.export.errors import FileLoadError
from attention_zoo.export.runtime import SplitOnnxModel
from attention_zoo.export.step_loop import step_loop

T_DEC = 11
METADATA = {"config": '{"vocab_source": 23, "vocab_target": 19}'}


@pytest.fixture
def folder(new_model, tmp_path):
    path = tmp_path / "split"
    path.mkdir()
    onnx_split.write_split_onnx(new_model("luong_general_gru"), path, METADATA)
    return path


@pytest.fixture
def model(folder):
    return SplitOnnxModel(folder)


def test_the_host_writes_what_keras_writes(new_model, tmp_path, name, assert_decided):
    keras_model = new_model(name)
    onnx_split.write_split_onnx(keras_model, tmp_path, METADATA)
    # rows of several lengths at once, one of them padding alone
    source = random_sources(np.random.default_rng(53), 23, (7, 2, 5, 1))
    source[3] = 0
    assert_decided(keras_model, source)
    got = step_loop(SplitOnnxModel(tmp_path), source, T_DEC)
    expected = keras_model.greedy(source)
    assert set(got) == set(expected)
    for output in ("tokens", "lengths"):
        np.testing.assert_array_equal(got[output], expected[output])
    for output in ("scores", "alignments"):
        np.testing.assert_allclose(got[output], expected[output], rtol=0, atol=1e-4)


def test_the_vocabulary_is_that_of_the_file(model):
    assert model.vocab_source == 23
    with pytest.raises(ValueError, match=r"SplitOnnxModel\.encode: source has id 23 in row 0"):
        model.encode([[5, 23]])


@pytest.mark.parametrize(
    ("tokens", "words"),
    [
        ([19, 1], "tokens has id 19; expected an id from 0 to 18"),
        ([1, -1], "tokens has id -1"),
        ([1.0, 1.0], "tokens has dtype float64; expected int32"),
        ([1], r"tokens has shape (1,); expected (batch,) = (2,)"),
        ([[1], [1]], "tokens has shape (2, 1), 2 axes"),
    ],
)
def test_tokens_are_checked(model, tokens, words):
    encoded = model.encode([[5, 9, 2], [7, 2]])
    with pytest.raises(ValueError, match=r"SplitOnnxModel\.step: tokens") as caught:
        model.step(tokens, encoded)
    assert words in str(caught.value)
    assert "Fix: " in str(caught.value)


def test_encoded_is_checked(model):
    encoded = model.encode([[5, 9, 2], [7, 2]])
    spoilt = encoded | {"state_0": encoded["state_0"][:, :-1]}
    with pytest.raises(ValueError, match=r"state_0 has shape \(2, 6\)"):
        model.step([1, 1], spoilt)
    with pytest.raises(ValueError, match=r"missing: state_0.*SplitOnnxModel\.encode"):
        model.step([1, 1], {name: encoded[name] for name in encoded if name != "state_0"})


def test_a_step_of_no_rows_is_refused(model):
    encoded = model.encode([[5, 9, 2], [7, 2]])
    nothing = {name: tensor[:0] for name, tensor in encoded.items()}
    with pytest.raises(ValueError, match=r"shape \(0,\); expected \(batch,\) with batch of at le"):
        model.step(np.zeros(0, np.int32), nothing)


def test_a_vocabulary_of_none_is_not_that_of_the_file(folder):
    with pytest.raises(ValueError, match=r"vocab_source: expected .*, got 0\. Fix: "):
        SplitOnnxModel(folder, vocab_source=0)
    assert SplitOnnxModel(folder, vocab_source=10).vocab_source == 10


def test_a_step_gives_states_under_the_names_in_which_they_are_passed(model):
    encoded = model.encode([[5, 9, 2], [7, 2]])
    answer = model.step([1, 1], encoded)
    assert answer["logits"].shape == (2, 19)
    assert answer["alignments"].shape == (2, 3)
    states = {name for name in encoded if name.startswith("state_")}
    assert states == set(answer) - {"logits", "alignments"}


def test_one_file_without_the_other(folder, tmp_path):
    shutil.copy(folder / "encoder.onnx", tmp_path)
    with pytest.raises(FileLoadError, match=r"decoder_step\.onnx: no such file"):
        SplitOnnxModel(tmp_path)
    with pytest.raises(FileLoadError, match="nowhere: no such file"):
        SplitOnnxModel(tmp_path / "nowhere")
    shutil.copy(folder / "encoder.onnx", tmp_path / "other.onnx")
    with pytest.raises(FileLoadError, match="expected a file called encoder"):
        SplitOnnxModel(tmp_path / "other.onnx")


def test_it_runs_without_tensorflow(folder, fresh_process):
    code = """
import sys
from attention_zoo.export.runtime import SplitOnnxModel
from attention_zoo.export.step_loop import step_loop
outputs = step_loop(SplitOnnxModel(sys.argv[1]), [[5, 9, 2], [7, 2]], 3)
print(outputs["tokens"].shape, [name for name in ("tensorflow", "keras") if name in sys.modules])
"""
    blocked = ("tensorflow", "keras", "tf2onnx", "onnx", "h5py", "click")
    assert fresh_process(code, str(folder), blocked=blocked).strip() == "(2, 3) []"
