"""Ids in blocks: where they stand, and that the best is found among those that may be written."""

import numpy as np
import onnxruntime
import pytest

from attention_zoo.export.onnx_blocks import FIRST_WRITTEN, Blocks
from attention_zoo.export.onnx_graph import Graph
from attention_zoo.vocabulary import BOS, PAD

BATCH = 5


@pytest.mark.parametrize("size", [1031, 1087, 1091, 6007])
def test_every_id_has_one_place_and_the_first_block_holds_nothing_to_write(size):
    blocks = Blocks.of(size)
    ids = np.arange(size) + 1.0
    laid_out = blocks.spread(ids).reshape(blocks.count, blocks.width)
    np.testing.assert_array_equal(laid_out[laid_out > 0], ids)
    assert laid_out[0, -2:].tolist() == [PAD + 1, BOS + 1]
    assert not laid_out[0, :-2].any()
    assert laid_out[1, 0] == FIRST_WRITTEN + 1
    # what stands for nothing takes no part in a softmax
    closed = blocks.spread(ids.astype(np.float32), closed=True)
    assert np.exp(closed - size).astype(np.float32).sum() == pytest.approx(
        np.exp(ids - size).sum(), rel=1e-6
    )


def test_a_small_vocabulary_has_none():
    assert Blocks.of(1024) is None


@pytest.mark.parametrize("largest", [PAD, BOS, 2, 3, 577, 1086])
def test_the_best_is_the_first_of_the_largest_that_may_be_written(largest):
    size = 1087
    blocks = Blocks(size)
    log_p = np.random.default_rng(largest).uniform(-9, -1, (BATCH, size)).astype(np.float32)
    log_p[:, largest] = 0
    log_p[0, min(largest + 1, size - 1)] = 0  # as large: the first of both is taken
    graph = Graph("test")
    x = graph.input("x", np.float32, [BATCH, None])
    value, token = blocks.best(graph, x)
    graph.output(value, "value", np.float32, [BATCH, 1])
    graph.output(token, "token", np.int64, [BATCH, 1])
    session = onnxruntime.InferenceSession(
        graph.model().SerializeToString(), providers=["CPUExecutionProvider"]
    )
    value, token = session.run(None, {"x": blocks.spread(log_p, closed=True)})
    allowed = log_p[:, FIRST_WRITTEN:]
    np.testing.assert_array_equal(token[:, 0], allowed.argmax(-1) + FIRST_WRITTEN)
    np.testing.assert_array_equal(value[:, 0], allowed.max(-1))
