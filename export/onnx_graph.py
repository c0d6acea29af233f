"""An ONNX graph under construction: names, constants, loops and branches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

OPSET = 18
CONTRIB = "com.microsoft"
"""The domain of onnxruntime's own operators."""
_CONTRIB_VERSION = 1
# the first format that has all of opset 18
_IR_VERSION = 8

Body = Callable[["Graph", str, list[str]], tuple[str, list[str], list[str]]]


def ints(*values: int) -> np.ndarray:
    """Axes, sizes and the like, as ONNX wants them."""
    return np.array(values, np.int64)


class Graph:
    """A graph, or a body inside one, that operators are added to one after the other.

    Every tensor is known by its name, a string. A NumPy array in its place becomes a constant of
    the outermost graph, equal ones once, so that no loop carries a copy.

        graph = Graph("decoding")
        doubled = graph.op("Mul", "source", np.array(2, np.int32))
    """

    def __init__(self, name: str, outer: Graph | None = None, in_loop: bool = False):
        self.name = name
        self.outer = outer
        self.root: Graph = self if outer is None else outer.root
        self.beside_loop: Graph = outer.beside_loop if outer is not None and in_loop else self
        """Where the outermost of the loops stands that this is in; this graph if in none."""
        self.nodes: list[onnx.NodeProto] = []
        self.inputs: list[onnx.ValueInfoProto] = []
        self.outputs: list[onnx.ValueInfoProto] = []
        self._initializers: dict[str, onnx.TensorProto] = {}
        self._constants: dict[tuple[str, tuple[int, ...], bytes], str] = {}
        self._made: dict[str, str] = {}
        self._count = 0
        self._domains = {"": OPSET}

    # Tensors ------------------------------------------------------------------------------------

    def input(self, name: str, dtype: Any, axes: Sequence[int | str] | None = None) -> str:
        """Declare an input; axes are sizes, or names where they are open."""
        kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        self.inputs.append(helper.make_tensor_value_info(name, kind, axes))
        return name

    def default(self, name: str, values: np.ndarray) -> None:
        """The value of an input that is not given."""
        self.weight(name, values)

    def output(self, tensor: str, name: str, dtype: Any, axes: Sequence[int | str]) -> None:
        """Give out `tensor` under this name, which may be its own."""
        if tensor != name:
            self.op("Identity", tensor, name=name)
        kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        self.outputs.append(helper.make_tensor_value_info(name, kind, axes))

    def weight(self, name: str, values: np.ndarray) -> str:
        """A constant under a name of its own; the same name again is the same tensor."""
        root = self.root
        if name not in root._initializers:
            root._initializers[name] = numpy_helper.from_array(np.asarray(values, order="C"), name)
        return name

    def operand(self, name: str, values: np.ndarray) -> str:
        """A weight that a matrix product reads.

        onnxruntime lays a constant out for the product, once, when it loads the file: in a loop
        only what stands in the graph directly around it. In a branch that is a copy, made at that
        time too; the file holds the weight once.
        """
        self.weight(name, values)
        if self.beside_loop is self.root:
            return name
        return self.once(name, lambda graph: graph.op("Concat", name, axis=0), near=True)

    def constant(self, values: np.ndarray) -> str:
        """A constant without a name; equal ones are one tensor."""
        values = np.asarray(values)
        key = (values.dtype.str, values.shape, values.tobytes())
        known = self.root._constants
        if key not in known:
            known[key] = self.weight(f"constant_{len(known)}", values)
        return known[key]

    def once(self, name: str, make: Callable[[Graph], str], near: bool = False) -> str:
        """What `make` adds to the outermost graph; the same name again is the same tensor.

        Of constants alone it is a constant too: a runtime makes it when it loads the file. With
        `near` it stands beside the loop, see `operand`.
        """
        graph = self.beside_loop if near else self.root
        if name not in graph._made:
            graph._made[name] = make(graph)
        return graph._made[name]

    # Operators ----------------------------------------------------------------------------------

    def op(
        self,
        kind: str,
        *inputs: str | np.ndarray,
        name: str | None = None,
        domain: str = "",
        **attributes: Any,
    ) -> str:
        """Add an operator with one output, whose name it returns. "" leaves an input out."""
        (output,) = self.ops(kind, 1, *inputs, names=[name], domain=domain, **attributes)
        return output

    def ops(
        self,
        kind: str,
        n_outputs: int,
        *inputs: str | np.ndarray,
        names: Sequence[str | None] | None = None,
        domain: str = "",
        **attributes: Any,
    ) -> list[str]:
        """Add an operator with several outputs."""
        unique = self._unique(kind)
        given = names or [None] * n_outputs
        outputs = [
            given[i] or (unique if n_outputs == 1 else f"{unique}:{i}") for i in range(n_outputs)
        ]
        read = [x if isinstance(x, str) else self.constant(x) for x in inputs]
        node = helper.make_node(kind, read, outputs, name=unique, domain=domain, **attributes)
        self.nodes.append(node)
        if domain:
            self.root._domains[domain] = _CONTRIB_VERSION
        return outputs

    def loop(
        self,
        name: str,
        steps: str | np.ndarray,
        start: Sequence[tuple[str, Any]],
        collected: Sequence[tuple[Any, int]],
        body: Body,
    ) -> tuple[list[str], list[str]]:
        """Repeat `body` until it says stop, at most `steps` times.

        Args:
            name: of the body.
            steps: an int64 scalar.
            start: (tensor, dtype) of each that is carried from step to step.
            collected: (dtype, rank) of what is kept of every step. onnxruntime asks for the rank
                where a loop makes no step, and complains in each run if it does not know it.
            body: (graph, step number, carried) -> (go on, carried, kept).

        Returns:
            The carried tensors after the last step; the collected ones (steps, ...).
        """
        inner = Graph(name, self, in_loop=True)
        number = inner.input(self._unique(f"{name}/step"), np.int64, [])
        inner.input(self._unique(f"{name}/go_on"), np.bool_, [])
        dtypes = [dtype for _, dtype in start]
        carried = [inner.input(self._unique(f"{name}/carried"), dtype) for dtype in dtypes]
        again, after, kept = body(inner, number, carried)
        inner._give(again, np.bool_)
        for tensor, dtype in zip(after, dtypes, strict=True):
            inner._give(tensor, dtype)
        for tensor, (dtype, rank) in zip(kept, collected, strict=True):
            inner._give(tensor, dtype, [None] * rank)
        results = self.ops(
            "Loop",
            len(start) + len(collected),
            steps,
            np.array(True),
            *(tensor for tensor, _ in start),
            body=inner.proto(),
        )
        return results[: len(start)], results[len(start) :]

    def branch(
        self,
        condition: str,
        dtypes: Sequence[Any],
        then: Callable[[Graph], list[str]],
        otherwise: Callable[[Graph], list[str]],
        names: Sequence[str] | None = None,
    ) -> list[str]:
        """What one of two functions gives; each adds its operators to a graph of its own."""
        bodies = []
        for name, function in (("then", then), ("else", otherwise)):
            inner = Graph(f"{self.name}/{name}", self)
            for tensor, dtype in zip(function(inner), dtypes, strict=True):
                inner._give(tensor, dtype)
            bodies.append(inner.proto())
        return self.ops(
            "If", len(dtypes), condition, names=names, then_branch=bodies[0], else_branch=bodies[1]
        )

    def _give(self, tensor: str, dtype: Any, axes: Sequence[None] | None = None) -> None:
        """Make a tensor an output of this body; one from outside, or a second time, as a copy."""
        made_here = any(tensor in node.output for node in self.nodes)
        if not made_here or any(tensor == value.name for value in self.outputs):
            tensor = self.op("Identity", tensor)
        kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        self.outputs.append(helper.make_tensor_value_info(tensor, kind, axes))

    def _unique(self, kind: str) -> str:
        self.root._count += 1
        return f"{self.name}/{kind}_{self.root._count}"

    # The result ---------------------------------------------------------------------------------

    def proto(self) -> onnx.GraphProto:
        """The graph as it stands."""
        return helper.make_graph(
            self.nodes, self.name, self.inputs, self.outputs, list(self._initializers.values())
        )

    def model(self) -> onnx.ModelProto:
        """A model of this graph."""
        return helper.make_model(
            self.proto(),
            opset_imports=[helper.make_opsetid(*one) for one in self._domains.items()],
            ir_version=_IR_VERSION,
            producer_name="attention-zoo",
        )
