"""Operators read from the flatbuffer; files that stay right while T_enc grows."""

import numpy as np

from attention_zoo.export.cases import random_sources
from attention_zoo.export.runtime import LiteRTModel
from attention_zoo.export.step_loop import step_loop
from attention_zoo.export.tflite import foreign_ops, operators


def test_flex_ops_are_found(flex_file):
    foreign = foreign_ops(flex_file)
    assert foreign
    assert all(name.startswith("CUSTOM:Flex") for name in foreign)
    assert "ADD" in operators(flex_file)
    assert "ADD" not in foreign


def test_growing_lengths_stay_right_in_fresh_interpreters(exported):
    # A loop body that XNNPACK ran gave wrong tokens at a length longer than all before: this model
    # did so in about one of four interpreters.
    case = exported("luong_concat_gru")
    generator = np.random.default_rng(43)
    sources = [random_sources(generator, 23, (length,)) for length in range(1, 14)]
    expected = [case.model.greedy(source) for source in sources]
    for _ in range(40):
        model = LiteRTModel(case.folder)
        for source, wanted in zip(sources, expected, strict=True):
            got = model.predict(source)
            np.testing.assert_array_equal(got["tokens"], wanted["tokens"])
            np.testing.assert_allclose(got["alignments"], wanted["alignments"], atol=1e-4)


def test_a_host_can_drive_the_loop(exported):
    case = exported("luong_dot_gru")
    model = LiteRTModel(case.folder)
    source = random_sources(np.random.default_rng(47), 23, (7, 3))
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
