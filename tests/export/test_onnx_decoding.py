"""The graphs that are written from the layers, against the models they were written from."""

import json
from pathlib import Path

import keras
import numpy as np
import onnx
import onnxruntime
import pytest

from attention_zoo import create_model, list_models
from attention_zoo.export.cases import standard_cases
from attention_zoo.export.decode_functions import OUTPUTS, DecodeSettings
from attention_zoo.export.onnx_decoding import decoding_graph
from attention_zoo.export.onnx_known import is_known
from attention_zoo.export.onnx_step import DecodeStep
from attention_zoo.export.onnx_weights import Weights
from attention_zoo.model_config import ModelConfig
from attention_zoo.seq2seq import Seq2Seq
from attention_zoo.training.sampled_seq2seq import SampledSeq2Seq
from attention_zoo.vocabulary import EOS, PAD

T_DEC, BEAMS, PENALTY = 7, 3, 0.7
SIZES = {"vocab_source": 29, "vocab_target": 23, "d_emb": 8, "units": 12, "max_length": T_DEC}
OPTIONS = {
    "plain": {},
    "bidirectional, normed, tied": {
        "bidirectional": True,
        "layer_norm": True,
        "tied_embeddings": "all",
        "vocab_source": 23,
    },
    "two layers": {"encoder_layers": 2, "decoder_layers": 2, "bidirectional": True},
    "deep decoder": {"decoder_layers": 3},
    "conditional, normed, tied": {
        "conditional": True,
        "layer_norm": True,
        "tied_embeddings": "target",
    },
    "input feeding, tied": {"tied_embeddings": "target", "input_feeding": True},
}


def a_model(name, seed=0, **options):
    """A model with weights large enough that its answers differ; None if it has not the option."""
    keras.utils.set_random_seed(seed)
    sizes = {**SIZES, **options}
    if "dot" in name:
        sizes["d_s"] = sizes["units"] * (2 if sizes.get("bidirectional") else 1)
    if sizes.get("tied_embeddings", "none") != "none" and name.startswith("seq2seq"):
        sizes["d_emb"] = sizes["units"]
    try:
        model = create_model(name, **sizes)
    except ValueError as error:
        assert str(error).startswith("ModelConfig: ")  # noqa: PT017
        return None
    generator = np.random.default_rng(seed)
    for weight in model.weights:
        weight.assign(generator.normal(0, 0.5, weight.shape))
    return model


def graph_of(model, quantize=None):
    return decoding_graph(
        DecodeStep(model, Weights(quantize)), DecodeSettings(T_DEC, BEAMS, PENALTY)
    )


def session_of(graph, profile=None):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    if profile is not None:
        options.enable_profiling = True
        options.profile_file_prefix = str(profile / "profile")
    return onnxruntime.InferenceSession(
        graph.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )


def answers(session, source, beam=False):
    prefix = "beam_" if beam else ""
    values = session.run(
        [prefix + name for name in OUTPUTS], {"source": source, "beam": np.array(beam)}
    )
    return dict(zip(OUTPUTS, values, strict=True))


def sources(vocab_source):
    """Those of every export, and padding in front of and between real tokens."""
    cases = [case.source for case in standard_cases(vocab_source)]
    with_gaps = cases[2].copy()
    with_gaps[0, 3] = with_gaps[0, 4] = with_gaps[1, 0] = PAD
    return [*cases, np.concatenate([with_gaps, np.zeros_like(with_gaps[:1])])]


@pytest.mark.parametrize(
    "options",
    [name if name == "plain" else pytest.param(name, marks=pytest.mark.slow) for name in OPTIONS],
)
@pytest.mark.parametrize("model_name", list_models())
def test_both_searches_answer_as_keras_does(model_name, options):
    model = a_model(model_name, **OPTIONS[options])
    if model is None:
        pytest.skip(f"{model_name} has no such option")
    graph = graph_of(model)
    onnx.checker.check_model(graph)
    session = session_of(graph)
    tried = sources(model.config.vocab_source)
    for source in tried if options == "plain" else tried[-1:]:  # those of gaps have every kind
        _compare(model.greedy(source), answers(session, source))
        expected = model.beam_search(source, BEAMS, PENALTY, n_best=BEAMS)
        _compare(expected, answers(session, source, beam=True))


def _compare(expected, found):
    for name in OUTPUTS:
        assert found[name].dtype == expected[name].dtype
        assert found[name].shape == expected[name].shape
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-5, atol=2e-5, err_msg=name)


def test_beams_outnumber_the_vocabulary():
    model = a_model("bahdanau_gru", vocab_target=5)  # eos, unk and one symbol may be written
    settings = DecodeSettings(T_DEC, 11, 1.0)
    session = session_of(decoding_graph(DecodeStep(model, Weights()), settings))
    source = np.array([[5, 7, 2]], np.int32)
    expected = model.beam_search(source, 11, 1.0, n_best=11)
    _compare(expected, answers(session, source, beam=True))


@pytest.mark.parametrize("model_name", list_models())
def test_the_encoder_is_an_operator_and_every_loop_is_a_search(model_name):
    model = a_model(model_name, bidirectional=True, encoder_layers=2)
    graph = graph_of(model).graph
    kinds = [node.op_type for node in graph.node]
    assert kinds.count(model.config.cell.upper()) == 2
    assert "Loop" not in kinds
    inner = list(bodies(graph))
    names = [body.name for body, _ in inner if not body.name.startswith("decoding/")]
    assert sorted(names) == ["beam", "follow", "greedy", "greedy_rest"]
    # no weight is held by a body: all stand outside, once
    assert not any(body.initializer for body, _ in inner)
    names = [tensor.name for tensor in graph.initializer]
    assert len(names) == len(set(names))


def bodies(graph):
    """Each graph inside another, at any depth, with the one around it."""
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                yield attribute.g, graph
                yield from bodies(attribute.g)


@pytest.mark.parametrize("quantize", [None, "int8"])
@pytest.mark.parametrize("model_name", ["bahdanau_gru", "luong_general_lstm", "seq2seq_gru"])
def test_weights_stand_where_the_runtime_lays_them_out(tmp_path, model_name, quantize):
    # large enough for int8 and for a vocabulary in blocks
    for tied in ("none", "target"):
        sizes = {"vocab_target": 1327, "units": 64, "d_emb": 64, "tied_embeddings": tied}
        options = onnxruntime.SessionOptions()
        options.optimized_model_filepath = str(tmp_path / "optimised.onnx")
        options.log_severity_level = 3
        graph = graph_of(a_model(model_name, **sizes), quantize)
        onnxruntime.InferenceSession(
            graph.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
        optimised = onnx.load(options.optimized_model_filepath).graph
        products = {"Gemm": 1, "FusedGemm": 1, "MatMul": 1, "DynamicQuantizeMatMul": 1}
        seen = {}
        for body, around in bodies(optimised):
            constants = {tensor.name for tensor in around.initializer}
            for node in body.node:
                if body.name in ("greedy", "greedy_rest", "beam") and node.op_type in products:
                    read = node.input[products[node.op_type]]
                    seen.setdefault(body.name, []).append(read in constants)
        assert seen.keys() == {"greedy", "greedy_rest", "beam"}
        for name, found in seen.items():
            # all but the products with what depends on the source, keys and values
            per_source = {"bahdanau_gru": 1, "luong_general_lstm": 2, "seq2seq_gru": 0}
            assert found.count(False) <= per_source[model_name], name
            assert found.count(True) >= 2, name


@pytest.mark.parametrize("beam", [False, True])
def test_the_loop_stops_with_the_last_sequence_and_the_shape_stays(tmp_path, beam):
    model = a_model("bahdanau_gru")
    model.output_layer.b.assign([9.0 if i == EOS else 0.0 for i in range(SIZES["vocab_target"])])
    session = session_of(graph_of(model), profile=tmp_path)
    found = answers(session, np.array([[5, 6, 7], [8, 9, 0]], np.int32), beam)
    assert found["tokens"].shape[-1] == T_DEC
    events = json.loads(Path(session.end_profiling()).read_text(encoding="utf-8"))
    steps = sum(
        event.get("args", {}).get("op_name") == "LogSoftmax"
        for event in events
        if event["name"].endswith("_kernel_time")
    )
    # a beam that has not ended keeps the search alive
    assert 1 <= steps < T_DEC
    if not beam:
        assert steps == found["lengths"].max()


def test_the_search_that_is_not_asked_for_makes_no_step(tmp_path):
    session = session_of(graph_of(a_model("bahdanau_gru")), profile=tmp_path)
    answers(session, np.array([[5, 6, 7]], np.int32), beam=False)
    events = json.loads(Path(session.end_profiling()).read_text(encoding="utf-8"))
    bodies = {event["name"].split("/")[0] for event in events if event.get("cat") == "Node"}
    assert "greedy" in " ".join(event["name"] for event in events)
    assert not any(body.startswith(("beam", "decoding/beam")) for body in bodies)


def test_a_large_vocabulary_is_searched_in_blocks_with_the_same_answer():
    for name, tied in (("luong_general_gru", "none"), ("bahdanau_gru", "target")):
        model = a_model(name, vocab_target=1327, tied_embeddings=tied)
        session = session_of(graph_of(model))
        for source in sources(SIZES["vocab_source"])[-1:]:
            _compare(model.greedy(source), answers(session, source))
            expected = model.beam_search(source, BEAMS, PENALTY, n_best=BEAMS)
            _compare(expected, answers(session, source, beam=True))


def test_int8_of_every_model_runs_and_stays_near(tmp_path):
    source = sources(SIZES["vocab_source"])[2]
    for name in list_models():
        model = a_model(name, d_emb=32, units=64)  # large enough that its matrices are quantised
        for weight in model.weights:
            weight.assign(weight / 5)
        graph = graph_of(model, "int8")
        onnx.checker.check_model(graph)
        assert any(tensor.data_type == onnx.TensorProto.INT8 for tensor in graph.graph.initializer)
        found, expected = answers(session_of(graph), source), model.greedy(source)
        # the first token's log-probability; later ones may follow another token
        assert np.isfinite(found["scores"]).all()
        np.testing.assert_allclose(found["scores"], expected["scores"], rtol=0.05, err_msg=name)
        weights = found["alignments"].sum(-1)[found["tokens"] != PAD]
        attends = model.config.attention != "none"
        np.testing.assert_allclose(weights, np.ones_like(weights) * attends, atol=1e-5)


def test_a_model_with_parts_of_its_own_is_not_known():
    assert is_known(create_model("bahdanau_gru", **SIZES))
    model = create_model("bahdanau_gru", **SIZES)
    mechanism = model.decoder.cell.mechanism
    mechanism.__class__ = type("Mine", (type(mechanism),), {})
    assert not is_known(model)


@pytest.mark.parametrize(
    "method",
    ["start", "start_embedded", "decode_step", "_encode_embedded", "_logits", "_make_layers"],
)
def test_a_class_that_decodes_in_its_own_way_is_not_known(method):
    own = getattr(Seq2Seq, method)
    changed = type("Changed", (Seq2Seq,), {method: lambda *a, **named: own(*a, **named)})
    assert not is_known(changed(ModelConfig(attention="bahdanau", **SIZES)))


def test_a_class_that_only_trains_in_its_own_way_is_known():
    assert is_known(SampledSeq2Seq(ModelConfig(attention="bahdanau", **SIZES)))


def test_a_run_says_nothing(tmp_path, fresh_process):
    path = tmp_path / "model.onnx"
    onnx.save(graph_of(a_model("bahdanau_gru")), path)
    code = (
        "import sys, numpy, onnxruntime, os\n"
        "options = onnxruntime.SessionOptions()\n"
        "options.log_severity_level = 3\n"
        "session = onnxruntime.InferenceSession(sys.argv[1], options)\n"
        "run = onnxruntime.RunOptions()\n"
        "run.log_severity_level = 2\n"  # warnings, as they are by default
        "os.dup2(1, 2)\n"
        "for beam in (False, True):\n"
        "    feed = {'source': numpy.array([[5, 7, 2]], 'int32'), 'beam': numpy.array(beam)}\n"
        "    session.run(None, feed, run)\n"
    )
    assert fresh_process(code, str(path)) == ""
