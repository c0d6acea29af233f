"""Beam search as an ONNX loop, and a second one that follows the best beams back.

A step keeps the token, the parent and the weights of each beam; nothing of what was written before
is moved. When the search has ended, the beams are walked from their last token to the first.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from onnx import TensorProto

from attention_zoo.export.onnx_attention import Prepared
from attention_zoo.export.onnx_blocks import FIRST_WRITTEN
from attention_zoo.export.onnx_graph import Graph, ints
from attention_zoo.export.onnx_greedy import END, Start, best
from attention_zoo.export.onnx_step import DecodeStep
from attention_zoo.greedy import IMPOSSIBLE
from attention_zoo.vocabulary import BOS, EOS, PAD

_IMPOSSIBLE = np.array(IMPOSSIBLE, np.float32)


@dataclasses.dataclass(frozen=True)
class _Beams:
    """k beams a row of the batch, and what follows from the two.

    Attributes:
        k: beams.
        candidates: continuations of each beam that compete.
        exponent: of the length penalty.
        shape: (batch, k), a tensor (2,).
        first: the first of each row's beams among all, (batch, 1).
    """

    k: int
    candidates: int
    exponent: float
    shape: str
    first: str


@dataclasses.dataclass(frozen=True)
class Searched:
    """What the loop leaves: log p and ranks (batch, k), and what each step chose."""

    beams: _Beams
    log_p: str
    ranks: str
    history: list[str]


_CARRIED = (np.int64, np.bool_, np.int64, np.float32, np.float32)
"""Of each beam: its last token, whether it has finished, its length, log p and rank."""


def beam_loop(
    graph: Graph, step: DecodeStep, start: Start, beam_width: int, length_penalty: float
) -> Searched:
    """Keep the `beam_width` best beginnings in each step."""
    shape, first, carried, prepared = _begun(graph, start, beam_width)
    # no beam goes on in more ways than there are beams
    candidates = min(beam_width, step.config.vocab_target - FIRST_WRITTEN)
    beams = _Beams(beam_width, candidates, length_penalty, shape, first)

    def body(inner: Graph, _: str, carried: list[str]) -> tuple[str, list[str], list[str]]:
        token, finished, length, log_p, _, *states = carried  # (batch, k); states (N, width)
        flat = inner.op("Reshape", token, ints(-1, 1))  # (N, 1), N = batch * k
        output, weights, states = step(inner, flat, states, prepared)
        found = best(inner, step, output, candidates)
        chosen = _choose(inner, beams, found, finished, length, log_p)
        states = [inner.op("Gather", one, _rows(inner, beams, chosen.parent)) for one in states]
        ended = inner.op("Cast", chosen.finished, to=TensorProto.INT32)
        ended = inner.op("ReduceMin", ended, keepdims=0)
        going_on = inner.op("Equal", ended, np.array(0, np.int32))
        kept = [chosen.token, chosen.parent, *filter(None, [weights])]
        return going_on, [*chosen.carried(), *states], kept

    collected = [(np.int64, 2), (np.int64, 2), *([(np.float32, 3)] if step.attends else [])]
    last, history = graph.loop("beam", np.array(start.steps), carried, collected, body)
    _, _, _, log_p, ranks, *_ = last
    return Searched(beams, log_p, ranks, history)


def _begun(
    graph: Graph, start: Start, k: int
) -> tuple[str, str, list[tuple[str, Any]], Prepared | None]:
    """Shape and first of `_Beams`, what is carried before the first step, what the steps read."""
    shape = graph.op("Concat", start.batch, ints(k), axis=0)
    first = graph.op("Range", np.array(0), graph.op("Squeeze", start.batch), np.array(1))
    first = graph.op("Mul", graph.op("Unsqueeze", first, ints(1)), ints(k))
    only_one = np.full((1, k), IMPOSSIBLE, np.float32)
    only_one[0, 0] = 0
    log_p = graph.op("Expand", only_one, shape)
    beams = [
        graph.op("Expand", ints(BOS), shape),
        graph.op("Expand", np.array(False), shape),
        graph.op("Expand", ints(0), shape),
        log_p,
        log_p,
    ]

    def repeated(values: list[str]) -> list[str]:
        return [_repeated(graph, one, start.batch, k) for one in values]

    carried: list[tuple[str, Any]] = list(zip(beams, _CARRIED, strict=True))
    carried += [(state, np.float32) for state in repeated(start.states)]
    prepared = start.prepared and Prepared(*repeated(start.prepared.all()))
    return shape, first, carried, prepared


def beam_results(graph: Graph, searched: Searched, mask: str, max_length: int) -> list[str]:
    """The results of `beam_decode`, the best beam and all of them; mask (batch, T_enc)."""
    tokens, alignments = _followed_back(graph, searched, max_length)
    real = graph.op("Greater", searched.log_p, _IMPOSSIBLE / 2)  # (batch, k)
    tokens = graph.op("Where", graph.op("Unsqueeze", real, ints(-1)), tokens, ints(PAD))
    scores = graph.op("Where", real, searched.ranks, _IMPOSSIBLE)
    all_beams = _results(graph, tokens, scores, alignments, mask)
    best_beam = [graph.op("Gather", one, np.array(0), axis=1) for one in all_beams]
    return [*best_beam, *all_beams]


@dataclasses.dataclass(frozen=True)
class _Chosen:
    """The beams that go on, each tensor (batch, k), and where they come from."""

    token: str
    finished: str
    length: str
    log_p: str
    rank: str
    parent: str

    def carried(self) -> list[str]:
        """What the next step reads, in the order of `_CARRIED`."""
        return [self.token, self.finished, self.length, self.log_p, self.rank]


def _choose(
    graph: Graph,
    beams: _Beams,
    found: tuple[str, str],
    finished: str,
    length: str,
    log_p: str,
) -> _Chosen:
    """Of all continuations the k best by log p over the penalty of their length.

    Within a beam the order is that of the log-probabilities, so that only the best of each compete.
    """
    value, token = _continuations(graph, beams, found, finished)  # (batch, k, candidates)
    total = graph.op("Add", graph.op("Unsqueeze", log_p, ints(2)), value)
    going_on = graph.op("Cast", graph.op("Not", finished), to=TensorProto.INT64)
    length = graph.op("Add", length, going_on)  # (batch, k), with the token that comes
    penalty = graph.op("Unsqueeze", _penalty(graph, length, beams.exponent), ints(2))
    possible = graph.op("Greater", total, _IMPOSSIBLE / 2)
    # a large penalty would bring an impossible answer near 0, before those that are possible
    rank = graph.op("Where", possible, graph.op("Div", total, penalty), total)
    flat = ints(-1, beams.k * beams.candidates)
    rank = graph.op("Reshape", rank, flat)
    rank, index = graph.ops("TopK", 2, rank, ints(beams.k), axis=-1)
    total, token = (
        graph.op("GatherElements", graph.op("Reshape", one, flat), index, axis=1)
        for one in (total, token)
    )
    parent = graph.op("Div", index, ints(beams.candidates))
    finished, length = (
        graph.op("GatherElements", one, parent, axis=1) for one in (finished, length)
    )
    finished = graph.op("Or", finished, graph.op("Equal", token, ints(EOS)))
    return _Chosen(token, finished, length, total, rank, parent)


def _continuations(
    graph: Graph, beams: _Beams, found: tuple[str, str], finished: str
) -> tuple[str, str]:
    """The best log-probabilities of each beam and their tokens; a finished one writes pad alone."""
    shape = ints(-1, beams.k, beams.candidates)
    value, token = (graph.op("Reshape", one, shape) for one in found)
    ended = graph.op("Unsqueeze", finished, ints(2))
    only_pad = np.full(beams.candidates, IMPOSSIBLE, np.float32)
    only_pad[0] = 0
    value = graph.op("Where", ended, only_pad, value)
    return value, graph.op("Where", ended, ints(PAD), token)


def _penalty(graph: Graph, length: str, exponent: float) -> str:
    """((5 + length) / 6) ** exponent (Wu et al. 2016, section 7)."""
    length = graph.op("Cast", length, to=TensorProto.FLOAT)
    share = graph.op("Add", length, np.array(5, np.float32))
    share = graph.op("Div", share, np.array(6, np.float32))
    return graph.op("Pow", share, np.array(exponent, np.float32))


def _rows(graph: Graph, beams: _Beams, parent: str) -> str:
    """(batch, k) numbers of beams -> (batch * k,) numbers of rows."""
    return graph.op("Reshape", graph.op("Add", parent, beams.first), ints(-1))


def _repeated(graph: Graph, values: str, batch: str, k: int) -> str:
    """(batch, ...) -> (batch * k, ...), each row k times in succession."""
    rest = graph.op("Slice", graph.op("Shape", values), ints(1), END)
    wide = graph.op("Concat", batch, ints(k), rest, axis=0)
    values = graph.op("Expand", graph.op("Unsqueeze", values, ints(1)), wide)
    rows = graph.op("Mul", batch, ints(k))
    return graph.op("Reshape", values, graph.op("Concat", rows, rest, axis=0))


def _followed_back(graph: Graph, searched: Searched, max_length: int) -> tuple[str, str | None]:
    """Tokens (batch, k, T_dec) and alignments (batch, k, T_dec, T_enc) of the beams at the end."""
    beams = searched.beams
    # (steps, batch, k), (steps, batch, k), (steps, batch * k, 1, T_enc)
    tokens, parents, *weights = searched.history
    steps = graph.op("Shape", tokens, start=0, end=1)

    def body(inner: Graph, number: str, carried: list[str]) -> tuple[str, list[str], list[str]]:
        place = inner.op("Sub", inner.op("Sub", steps, ints(1)), number)  # (1,)

        def of_step(values: str) -> str:
            return inner.op("Squeeze", inner.op("Gather", values, place), ints(0))

        token, parent = (
            inner.op("GatherElements", of_step(one), carried[0], axis=1)
            for one in (tokens, parents)
        )
        # weights were made before the choice, so they stand in the order of the parents
        rows = [_rows(inner, beams, parent)] if weights else []
        kept = [token, *(inner.op("Gather", of_step(weights[0]), one) for one in rows)]
        return inner.op("Identity", np.array(True)), [parent], kept

    collected = [(np.int64, 2), *([(np.float32, 3)] if weights else [])]
    last = graph.op("Expand", np.arange(beams.k)[None], beams.shape)
    limit = graph.op("Squeeze", steps)
    _, found = graph.loop("follow", limit, [(last, np.int64)], collected, body)
    found = [_reversed(graph, one) for one in found]
    tokens = graph.op("Transpose", found[0], perm=[1, 2, 0])
    tokens = _to_length(graph, tokens, max_length, axis=2, rank=3)
    if not weights:
        return tokens, None
    width = graph.op("Shape", found[1], start=3, end=4)
    wide = graph.op("Concat", steps, beams.shape, width, axis=0)
    alignments = graph.op("Transpose", graph.op("Reshape", found[1], wide), perm=[1, 2, 0, 3])
    return tokens, _to_length(graph, alignments, max_length, axis=2, rank=4)


def _reversed(graph: Graph, values: str) -> str:
    """The first axis from its end to its beginning."""
    least = ints(np.iinfo(np.int64).min)
    return graph.op("Slice", values, ints(-1), least, ints(0), ints(-1))


def _to_length(graph: Graph, values: str, length: int, axis: int, rank: int) -> str:
    """Fill an axis with 0 at its end, up to `length`; `rank` is that of `values`."""
    size = graph.op("Shape", values, start=axis, end=axis + 1)
    missing = graph.op("Sub", ints(length), size)
    # what is added before each axis, then after each
    pads: list[str | np.ndarray] = [ints(*[0] * (rank + axis)), missing]
    if axis < rank - 1:
        pads.append(ints(*[0] * (rank - axis - 1)))
    return graph.op("Pad", values, graph.op("Concat", *pads, axis=0))


def _results(
    graph: Graph, tokens: str, scores: str, alignments: str | None, mask: str
) -> list[str]:
    """Tokens int32, lengths, scores, and alignments with 0 after eos and in padded steps.

    tokens (batch, beam, T_dec); alignments (batch, beam, T_dec, T_enc), or None.
    """
    written = graph.op("Greater", tokens, ints(PAD))
    lengths = graph.op("Cast", written, to=TensorProto.INT32)
    lengths = graph.op("ReduceSum", lengths, ints(-1), keepdims=0)
    real = graph.op("Unsqueeze", mask, ints(1, 2))  # (batch, 1, 1, T_enc)
    looked = graph.op("And", graph.op("Unsqueeze", written, ints(-1)), real)
    looked = graph.op("Cast", looked, to=TensorProto.FLOAT)
    if alignments is None:
        alignments = graph.op("Mul", looked, np.array(0, np.float32))
    else:
        alignments = graph.op("Mul", alignments, looked)
    return [graph.op("Cast", tokens, to=TensorProto.INT32), lengths, scores, alignments]
