"""Every model in every format: the files answer as Keras does, and say what they are."""

import json

import numpy as np
import onnx
import onnxruntime
import pytest

from attention_zoo.export.runtime import LiteRTModel, OnnxModel, SavedModel
from attention_zoo.export.step_loop import step_loop
from attention_zoo.export.tflite import foreign_ops, operators
from attention_zoo.manifest import check_files, read_manifest

RUNTIMES = {"savedmodel": SavedModel, "tflite": LiteRTModel, "onnx": OnnxModel}
T_DEC, BEAMS, PENALTY = 11, 3, 0.7


@pytest.mark.parametrize("format", RUNTIMES)
def test_greedy_is_what_keras_answers(exported, name, format, source):
    case = exported(name)
    got = RUNTIMES[format](case.folder).predict(source)
    assert_equal_outputs(got, case.model.greedy(source))
    assert got["tokens"].shape == (5, T_DEC)
    assert got["alignments"].shape == (5, T_DEC, 13)


@pytest.mark.parametrize("format", RUNTIMES)
def test_beam_search_is_what_keras_answers(exported, name, format, source):
    case = exported(name)
    got = RUNTIMES[format](case.folder).beam_search(source)
    expected = case.model.beam_search(
        source, beam_width=BEAMS, length_penalty=PENALTY, n_best=BEAMS
    )
    assert_equal_outputs(got, expected)
    assert got["alignments"].shape == (5, BEAMS, T_DEC, 13)


def test_tflite_answers_alike_in_every_order_of_calls(exported, name, source):
    # parts of a graph that XNNPACK ran gave wrong values from the second call of a length on, in
    # some interpreters or in all
    case = exported(name)
    rows = [row[row != 0][None] for row in source[[0, 1, 4]]]
    greedy = [case.model.greedy(row) for row in rows]
    options = {"beam_width": BEAMS, "length_penalty": PENALTY, "n_best": BEAMS}
    found = [case.model.beam_search(row, **options) for row in rows]
    generator = np.random.default_rng(61)
    for _ in range(12):
        model = LiteRTModel(case.folder)
        for row, call in generator.integers(3, size=(14, 2)):
            if call == 0:
                assert_equal_outputs(model.predict(rows[row]), greedy[row])
            elif call == 1:
                assert_equal_outputs(model.beam_search(rows[row]), found[row])
            else:
                assert_equal_outputs(step_loop(model, rows[row], T_DEC), greedy[row])


def assert_equal_outputs(got, expected):
    assert set(got) == {"tokens", "lengths", "scores", "alignments"}
    for name in ("tokens", "lengths"):
        assert got[name].dtype == np.int32
        np.testing.assert_array_equal(got[name], expected[name])
    for name in ("scores", "alignments"):
        assert got[name].dtype == np.float32
        np.testing.assert_allclose(got[name], expected[name], rtol=0, atol=1e-4)


def test_both_kinds_of_ending_were_compared(exported, name):
    parity = exported(name).manifest.parity
    assert parity["eos"] == {"early eos": "the model as it is", "no eos": "the model as it is"}
    assert {"early eos", "no eos"} < {case["name"] for case in parity["cases"]}
    shapes = [case["shape"] for case in parity["cases"]]
    assert {batch for batch, _ in shapes} >= {1, 3}
    assert len({length for _, length in shapes}) >= 3


def test_parity_is_measured_for_every_signature(exported, name):
    files = exported(name).manifest.parity["files"]
    assert {file: set(signatures) for file, signatures in files.items()} == {
        "saved_model/1": {"greedy", "beam"},
        "model.tflite": {"greedy", "beam", "encode + step"},
        "model.onnx": {"greedy", "beam"},
    }
    for signatures in files.values():
        for seen in signatures.values():
            assert seen["rows"] >= 14
            assert seen["tokens_equal"]
            assert max(seen["largest_difference"].values()) <= 1e-4


def test_tflite_needs_built_in_ops_only(exported, name):
    case = exported(name)
    content = (case.folder / "model.tflite").read_bytes()
    assert foreign_ops(content) == []
    assert "WHILE" in operators(content)
    assert case.manifest.files["model.tflite"].details["operators"] == operators(content)


def test_tflite_has_four_signatures(exported, name):
    case = exported(name)
    model = LiteRTModel(case.folder)
    assert set(model._runners) == {"greedy", "beam", "encode", "step"}
    assert set(case.manifest.files["model.tflite"].signatures) == set(model._runners)


def test_onnx_says_its_axes_opset_and_origin(exported, name):
    case = exported(name)
    path = case.folder / "model.onnx"
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    assert [(one.name, one.shape, one.type) for one in session.get_inputs()] == [
        ("source", ["batch", "T_enc"], "tensor(int32)")
    ]
    assert {one.name: (one.shape, one.type) for one in session.get_outputs()} == {
        "tokens": (["batch", T_DEC], "tensor(int32)"),
        "lengths": (["batch"], "tensor(int32)"),
        "scores": (["batch"], "tensor(float)"),
        "alignments": (["batch", T_DEC, "T_enc"], "tensor(float)"),
        "beam_tokens": (["batch", "beam", T_DEC], "tensor(int32)"),
        "beam_lengths": (["batch", "beam"], "tensor(int32)"),
        "beam_scores": (["batch", "beam"], "tensor(float)"),
        "beam_alignments": (["batch", "beam", T_DEC, "T_enc"], "tensor(float)"),
    }
    graph = onnx.load(path)
    assert [one.version for one in graph.opset_import if one.domain == ""] == [18]
    assert {one.domain for one in graph.opset_import} <= {"", "ai.onnx.ml"}
    assert case.manifest.files[path.name].details == {"opset": 18}
    properties = session.get_modelmeta().custom_metadata_map
    assert properties["preset"] == f"{name}.test"
    assert json.loads(properties["config"]) == case.model.config.to_dict()
    assert json.loads(properties["decoding"])["max_length"] == T_DEC
    described = case.manifest.files[path.name].signatures
    assert json.loads(properties["signatures"]) == described


def test_onnx_answers_greedily_unless_it_is_told_to_search(exported, name, source):
    case = exported(name)
    session = onnxruntime.InferenceSession(
        case.folder / "model.onnx", providers=["CPUExecutionProvider"]
    )
    names = [output.name for output in session.get_outputs()]

    def answer(**inputs):
        return dict(zip(names, session.run(names, {"source": source, **inputs}), strict=True))

    greedy, found = answer(), answer(beam=np.array(True))
    for output, value in case.model.greedy(source).items():
        np.testing.assert_allclose(greedy[output], value, rtol=0, atol=1e-4)
        np.testing.assert_array_equal(greedy[f"beam_{output}"], greedy[output][:, None])
        np.testing.assert_array_equal(found[output], found[f"beam_{output}"][:, 0])
        assert found[f"beam_{output}"].shape[1] == BEAMS
    asked = answer(beam=np.array(False))
    for output in names:
        np.testing.assert_array_equal(asked[output], greedy[output])


def test_manifest_describes_tensors_in_the_words_of_the_layers(exported, name):
    files = exported(name).manifest.files
    greedy = files["model.onnx"].signatures["greedy"]
    assert greedy["inputs"] == [
        {"name": "source", "axes": ["batch", "T_enc"], "shape": [-1, -1], "dtype": "int32"}
    ]
    beam = {one["name"]: one for one in files["model.tflite"].signatures["beam"]["outputs"]}
    assert beam["alignments"] == {
        "name": "alignments",
        "axes": ["batch", "beam", "T_dec", "T_enc"],
        "shape": [1, BEAMS, T_DEC, -1],
        "dtype": "float32",
    }
    step = files["model.tflite"].signatures["step"]
    known = {"batch", "T_enc", "d_attn", "d_h", "d_s", "n_heads", "d_h / n_heads", "vocab_target"}
    for tensor in (*step["inputs"], *step["outputs"]):
        assert set(tensor["axes"]) <= known
        assert len(tensor["axes"]) == len(tensor["shape"])


def test_manifest_on_the_disk_is_the_one_returned(exported, name):
    case = exported(name)
    manifest = read_manifest(case.folder)
    assert manifest == case.manifest
    check_files(case.folder, manifest)
    written = {path.relative_to(case.folder).as_posix() for path in case.folder.rglob("*.*")}
    named = {path for path in written if (case.folder / path).is_file()}
    assert named - set(manifest.files) == {"manifest.json", "README.md", "INTEGRATION.md"}
    assert manifest.data == {
        "description": "drawn for a test",
        "licence": "none needed",
        "sha256": "00ff",
    }
    assert manifest.training == {"task": "copy", "steps": 17}
    assert (manifest.seed, manifest.metrics) == (3, {"token_accuracy": 0.25})
    assert manifest.decoding == {"max_length": T_DEC, "beam_width": 3, "length_penalty": 0.7}
    assert {"tensorflow", "keras", "tf2onnx", "onnxruntime", "python"} <= set(manifest.versions)


def test_card_shows_files_and_parity(exported, name):
    case = exported(name)
    card = (case.folder / "README.md").read_text(encoding="utf-8")
    assert card.startswith(f"# {name}.test\n")
    for file, entry in case.manifest.files.items():
        assert f"| `{file}` | {entry.format} | {entry.bytes:,} |" in card
    assert "none needed" in card
    assert "batch, beam = 3, T_dec = 11, T_enc" in card
    assert "| `model.tflite` | encode + step |" in card
