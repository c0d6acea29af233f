"""Constants, loops and branches of a graph under construction, run by onnxruntime."""

import numpy as np
import onnx
import onnxruntime

from attention_zoo.export.onnx_graph import Graph, ints


def run(graph, **inputs):
    model = graph.model()
    onnx.checker.check_model(model)
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    return session.run(None, inputs)


def powers(graph, limit):
    """2, 4, 8, ... while they are below `limit`, 7 at most: the last one and all of them."""

    def body(inner, _, carried):
        doubled = inner.op("Mul", carried[0], np.array(2))
        return inner.op("Less", doubled, limit), [doubled], [doubled]

    start = [(graph.op("Identity", np.array(1)), np.int64)]
    (last,), (all_of_them,) = graph.loop("powers", np.array(7), start, [(np.int64, 0)], body)
    graph.output(last, "last", np.int64, [])
    graph.output(all_of_them, "all", np.int64, ["steps"])


def test_a_loop_ends_when_its_body_says_so_or_after_its_steps():
    graph = Graph("test")
    powers(graph, graph.input("limit", np.int64, []))
    assert [x.tolist() for x in run(graph, limit=np.array(10))] == [16, [2, 4, 8, 16]]
    last, all_of_them = run(graph, limit=np.array(10**9))
    assert (last, all_of_them.tolist()) == (128, [2, 4, 8, 16, 32, 64, 128])


def test_equal_constants_are_one_tensor_and_scalars_stay_scalars():
    graph = Graph("test")
    assert graph.constant(np.array(3)) == graph.constant(np.array(3))
    names = {graph.constant(x) for x in (np.array(3), ints(3), np.array(3, np.int32))}
    assert len(names) == 3
    shapes = [tuple(one.dims) for one in graph.proto().initializer]
    assert sorted(shapes) == [(), (), (1,)]


def test_a_constant_of_a_body_stands_in_the_outermost_graph():
    graph = Graph("test")
    powers(graph, graph.input("limit", np.int64, []))
    (loop,) = (node for node in graph.proto().node if node.op_type == "Loop")
    assert not loop.attribute[0].g.initializer


def test_a_branch_gives_what_its_side_gives_also_a_tensor_from_outside():
    graph = Graph("test")
    x, which = graph.input("x", np.float32, [2]), graph.input("which", np.bool_, [])
    results = graph.branch(
        which,
        [np.float32, np.float32],
        lambda inner: [inner.op("Neg", x), x],
        lambda inner: [x, x],  # twice the same, and not made here
    )
    for name, result in zip("ab", results, strict=True):
        graph.output(result, name, np.float32, [2])
    x = np.array([3, 5], np.float32)
    assert [r.tolist() for r in run(graph, x=x, which=np.array(True))] == [[-3, -5], [3, 5]]
    assert [r.tolist() for r in run(graph, x=x, which=np.array(False))] == [[3, 5], [3, 5]]


def test_an_input_with_a_default_need_not_be_given():
    graph = Graph("test")
    graph.input("x", np.float32, [2])
    graph.default("x", np.array([7, 11], np.float32))
    graph.output(graph.op("Neg", "x"), "y", np.float32, [2])
    assert run(graph)[0].tolist() == [-7, -11]
    assert run(graph, x=np.array([1, 2], np.float32))[0].tolist() == [-1, -2]


def test_only_the_domains_in_use_are_named():
    graph = Graph("test")
    x = graph.input("x", np.float32, [2])
    graph.output(graph.op("Neg", x), "y", np.float32, [2])
    assert [one.domain for one in graph.model().opset_import] == [""]
