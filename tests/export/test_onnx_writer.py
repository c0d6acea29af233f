"""What `model.onnx` is made through, and what is refused."""

import numpy as np
import onnx
import onnxruntime
import pytest

from attention_zoo.export import onnx_writer
from attention_zoo.export.decode_functions import DecodeSettings
from attention_zoo.export.errors import ConversionError
from attention_zoo.export.onnx_writer import write_onnx

SETTINGS = DecodeSettings(5, 2, 1.0)


def of_unknown_parts(model):
    """The same model, with a mechanism that only tf2onnx can write."""
    mechanism = model.decoder.cell.mechanism
    mechanism.__class__ = type("Mine", (type(mechanism),), {})
    return model


def kinds(path):
    return {node.op_type for node in onnx.load(path).graph.node}


def test_a_model_of_unknown_parts_goes_through_tf2onnx_and_answers_the_same(new_model, tmp_path):
    source = np.array([[5, 7, 11, 2], [13, 2, 0, 0]], np.int32)
    model = new_model("bahdanau_gru")
    for folder, one in (("known", model), ("unknown", of_unknown_parts(new_model("bahdanau_gru")))):
        (tmp_path / folder).mkdir()
        write_onnx(one, tmp_path / folder, SETTINGS, {})
    assert "GRU" in kinds(tmp_path / "known" / "model.onnx")
    assert "GRU" not in kinds(tmp_path / "unknown" / "model.onnx")
    found = [
        onnxruntime.InferenceSession(
            str(tmp_path / folder / "model.onnx"), providers=["CPUExecutionProvider"]
        ).run(["tokens", "scores"], {"source": source})
        for folder in ("known", "unknown")
    ]
    np.testing.assert_array_equal(found[0][0], found[1][0])
    np.testing.assert_allclose(found[0][1], found[1][1], rtol=1e-5)


def test_int8_of_unknown_parts_is_refused_with_the_way_out(new_model, tmp_path):
    model = of_unknown_parts(new_model("bahdanau_gru"))
    with pytest.raises(ConversionError, match=r"bahdanau_gru has layers.*Fix: leave quantize out"):
        write_onnx(model, tmp_path, SETTINGS, {}, quantize="int8")
    assert not list(tmp_path.iterdir())


def test_a_graph_that_the_checker_refuses_is_not_written(new_model, tmp_path, monkeypatch):
    def refuse(graph):
        raise onnx.checker.ValidationError("no good")

    monkeypatch.setattr(onnx_writer.onnx.checker, "check_model", refuse)
    with pytest.raises(ConversionError, match=r"onnx.checker refused model.onnx: no good"):
        write_onnx(new_model("seq2seq_gru"), tmp_path, SETTINGS, {})
    assert not list(tmp_path.iterdir())


def test_float_files_need_no_operators_of_onnxruntime_and_int8_ones_do(new_model, tmp_path):
    model = new_model("luong_general_gru")
    big = type(model)(model.config.replace(units=64, d_emb=32))
    for quantize, name, domains in (
        (None, "model.onnx", {""}),
        ("int8", "model.int8.onnx", {"", "com.microsoft"}),
    ):
        write_onnx(big, tmp_path, SETTINGS, {}, quantize=quantize)
        graph = onnx.load(tmp_path / name)
        assert {one.domain for one in graph.opset_import} == domains


def test_int8_takes_at_most_three_tenths_of_the_bytes(new_model, tmp_path):
    model = new_model("bahdanau_gru")
    big = type(model)(
        model.config.replace(
            units=128, d_emb=64, vocab_source=2003, vocab_target=2003, bidirectional=True
        )
    )
    for quantize in (None, "int8"):
        write_onnx(big, tmp_path, SETTINGS, {}, quantize=quantize)
    whole = (tmp_path / "model.onnx").stat().st_size
    assert (tmp_path / "model.int8.onnx").stat().st_size <= 0.3 * whole
