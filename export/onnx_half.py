"""Stores the weights of an ONNX graph as float16; they are float32 again before any node runs.

    weight (float32)   becomes   weight/float16 --Cast--> weight

The casts stand in the outer graph, also for what a loop uses: a runtime folds them when it loads
the file, or runs them once a call, never once a step.
"""

from __future__ import annotations

from collections.abc import Iterator

import onnx
from onnx import helper, numpy_helper

from attention_zoo.export.half_weights import exact_float16

_SUFFIX = "/float16"


def store_as_float16(model: onnx.ModelProto) -> list[str]:
    """Change `model` in place; returns the names of the tensors that are stored in two bytes."""
    _hoist(model.graph)
    casts = []
    for tensor in model.graph.initializer:
        half = exact_float16(numpy_helper.to_array(tensor))
        if half is None:
            continue
        name = tensor.name
        tensor.CopyFrom(numpy_helper.from_array(half, name + _SUFFIX))
        casts.append(
            helper.make_node(
                "Cast", [name + _SUFFIX], [name], name=name + "/cast", to=onnx.TensorProto.FLOAT
            )
        )
    nodes = [*casts, *model.graph.node]
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    return [node.output[0] for node in casts]


def _hoist(outer: onnx.GraphProto) -> None:
    """Move what could be stored as float16 from the bodies of loops to the outer graph."""
    for number, body in enumerate(_bodies(outer)):
        kept = []
        for tensor in body.initializer:
            if exact_float16(numpy_helper.to_array(tensor)) is None:
                kept.append(tensor)
                continue
            name = f"{tensor.name}/body_{number}"  # two bodies may use one name
            _rename(body, tensor.name, name)
            tensor.name = name
            outer.initializer.append(tensor)
        # copied first: the field owns what it holds
        kept = [onnx.TensorProto.FromString(tensor.SerializeToString()) for tensor in kept]
        del body.initializer[:]
        body.initializer.extend(kept)


def _rename(graph: onnx.GraphProto, old: str, new: str) -> None:
    """Let all nodes of a graph, and of the bodies in it, read `new` in place of `old`."""
    for one in (graph, *_bodies(graph)):
        for node in one.node:
            for place, name in enumerate(node.input):
                if name == old:
                    node.input[place] = new
    for output in graph.output:
        if output.name == old:  # a body may hand a weight on as it is
            graph.node.append(helper.make_node("Identity", [new], [old]))


def _bodies(graph: onnx.GraphProto) -> Iterator[onnx.GraphProto]:
    """The graphs inside a graph, however deep."""
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                yield attribute.g
                yield from _bodies(attribute.g)
