"""Every model with all of its matrices in int8, as TFLite and as ONNX."""

import numpy as np
import pytest

from attention_zoo.export import onnx_writer, tflite, tflite_int8
from attention_zoo.export.cases import random_sources
from attention_zoo.export.decode_functions import DecodeSettings
from attention_zoo.export.quality_gate import share_equal
from attention_zoo.export.runtime import LiteRTModel, OnnxModel
from attention_zoo.export.step_loop import step_loop

SETTINGS = DecodeSettings(max_length=5, beam_width=2)


@pytest.mark.slow
def test_answers_are_sound_and_mostly_those_of_keras(new_model, tmp_path, name, monkeypatch):
    # the matrices of so small a model are not worth it otherwise
    monkeypatch.setattr(tflite_int8, "LEAST_VALUES", 1)
    model = new_model(name)
    tflite.write_tflite(model, tmp_path, SETTINGS, quantize=("int8",))
    onnx_writer.write_onnx(model, tmp_path, SETTINGS, {}, quantize="int8")
    small = tflite.operators((tmp_path / "model.int8.tflite").read_bytes())
    assert "EMBEDDING_LOOKUP" in small
    assert tflite.foreign_ops((tmp_path / "model.int8.tflite").read_bytes()) == []
    source = random_sources(np.random.default_rng(59), 23, (7, 2, 5, 1, 6))
    source[3] = 0
    expected = model.greedy(source, SETTINGS.max_length)
    lite = LiteRTModel(tmp_path, vocab_source=23, variant="int8")
    for file in (lite, OnnxModel(tmp_path, vocab_source=23, variant="int8")):
        got = file.predict(source)
        assert {output: value.shape for output, value in got.items()} == {
            output: value.shape for output, value in expected.items()
        }
        assert share_equal(got["tokens"].tolist(), expected["tokens"].tolist()) > 0.5
        assert np.isfinite(got["scores"]).all()
        best = file.beam_search(source)
        assert best["tokens"].shape == (5, 2, 5)
        assert np.isfinite(best["scores"]).all()
    looped = step_loop(lite, source, SETTINGS.max_length)
    np.testing.assert_array_equal(looped["tokens"], lite.predict(source)["tokens"])
