"""Operators read from the flatbuffer; files that stay right while T_enc grows."""

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter

from attention_zoo.export.cases import random_sources
from attention_zoo.export.runtime import LiteRTModel
from attention_zoo.export.step_loop import step_loop
from attention_zoo.export.tflite import foreign_ops, operators
from attention_zoo.export.tflite_flatbuffer import packed, unpacked
from attention_zoo.presets import preset_folder


def test_flex_ops_are_found(flex_file):
    foreign = foreign_ops(flex_file)
    assert foreign
    assert all(name.startswith("CUSTOM:Flex") for name in foreign)
    assert "ADD" in operators(flex_file)
    assert "ADD" not in foreign


@pytest.mark.slow
def test_growing_lengths_stay_right_in_fresh_interpreters(exported, assert_decided):
    # A loop body that XNNPACK ran gave wrong tokens at a length longer than all before: this model
    # did so in about one of four interpreters.
    case = exported("luong_concat_gru")
    generator = np.random.default_rng(43)
    sources = [random_sources(generator, 23, (length,)) for length in range(1, 14)]
    for source in sources:
        assert_decided(case.model, source)
    expected = [case.model.greedy(source) for source in sources]
    for _ in range(20):
        model = LiteRTModel(case.folder)
        for source, wanted in zip(sources, expected, strict=True):
            got = model.predict(source)
            np.testing.assert_array_equal(got["tokens"], wanted["tokens"])
            np.testing.assert_allclose(got["alignments"], wanted["alignments"], atol=1e-4)


def test_a_host_can_drive_the_loop(exported, assert_decided):
    case = exported("luong_dot_gru")
    model = LiteRTModel(case.folder)
    source = random_sources(np.random.default_rng(47), 23, (7, 3))
    assert_decided(case.model, source)
    got, expected = step_loop(model, source, 11), case.model.greedy(source)
    np.testing.assert_array_equal(got["tokens"], expected["tokens"])
    np.testing.assert_array_equal(got["lengths"], expected["lengths"])
    np.testing.assert_allclose(got["scores"], expected["scores"], atol=1e-4)


def test_weights_are_stored_once_for_all_signatures(exported):
    # four signatures; the graphs of this tiny model outweigh its weights, so count the largest one
    case = exported("luong_dot_gru")
    content = (case.folder / "model.tflite").read_bytes()
    largest = max(case.model.trainable_variables, key=lambda weight: np.size(weight)).numpy()
    stored = {largest.astype("<f4").tobytes(), largest.T.astype("<f4").tobytes()}
    assert sum(content.count(part) for part in stored) == 1


def alone(content, signature):
    """The file with one signature, without the graphs and buffers that it does not need."""
    model = unpacked(content)
    model.signatureDefs = [
        one for one in model.signatureDefs if one.signatureKey == signature.encode()
    ]
    needed, new = set(), {model.signatureDefs[0].subgraphIndex}
    while new:
        needed |= new
        options = [one.builtinOptions for i in new for one in model.subgraphs[i].operators]
        loops = [one for one in options if isinstance(one, schema.WhileOptionsT)]
        new = {i for one in loops for i in (one.condSubgraphIndex, one.bodySubgraphIndex)} - needed
    for index, graph in enumerate(model.subgraphs):
        if index not in needed:
            graph.tensors, graph.operators, graph.inputs, graph.outputs = [], [], [], []
    read = {one.buffer for graph in model.subgraphs for one in graph.tensors}
    for index, buffer in enumerate(model.buffers):
        if index not in read:
            buffer.data = None
    return packed(model)


@pytest.mark.parametrize("file", ["model.tflite", "model.int8.tflite"])
def test_four_signatures_cost_a_tenth_at_most(file):
    path = preset_folder("bahdanau_gru.fr_en") / file
    if not path.is_file():
        pytest.skip(f"this preset was exported without {file}")
    content = path.read_bytes()
    single = alone(content, "greedy")
    runner = Interpreter(model_content=single, num_threads=1).get_signature_runner("greedy")
    source = np.array([[5, 9, 4, 2]], np.int32)
    expected = LiteRTModel(path, vocab_source=6000).predict(source)
    np.testing.assert_array_equal(runner(source=source)["tokens"], expected["tokens"])
    assert len(single) < len(content) <= 1.1 * len(single)
