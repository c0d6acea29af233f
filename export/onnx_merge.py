"""Puts greedy decoding and beam search into one ONNX graph that stores the weights once.

    source, beam (bool, false unless given)
      If beam:  the graph of beam search      -> beam_tokens, beam_lengths, ... (batch, beam, ...)
      else:     the graph of greedy decoding  -> the same with a beam axis of 1
    tokens, lengths, scores, alignments: the first of them (batch, ...)

So whoever knows nothing of beams feeds `source`, fetches `tokens`, and gets greedy decoding. The
weights stand in the outer graph; both branches read them there.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import onnx
from onnx import helper, numpy_helper

from attention_zoo.export.half_weights import LEAST_VALUES

SOURCE, BEAM = "source", "beam"
PREFIX = "beam_"
_FIRST = "beam/first"


def merged(
    greedy: onnx.ModelProto, beam: onnx.ModelProto, outputs: Iterable[str]
) -> onnx.ModelProto:
    """One model of two that read `source` and give `outputs`, those of `beam` with a beam axis.

    The graphs of both are taken apart.
    """
    outputs = list(outputs)
    results = _results(greedy.graph, outputs, "") + _results(beam.graph, outputs, PREFIX)
    types = {value.name: value.type.tensor_type.elem_type for value in greedy.graph.output}
    weights = _Weights()
    without, with_beam = (
        weights.branch(greedy.graph, "greedy/"),
        weights.branch(beam.graph, "beam/"),
    )
    _add_beam_axis(without, outputs, types)
    with_beam.output.extend(
        helper.make_tensor_value_info(f"beam/{name}", types[name], None) for name in outputs
    )
    everything = [PREFIX + name for name in outputs]
    nodes = [
        helper.make_node(
            "If", [BEAM], everything, name="search", then_branch=with_beam, else_branch=without
        ),
        *(
            helper.make_node("Gather", [PREFIX + name, _FIRST], [name], name=name, axis=1)
            for name in outputs
        ),
    ]
    graph = helper.make_graph(
        nodes,
        "decoding",
        [greedy.graph.input[0], helper.make_tensor_value_info(BEAM, onnx.TensorProto.BOOL, [])],
        results,
        [
            # an input with a value of its own need not be fed
            numpy_helper.from_array(np.array(False), BEAM),
            numpy_helper.from_array(np.array(0, np.int64), _FIRST),
            *weights.tensors,
        ],
    )
    opsets = {one.domain: one.version for one in (*greedy.opset_import, *beam.opset_import)}
    return helper.make_model(
        graph,
        opset_imports=[helper.make_opsetid(*one) for one in opsets.items()],
        ir_version=max(greedy.ir_version, beam.ir_version),
        producer_name=greedy.producer_name,
    )


def _results(graph: onnx.GraphProto, outputs: list[str], prefix: str) -> list[onnx.ValueInfoProto]:
    """The outputs of a graph under other names; how many beams there are depends on the switch."""
    results = []
    for output in sorted(graph.output, key=lambda value: outputs.index(value.name)):
        result = onnx.ValueInfoProto.FromString(output.SerializeToString())
        result.name = prefix + output.name
        if prefix:
            result.type.tensor_type.shape.dim[1].dim_param = BEAM
        results.append(result)
    return results


class _Weights:
    """The large tensors of several graphs, each once, by what they hold."""

    def __init__(self) -> None:
        self.tensors: list[onnx.TensorProto] = []
        self._names: dict[tuple[int, tuple[int, ...], bytes], str] = {}

    def branch(self, graph: onnx.GraphProto, prefix: str) -> onnx.GraphProto:
        """The graph as the branch of an If, without outputs.

        It reads `source` and the large tensors from the graph around it. All other names get the
        prefix.
        """
        names = {SOURCE: SOURCE}
        kept = []
        for tensor in graph.initializer:
            values = numpy_helper.to_array(tensor)
            if values.size < LEAST_VALUES:
                kept.append(tensor)
                continue
            key = (tensor.data_type, values.shape, values.tobytes())
            if key not in self._names:
                self._names[key] = prefix + tensor.name
                self.tensors.append(numpy_helper.from_array(values, self._names[key]))
            names[tensor.name] = self._names[key]
        branch = helper.make_graph(graph.node, prefix.rstrip("/"), [], [], kept)
        _rename(branch, prefix, names)
        return branch


def _rename(graph: onnx.GraphProto, prefix: str, names: dict[str, str]) -> None:
    """Put the prefix before every name of a graph and of the bodies in it, or what `names` says."""

    def new(name: str) -> str:
        return names.get(name, prefix + name) if name else name  # an input left out has no name

    for node in graph.node:
        node.name = new(node.name)
        node.input[:] = [new(name) for name in node.input]
        node.output[:] = [new(name) for name in node.output]
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                _rename(attribute.g, prefix, names)
    for named in (*graph.initializer, *graph.input, *graph.output, *graph.value_info):
        named.name = new(named.name)


def _add_beam_axis(graph: onnx.GraphProto, outputs: list[str], types: dict[str, int]) -> None:
    axis = "greedy/beam_axis"
    graph.initializer.append(numpy_helper.from_array(np.array([1], np.int64), axis))
    for name in outputs:
        wide = f"greedy/{PREFIX}{name}"
        graph.node.append(
            helper.make_node("Unsqueeze", [f"greedy/{name}", axis], [wide], name=wide)
        )
        graph.output.append(helper.make_tensor_value_info(wide, types[name], None))
