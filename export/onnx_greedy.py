"""Greedy decoding as an ONNX loop that ends with the last row.

The loop itself collects what the steps write, one slice a step, so that a step touches nothing that
grows. A row that has ended goes on writing until the last one has. After the loop that is taken
away, and the rest brought to T_dec.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from onnx import TensorProto

from attention_zoo.export.onnx_attention import Prepared
from attention_zoo.export.onnx_blocks import FIRST_WRITTEN
from attention_zoo.export.onnx_graph import Graph, ints
from attention_zoo.export.onnx_step import DecodeStep
from attention_zoo.vocabulary import BOS, EOS, PAD

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
        (graph.op("Expand", ints(BOS), column), np.int64),
        (graph.op("Expand", END, column), np.int64),
        *((state, np.float32) for state in start.states),
    ]

    def body(inner: Graph, _: str, carried: list[str]) -> tuple[str, list[str], list[str]]:
        token, least, *states = carried  # (batch, 1), (batch, 1), (batch, width)
        output, weights, states = step(inner, token, states, start.prepared)
        value, token = best_one(inner, step, output)  # (batch, 1)
        # eos is the least id that may be written: a row has ended once it has written it
        least = inner.op("Min", least, token)
        largest = inner.op("ReduceMax", least, keepdims=0)
        going_on = inner.op("Greater", largest, np.array(EOS, np.int64))
        kept = inner.op("Cast", token, to=TensorProto.INT32)
        return going_on, [token, least, *states], [kept, value, *filter(None, [weights])]

    collected = [(np.int32, 2), (np.float32, 2), *([(np.float32, 3)] if step.attends else [])]
    return graph.loop("greedy", start.steps, carried, collected, body)[1]


def greedy_results(graph: Graph, collected: list[str], mask: str, max_length: int) -> list[str]:
    """The results of `greedy_decode` from what `greedy_loop` collected; mask (batch, T_enc).

    Then the same once more with a beam axis of 1 after batch.
    """
    tokens, values, *weights = collected
    ended = graph.op(
        "Cast", graph.op("Equal", tokens, np.array(EOS, np.int32)), to=TensorProto.INT32
    )
    ended = graph.op("CumSum", ended, np.array(0), exclusive=1)  # before this step
    written = graph.op("Equal", ended, np.array(0, np.int32))  # (steps, batch, 1)
    tokens = graph.op("Where", written, tokens, np.array(PAD, np.int32))
    share = graph.op("Cast", written, to=TensorProto.FLOAT)
    lengths = graph.op("ReduceSum", share, ints(0), keepdims=0)  # (batch, 1)
    scores = graph.op("ReduceSum", graph.op("Mul", values, share), ints(0), keepdims=0)
    steps = graph.op("Shape", tokens, start=0, end=1)
    pads = graph.op("Concat", ints(0), graph.op("Sub", ints(max_length), steps), axis=0)

    def whole(values: str, perm: list[int]) -> str:
        padded = graph.op("Pad", values, pads, "", ints(0))
        return graph.op("Transpose", padded, perm=perm)

    tokens = whole(tokens, [1, 2, 0])
    real = graph.op("Cast", graph.op("Unsqueeze", mask, ints(1)), to=TensorProto.FLOAT)
    share = graph.op("Mul", graph.op("Unsqueeze", share, ints(3)), real)
    # (steps, batch, 1, T_enc); the weights of nothing but padding are no 0 yet
    alignments = graph.op("Mul", weights[0] if weights else np.array(0, np.float32), share)
    with_beam = [
        tokens,
        graph.op("Cast", lengths, to=TensorProto.INT32),
        scores,
        whole(alignments, [1, 2, 0, 3]),
    ]
    return [*(graph.op("Squeeze", one, ints(1)) for one in with_beam), *with_beam]


def best(graph: Graph, step: DecodeStep, output: str, count: int) -> tuple[str, str]:
    """(N, width) -> the `count` largest log-probabilities that may be written, and their ids."""
    log_p = graph.op("LogSoftmax", step.logits(graph, output, step.blocks), axis=-1)
    first = FIRST_WRITTEN if step.blocks is None else step.blocks.width
    allowed = graph.op("Slice", log_p, ints(first), END, ints(1))
    values, index = graph.ops("TopK", 2, allowed, ints(count), axis=-1)
    return values, graph.op("Add", index, ints(FIRST_WRITTEN))


def best_one(graph: Graph, step: DecodeStep, output: str) -> tuple[str, str]:
    """`best` for a count of 1, (N, 1) each."""
    if step.blocks is None:
        return best(graph, step, output, 1)
    logits = step.logits(graph, output, step.blocks)
    return step.blocks.best(graph, graph.op("LogSoftmax", logits, axis=-1))
