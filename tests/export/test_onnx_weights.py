"""Products in float32 and int8 against NumPy."""

import numpy as np
import onnxruntime
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from attention_zoo.export.int8_rounding import rounded_to_int8
from attention_zoo.export.onnx_blocks import Blocks
from attention_zoo.export.onnx_graph import Graph
from attention_zoo.export.onnx_weights import Embedding, Weights

D_IN, D_OUT, N, T = 37, 61, 5, 3
RANDOM = np.random.default_rng(0)
MATRIX = RANDOM.normal(size=(D_IN, D_OUT)).astype(np.float32)
BIAS = RANDOM.normal(size=D_OUT).astype(np.float32)


def run(build, **inputs):
    """What `build(graph, *names of the inputs)` gives for these arrays."""
    graph = Graph("test")
    names = [graph.input(k, v.dtype, [None] * v.ndim) for k, v in inputs.items()]
    result = build(graph, *names)
    graph.output(result, "result", np.float32, ["a", "b", "c"][: inputs["x"].ndim])
    session = onnxruntime.InferenceSession(
        graph.model().SerializeToString(), providers=["CPUExecutionProvider"]
    )
    return session.run(None, inputs)[0]


def rounded_product(x, matrix):
    """x W with W in whole numbers of 7 bits and sign, and x in 8 bits with one scale and zero."""
    whole, scales = rounded_to_int8(matrix, axis=0)
    low, high = min(0.0, float(x.min())), max(0.0, float(x.max()))
    step = (high - low) / 255
    zero = np.rint(-low / step)
    digits = np.clip(np.rint(x / step) + zero, 0, 255) - zero
    return (digits @ whole.astype(np.float64)) * step * scales


@settings(max_examples=50, deadline=None)
@given(
    arrays.arrays(
        np.float32,
        arrays.array_shapes(min_dims=2, max_dims=2, max_side=11),
        elements=st.floats(-1e6, 1e6, width=32),
    )
)
@example(np.full((1, 1), 1e-45, np.float32))
@example(np.full((3, 2), 2.6e-43, np.float32))
def test_rounding_to_int8_is_off_by_half_a_step_at_most(values):
    whole, scales = rounded_to_int8(values, axis=0)
    assert whole.dtype == np.int8
    assert np.abs(whole.astype(int)).max() <= 127
    assert (scales > 0).all()
    error = np.abs(whole * scales.astype(np.float64) - values)
    assert (error <= scales * 0.5001 + 1e-30).all()


def test_a_column_of_zeros_stays_one():
    values = MATRIX.copy()
    values[:, 3] = 0
    whole, scales = rounded_to_int8(values, axis=0)
    assert not whole[:, 3].any()
    assert scales[3] == 1


@pytest.mark.parametrize("quantize", [None, "int8"])
@pytest.mark.parametrize("kind", ["none", "bias", "more"])
@pytest.mark.parametrize("rank", [2, 3])
def test_products_of_both_kinds_are_those_of_numpy(quantize, kind, rank):
    x = RANDOM.normal(size=(N, D_IN) if rank == 2 else (N, T, D_IN)).astype(np.float32)
    more = RANDOM.normal(size=(*x.shape[:-1], D_OUT)).astype(np.float32)

    def build(graph, x, more):
        added = {"none": {}, "bias": {"bias": BIAS}, "more": {"more": more}}[kind]
        return Weights(quantize).product(graph, x, "W", MATRIX, rank=rank, **added)

    product = x @ MATRIX if quantize is None else rounded_product(x, MATRIX)
    expected = product + {"none": 0, "bias": BIAS, "more": more}[kind]
    np.testing.assert_allclose(run(build, x=x, more=more), expected, rtol=1e-4, atol=1e-4)


def test_a_small_matrix_stays_float32():
    x, small = np.ones((N, 3), np.float32), RANDOM.normal(size=(3, 7)).astype(np.float32)
    found = run(lambda graph, x: Weights("int8").product(graph, x, "W", small), x=x)
    np.testing.assert_allclose(found, x @ small, rtol=1e-6)


@pytest.mark.parametrize("shape", [(5,), (5, 3)])
def test_rows_of_an_int8_embedding(shape):
    matrix = RANDOM.normal(size=(61, 37)).astype(np.float32)
    ids = RANDOM.integers(0, 61, shape)
    embedding = Embedding(Weights("int8"), "E", matrix)
    graph = Graph("test")
    given_ids = graph.input("ids", np.int64, [None] * len(shape))
    rows = embedding.rows(graph, given_ids)
    graph.output(rows, "rows", np.float32, ["a", "b", "c"][: len(shape) + 1])
    session = onnxruntime.InferenceSession(
        graph.model().SerializeToString(), providers=["CPUExecutionProvider"]
    )
    whole, scales = rounded_to_int8(matrix, axis=1)
    expected = (whole * scales[:, None])[ids]
    np.testing.assert_allclose(session.run(None, {"ids": ids})[0], expected, rtol=1e-6)


@pytest.mark.parametrize("quantize", [None, "int8"])
def test_logits_of_a_tied_embedding(quantize):
    matrix = RANDOM.normal(size=(D_OUT, D_IN)).astype(np.float32)
    x = RANDOM.normal(size=(N, D_IN)).astype(np.float32)
    embedding = Embedding(Weights(quantize), "E", matrix)
    product = x @ matrix.T if quantize is None else rounded_product(x, matrix.T)
    found = run(lambda graph, x: embedding.logits(graph, x, BIAS), x=x)
    np.testing.assert_allclose(found, product + BIAS, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("quantize", [None, "int8"])
def test_a_stored_weight_is_float32_where_it_is_read(quantize):
    values = RANDOM.normal(size=(2, 41, 31)).astype(np.float32)

    def build(graph, x):
        return graph.op("Add", x, Weights(quantize).stored(graph, "W", values, axis=2))

    found = run(build, x=np.zeros_like(values))
    whole, scales = rounded_to_int8(values, axis=2)
    expected = values if quantize is None else whole * scales[:, :, None]
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("quantize", [None, "int8"])
@pytest.mark.parametrize("most", [0, 2**20], ids=["step by step", "a table"])
def test_rows_times_a_matrix_are_the_same_by_a_table_and_without(monkeypatch, quantize, most):
    monkeypatch.setattr("attention_zoo.export.onnx_weights._MOST_BYTES", most)
    rows = RANDOM.normal(size=(43, D_IN)).astype(np.float32)
    ids = np.array([[7], [0], [42]], np.int32)
    embedding = Embedding(Weights(quantize), "E", rows)

    def build(graph, x):
        return graph.op("Squeeze", embedding.projected(graph, x, "M", MATRIX, BIAS), np.array([1]))

    expected = rows[ids[:, 0]] @ MATRIX + BIAS
    tolerance = 1e-4 if quantize is None else 0.3  # of numbers of about 6
    np.testing.assert_allclose(run(build, x=ids), expected, atol=tolerance)


@pytest.mark.parametrize("quantize", [None, "int8"])
def test_tied_logits_come_in_blocks_too(quantize):
    size = 1087
    blocks = Blocks(size)
    rows = RANDOM.normal(size=(size, D_IN)).astype(np.float32)
    bias = RANDOM.normal(size=size).astype(np.float32)
    embedding = Embedding(Weights(quantize), "E", rows)
    x = RANDOM.normal(size=(N, D_IN)).astype(np.float32)
    plain = run(lambda graph, x: embedding.logits(graph, x, bias), x=x)
    laid_out = run(lambda graph, x: embedding.logits(graph, x, bias, blocks), x=x)
    np.testing.assert_allclose(laid_out, blocks.spread(plain, closed=True), rtol=1e-5, atol=1e-5)
