"""Greedy decoding as an ONNX loop that ends with the last row.

The loop itself collects what the steps write, one slice a step, so that a step touches nothing that
grows. After the loop that is brought to T_dec.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np
from onnx import TensorProto

from attention_zoo.export.onnx_attention import Prepared
from attention_zoo.export.onnx_graph import Graph, ints
from attention_zoo.export.onnx_step import DecodeStep
from attention_zoo.greedy import IMPOSSIBLE
from attention_zoo.vocabulary import BOS, EOS, PAD

FIRST_WRITTEN = EOS
"""The ids below it, pad and bos, are never written."""
# so many ids TopK goes through as quickly
_FEW = 1024
END = ints(np.iinfo(np.int64).max)
"""The end of an axis, for Slice."""


@dataclasses.dataclass(frozen=True)
class Start:
    """What a search begins with.

    Attributes:
        states: the first ones, each (batch, width).
        prepared: what the steps read, for a model that attends.
        batch: (1,) int64.
        steps: at most so many, a scalar int64 tensor; 0 for a search that is not wanted.
    """

    states: list[str]
    prepared: Prepared | None
    batch: str
    steps: str


def greedy_loop(graph: Graph, step: DecodeStep, start: Start) -> list[str]:
    """Tokens and log-probabilities (steps, batch, 1), and weights (steps, batch, 1, T_enc)."""
    column = graph.op("Concat", start.batch, ints(1), axis=0)
    carried = [
        (graph.op("Expand", ints(BOS), start.batch), np.int64),
        (graph.op("Expand", np.array(True), column), np.bool_),
        *((state, np.float32) for state in start.states),
    ]

    def body(inner: Graph, _: str, carried: list[str]) -> tuple[str, list[str], list[str]]:
        token, alive, *states = carried  # (batch,), (batch, 1), (batch, width)
        logits, weights, states = step(inner, token, states, start.prepared)
        value, token = best_one(inner, logits, step.config.vocab_target)  # (batch, 1)
        token = inner.op("Where", alive, token, ints(PAD))
        # what has ended writes pad, and what ends now eos
        alive = inner.op("Greater", token, ints(EOS))
        largest = inner.op("ReduceMax", token, keepdims=0)
        going_on = inner.op("Greater", largest, np.array(EOS, np.int64))
        kept = [token, value, *filter(None, [weights])]
        return going_on, [inner.op("Reshape", token, ints(-1)), alive, *states], kept

    collected = [(np.int64, 2), (np.float32, 2), *([(np.float32, 3)] if step.attends else [])]
    return graph.loop("greedy", start.steps, carried, collected, body)[1]


def greedy_results(graph: Graph, collected: list[str], mask: str, max_length: int) -> list[str]:
    """The results of `greedy_decode` from what `greedy_loop` collected; mask (batch, T_enc)."""
    tokens, values, *weights = collected
    rows = [1, 0]  # (steps, batch) -> (batch, steps)
    tokens = graph.op("Transpose", graph.op("Squeeze", tokens, ints(2)), perm=rows)
    written = graph.op("Greater", tokens, ints(PAD))
    values = graph.op("Transpose", graph.op("Squeeze", values, ints(2)), perm=rows)
    values = graph.op("Where", written, values, np.array(0, np.float32))
    scores = graph.op("ReduceSum", values, ints(1), keepdims=0)
    tokens = to_length(graph, tokens, max_length, axis=1, rank=2)
    alignments = None
    if weights:
        # (steps, batch, 1, T_enc) -> (batch, T_dec, T_enc)
        alignments = graph.op("Squeeze", weights[0], ints(2))
        alignments = graph.op("Transpose", alignments, perm=[1, 0, 2])
        alignments = to_length(graph, alignments, max_length, axis=1, rank=3)
    return results(graph, tokens, scores, alignments, mask, rank=2)


def best(graph: Graph, logits: str, count: int) -> tuple[str, str]:
    """(N, vocab_target) -> the largest log-probabilities that may be written, and their ids."""
    log_p = graph.op("LogSoftmax", logits, axis=-1)
    allowed = graph.op("Slice", log_p, ints(FIRST_WRITTEN), END, ints(1))
    values, index = graph.ops("TopK", 2, allowed, ints(count), axis=-1)
    return values, graph.op("Add", index, ints(FIRST_WRITTEN))


def best_one(graph: Graph, logits: str, vocab_target: int) -> tuple[str, str]:
    """`best` for a count of 1, (N, 1) each: by way of the largest of each block of ids.

    TopK looks at one number after the other, ReduceMax at many at a time.
    """
    n_ids = vocab_target - FIRST_WRITTEN
    if n_ids < _FEW:
        return best(graph, logits, 1)
    width = math.isqrt(n_ids)
    n_blocks = -(-n_ids // width)
    log_p = graph.op("LogSoftmax", logits, axis=-1)
    # a negative pad takes away: pad and bos at the front
    pads = ints(0, -FIRST_WRITTEN, 0, n_blocks * width - n_ids)
    allowed = graph.op("Pad", log_p, pads, np.array(IMPOSSIBLE, np.float32))
    blocks = graph.op("Reshape", allowed, ints(0, n_blocks, width))
    largest = graph.op("ReduceMax", blocks, ints(2), keepdims=0)  # (N, n_blocks)
    value, block = graph.ops("TopK", 2, largest, ints(1), axis=-1)
    inside = graph.op("GatherND", blocks, block, batch_dims=1)  # (N, width)
    _, index = graph.ops("TopK", 2, inside, ints(1), axis=-1)
    before = graph.op("Mul", block, ints(width))
    return value, graph.op("Add", graph.op("Add", before, ints(FIRST_WRITTEN)), index)


def to_length(graph: Graph, values: str, length: int, axis: int, rank: int) -> str:
    """Fill an axis with 0 at its end, up to `length`; `rank` is that of `values`."""
    size = graph.op("Shape", values, start=axis, end=axis + 1)
    missing = graph.op("Sub", ints(length), size)
    # what is added before each axis, then after each
    pads: list[str | np.ndarray] = [ints(*[0] * (rank + axis)), missing]
    if axis < rank - 1:
        pads.append(ints(*[0] * (rank - axis - 1)))
    return graph.op("Pad", values, graph.op("Concat", *pads, axis=0))


def results(
    graph: Graph, tokens: str, scores: str, alignments: str | None, mask: str, rank: int
) -> list[str]:
    """Tokens int32, lengths, scores, and alignments with 0 after eos and in padded steps.

    tokens (batch, [beam,] T_dec) of this rank; alignments (batch, [beam,] T_dec, T_enc), or None.
    """
    written = graph.op("Greater", tokens, ints(PAD))
    lengths = graph.op("Cast", written, to=TensorProto.INT32)
    lengths = graph.op("ReduceSum", lengths, ints(-1), keepdims=0)
    real = graph.op("Unsqueeze", mask, ints(*range(1, rank)))  # (batch, 1, [1,] T_enc)
    looked = graph.op("And", graph.op("Unsqueeze", written, ints(-1)), real)
    looked = graph.op("Cast", looked, to=TensorProto.FLOAT)
    if alignments is None:
        alignments = graph.op("Mul", looked, np.array(0, np.float32))
    else:
        alignments = graph.op("Mul", alignments, looked)
    return [graph.op("Cast", tokens, to=TensorProto.INT32), lengths, scores, alignments]
