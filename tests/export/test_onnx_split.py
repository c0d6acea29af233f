"""`encoder.onnx` and `decoder_step.onnx` against the model's own steps."""

import json

import numpy as np
import onnxruntime
import pytest

from attention_zoo.export.cases import standard_cases
from attention_zoo.export.errors import ConversionError
from attention_zoo.export.onnx_split import write_split_onnx
from attention_zoo.vocabulary import BOS


def opened(path):
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    outputs = [one.name for one in session.get_outputs()]

    def call(**inputs):
        wanted = {one.name: inputs[one.name] for one in session.get_inputs()}
        return dict(zip(outputs, session.run(None, wanted), strict=True))

    return session, call


def test_the_steps_are_those_of_the_model(new_model, tmp_path, name):
    model = new_model(name)
    write_split_onnx(model, tmp_path, {})
    (_, encode), (_, step) = (
        opened(tmp_path / f"{one}.onnx") for one in ("encoder", "decoder_step")
    )
    for case in standard_cases(model.config.vocab_source):
        carried = encode(source=case.source)
        states, prepared = model.start(case.source)
        tokens = np.full(len(case.source), BOS, np.int32)
        for _ in range(3):
            logits, alignments, states = model.decode_step(tokens, states, prepared)
            found = step(tokens=tokens, **carried)
            np.testing.assert_allclose(found["logits"], logits, rtol=1e-4, atol=1e-4)
            np.testing.assert_allclose(found["alignments"], alignments, atol=1e-5)
            carried |= {f"state_{i}": found[f"next_state_{i}"] for i in range(len(states))}
            tokens = np.asarray(found["logits"]).argmax(-1).astype(np.int32)


def test_what_is_described_is_what_the_files_hold(new_model, tmp_path, name):
    model = new_model(name)
    written = write_split_onnx(model, tmp_path, {"model": name})
    assert list(written) == ["encoder.onnx", "decoder_step.onnx"]
    for file, signatures in written.items():
        session, _ = opened(tmp_path / file)
        (signature,) = signatures.values()
        for kind, there in (("inputs", session.get_inputs()), ("outputs", session.get_outputs())):
            described = {one["name"]: one for one in signature[kind]}
            assert described.keys() == {one.name for one in there}
            for one in there:
                entry = described[one.name]
                sizes = [size if isinstance(size, int) else -1 for size in one.shape]
                assert sizes == entry["shape"]
                open_axes = [
                    axis for axis, size in zip(entry["axes"], sizes, strict=True) if size == -1
                ]
                assert open_axes == [size for size in one.shape if isinstance(size, str)]
        properties = session.get_modelmeta().custom_metadata_map
        assert properties["model"] == name
        assert json.loads(properties["signatures"]) == signatures


def test_int8_has_files_of_its_own(new_model, tmp_path):
    written = write_split_onnx(new_model("bahdanau_gru"), tmp_path, {}, quantize="int8")
    assert list(written) == ["encoder.int8.onnx", "decoder_step.int8.onnx"]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(written)


def test_a_model_of_unknown_parts_is_refused_with_the_way_out(new_model, tmp_path):
    model = new_model("bahdanau_gru")
    mechanism = model.decoder.cell.mechanism
    mechanism.__class__ = type("Mine", (type(mechanism),), {})
    with pytest.raises(ConversionError, match=r"not of the zoo.*Fix: .*TFLite"):
        write_split_onnx(model, tmp_path, {})
    assert not list(tmp_path.iterdir())
