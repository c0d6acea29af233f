"""Greedy decoding as two ONNX loops: all rows until half have ended, then the others alone.

A row that has ended goes on writing as long as its loop does, since a step in which no row leaves
costs nothing but the step; between the loops those that have ended are left out, once. What a row
wrote after its end is taken away at last, and the rest brought to T_dec.

The loops themselves collect what the steps write, one slice a step, so that a step touches nothing
that grows.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
from onnx import TensorProto

from attention_zoo.export.onnx_attention import Prepared
from attention_zoo.export.onnx_blocks import FIRST_WRITTEN
from attention_zoo.export.onnx_graph import Graph, ints
from attention_zoo.export.onnx_step import DecodeStep
from attention_zoo.vocabulary import BOS, EOS, PAD

END = ints(np.iinfo(np.int64).max)
"""The end of an axis, for Slice."""
# of a row that has not ended: the least of it and of what the row writes is eos as soon as that is
# written, since no id below eos ever is
_GOING_ON = EOS + 1


@dataclasses.dataclass(frozen=True)
class Start:
    """What a search begins with.

    Attributes:
        states: the first ones, each (batch, width).
        prepared: what the steps read, for a model that attends.
        batch: (1,) int64.
        steps: at most so many.
    """

    states: list[str]
    prepared: Prepared | None
    batch: str
    steps: int


def greedy_loops(graph: Graph, step: DecodeStep, start: Start) -> list[str]:
    """Tokens and log-probabilities (steps, batch, 1), and weights (steps, batch, 1, T_enc)."""
    column = graph.op("Concat", start.batch, ints(1), axis=0)
    carried = [
        graph.op("Expand", ints(BOS), column),
        graph.op("Expand", ints(_GOING_ON), column),
        *start.states,
    ]
    # the sum when half of them, rounded down, still go on
    half = graph.op("Div", graph.op("Mul", start.batch, ints(EOS + _GOING_ON)), ints(2))
    half = graph.op("Squeeze", half)

    def half_go_on(inner: Graph, row: str) -> str:
        return inner.op("Greater", inner.op("ReduceSum", row, keepdims=0), half)

    limit = np.array(start.steps)
    last, written = _loop(graph, step, "greedy", limit, carried, start.prepared, half_go_on)
    return graph.branch(
        _any_goes_on(graph, last[1]),
        [dtype for dtype, _ in _collected(step)],
        lambda inner: _followed_by_the_rest(inner, step, start, last, written),
        lambda _: written,
    )


def _followed_by_the_rest(
    graph: Graph, step: DecodeStep, start: Start, last: list[str], written: list[str]
) -> list[str]:
    """Go on with the rows that have not ended.

    Args:
        graph: where the loop stands.
        step: what it repeats.
        start: of the search.
        last: what was carried last, of all rows.
        written: what was collected so far, of all rows.
    """
    going_on = graph.op("Reshape", graph.op("Equal", last[1], ints(_GOING_ON)), ints(-1))

    def narrowed(values: list[str]) -> list[str]:
        return [graph.op("Compress", one, going_on, axis=0) for one in values]

    prepared = start.prepared and Prepared(*narrowed(start.prepared.all()))
    steps = graph.op("Squeeze", graph.op("Shape", written[0], start=0, end=1))
    left = graph.op("Sub", np.array(start.steps), steps)
    _, rest = _loop(graph, step, "greedy_rest", left, narrowed(last), prepared, _any_goes_on)
    # where each row stands among the rest; what has ended reads the row of nothing behind them, and
    # so do all if there was no step left: then there is no other
    behind = graph.op("Shape", rest[0], start=1, end=2)
    place = graph.op("Cast", going_on, to=TensorProto.INT64)
    place = graph.op("CumSum", place, np.array(0), exclusive=1)
    place = graph.op("Min", graph.op("Where", going_on, place, behind), behind)
    results = []
    for first, second in zip(written, rest, strict=True):
        second = graph.op("Pad", second, ints(0, 1), "", ints(1))
        second = graph.op("Gather", second, place, axis=1)
        results.append(graph.op("Concat", first, second, axis=0))
    return results


def _loop(
    graph: Graph,
    step: DecodeStep,
    name: str,
    limit: str | np.ndarray,
    carried: list[str],
    prepared: Prepared | None,
    goes_on: Callable[[Graph, str], str],
) -> tuple[list[str], list[str]]:
    """At most `limit` steps.

    Carried are the tokens before (N, 1), _GOING_ON or EOS (N, 1), and the states (N, width);
    `goes_on` says of the second whether there is a next step.
    """

    def body(inner: Graph, _: str, carried: list[str]) -> tuple[str, list[str], list[str]]:
        token, row, *states = carried
        output, weights, states = step(inner, token, states, prepared)
        value, token = best_one(inner, step, output)  # (N, 1)
        row = inner.op("Min", row, token)
        kept = inner.op("Cast", token, to=TensorProto.INT32)
        written = [kept, value, *filter(None, [weights])]
        return goes_on(inner, row), [token, row, *states], written

    dtypes = [np.int64, np.int64, *[np.float32] * (len(carried) - 2)]
    started = list(zip(carried, dtypes, strict=True))
    return graph.loop(name, limit, started, _collected(step), body)


def _any_goes_on(graph: Graph, row: str) -> str:
    return graph.op("Greater", graph.op("ReduceMax", row, keepdims=0), np.array(EOS))


def _collected(step: DecodeStep) -> list[tuple[Any, int]]:
    """Dtype and rank of what each step writes: tokens, log-probabilities, weights."""
    return [(np.int32, 2), (np.float32, 2), *([(np.float32, 3)] if step.attends else [])]


def greedy_results(graph: Graph, collected: list[str], mask: str, max_length: int) -> list[str]:
    """The results of `greedy_decode` from what `greedy_loops` collected; mask (batch, T_enc).

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
