"""The ONNX graph that decodes: greedy search, and beam search where it is asked for.

    source, beam (bool, false unless given)
      -> tokens, lengths, scores, alignments: the best answer
      -> beam_tokens, beam_lengths, ...: the same with a beam axis after batch, 1 for greedy search

Each search stands in a branch of its own, and the encoder before both.
"""

from __future__ import annotations

import numpy as np
import onnx

from attention_zoo.export.decode_functions import BEAM, OUTPUTS, DecodeSettings
from attention_zoo.export.onnx_beam import beam_loop, beam_results
from attention_zoo.export.onnx_graph import Graph
from attention_zoo.export.onnx_greedy import Start, greedy_loops, greedy_results
from attention_zoo.export.onnx_step import DecodeStep

SOURCE, SWITCH = "source", "beam"
PREFIX = "beam_"
_DTYPES = {
    "tokens": np.int32,
    "lengths": np.int32,
    "scores": np.float32,
    "alignments": np.float32,
}


def decoding_graph(step: DecodeStep, settings: DecodeSettings) -> onnx.ModelProto:
    """The model of both searches."""
    graph = Graph("decoding")
    source = graph.input(SOURCE, np.int32, ["batch", "T_enc"])
    switch = graph.input(SWITCH, np.bool_, [])
    graph.default(SWITCH, np.array(False))
    batch = graph.op("Shape", source, start=0, end=1)
    states, encoded, read = step.start(graph, source)
    prepared = step.prepared(graph, encoded.mask, read)
    start = Start(states, prepared, batch, settings.max_length)
    names = [*OUTPUTS, *(PREFIX + name for name in OUTPUTS)]
    dtypes = [_DTYPES[name] for name in OUTPUTS]

    def beam(inner: Graph) -> list[str]:
        width, penalty = settings.beam_width, settings.length_penalty
        searched = beam_loop(inner, step, start, width, penalty)
        return beam_results(inner, searched, encoded.mask, settings.max_length)

    def greedy(inner: Graph) -> list[str]:
        written = greedy_loops(inner, step, start)
        return greedy_results(inner, written, encoded.mask, settings.max_length)

    graph.branch(switch, [*dtypes, *dtypes], beam, greedy, names)
    _give_out(graph, "", ["batch"], settings.max_length)
    _give_out(graph, PREFIX, ["batch", BEAM], settings.max_length)
    return graph.model()


def _give_out(graph: Graph, prefix: str, leading: list[int | str], max_length: int) -> None:
    axes: dict[str, list[int | str]] = {
        "tokens": [max_length],
        "alignments": [max_length, "T_enc"],
    }
    for name in OUTPUTS:
        shape = [*leading, *axes.get(name, [])]
        graph.output(prefix + name, prefix + name, _DTYPES[name], shape)
