"""Greedy search in ONNX leaves out the rows that have ended, and answers as Keras does."""

import numpy as np
import onnx
import onnxruntime

from attention_zoo.export.cases import random_sources
from attention_zoo.export.decode_functions import OUTPUTS, DecodeSettings
from attention_zoo.export.onnx_decoding import decoding_graph
from attention_zoo.export.onnx_step import DecodeStep
from attention_zoo.export.onnx_weights import Weights
from attention_zoo.vocabulary import EOS, PAD

T_DEC = 11
# two logits that are closer may change places where sums are rounded otherwise
LEAST_GAP = 1e-3


def model_of_many_endings(name, new_model):
    """One under which rows that no rounding decides end after four or more different steps."""
    for seed in range(20):
        model = new_model(name, seed)
        bias = model.output_layer.b
        drawn = bias.numpy()
        for shift in np.linspace(-3.0, 6.0, 10):
            bias.assign(drawn + shift * (np.arange(len(drawn)) == EOS))
            _, answers = decided_rows(model)
            if len(set(ended(answers))) >= 4:
                return model
    raise AssertionError(f"{name}: no such model; change the seeds or the scale of the weights")


def run(graph, source, tapped=()):
    """The answer, and tensors of the outer graph that are no outputs of it."""
    graph = onnx.ModelProto.FromString(graph.SerializeToString())
    graph.graph.output.extend(onnx.ValueInfoProto(name=name) for name in tapped)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(
        graph.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    values = session.run([*OUTPUTS, *tapped], {"source": source})
    return dict(zip(OUTPUTS, values, strict=False)), values[len(OUTPUTS) :]


def tokens_of_loops(graph):
    """The names under which the two loops give what they wrote, (steps, rows, 1)."""
    found = {}
    for node in graph.graph.node:
        if node.op_type == "Loop":
            carried = len(node.input) - 2  # besides the limit and the condition
            found[node.attribute[0].g.name] = node.output[carried]
    return found["greedy"], found["greedy_rest"]


def decided_rows(model):
    """Sources whose answers no rounding decides, of as many lengths of answers as there are."""
    generator = np.random.default_rng(3)
    sizes = generator.integers(1, 9, 61)
    sources = random_sources(generator, model.config.vocab_source, tuple(int(n) for n in sizes))
    sources[5] = PAD  # a row of nothing but padding
    answers = model.greedy(sources)
    gaps = least_gaps(model, sources, answers)
    rows = np.flatnonzero(gaps > LEAST_GAP)
    return sources[rows], {name: values[rows] for name, values in answers.items()}


def least_gaps(model, sources, answers):
    """By how much the token that was written led the next, at least, in each row."""
    states, prepared = model.start(sources)
    tokens = np.ones(len(sources), np.int32)
    least = np.full(len(sources), np.inf)
    for number in range(T_DEC):
        logits, _, states = model.decode_step(tokens, states, prepared)
        written = np.sort(np.array(logits)[:, EOS:], axis=1)
        gap = written[:, -1] - written[:, -2]
        least = np.where(number < answers["lengths"], np.minimum(least, gap), least)
        tokens = answers["tokens"][:, number].copy()
    return least


def ended(answers):
    """After how many steps each row has ended; more than T_DEC for one that never does."""
    has_eos = (answers["tokens"] == EOS).any(axis=1)
    return np.where(has_eos, answers["lengths"], T_DEC + 1)


def batches(answers):
    """Rows of every kind of batch: alone, with one or many that go on, all at once, all there are.

    In those named by what is left the second loop has something to do.
    """
    _, one_of_each = np.unique(ended(answers), return_index=True)
    first, second, third, last = one_of_each[[0, 1, 2, -1]]
    mixed = np.random.default_rng(7).permutation(len(answers["lengths"]))
    return {
        "alone, early": [first],
        "alone, late": [last],
        "all end at once": [first] * 5,
        "none ends before another": [last] * 4,
        "left: 1 of 2": [last, first],
        "left: 1 of 3": [first, last, second],
        "left: 2 of 4": [third, first, last, second],
        "left: 2 of 5": [first, last, first, third, first],
        "seven": list(mixed[:7]),
        "all": list(mixed),
    }


def test_rows_that_end_at_other_times_answer_as_in_keras(name, new_model):
    model = model_of_many_endings(name, new_model)
    graph = decoding_graph(DecodeStep(model, Weights()), DecodeSettings(T_DEC, 3, 0.7))
    names = tokens_of_loops(graph)
    sources, expected = decided_rows(model)
    for kind, rows in batches(expected).items():
        found, (of_all, of_rest) = run(graph, sources[rows], names)
        for output in OUTPUTS:
            np.testing.assert_allclose(
                found[output],
                expected[output][rows],
                rtol=1e-5,
                atol=5e-5,
                err_msg=f"{kind}: {output}",
            )
        ends = ended({key: value[rows] for key, value in expected.items()})
        steps = min(T_DEC, int(np.sort(ends)[::-1][len(rows) // 2]))
        left = int((ends > steps).sum())
        more = 0 if left == 0 else min(T_DEC, int(ends.max())) - steps
        assert of_all.shape == (steps, len(rows), 1), kind
        # of a loop without a step onnxruntime does not say how many rows it had
        assert of_rest.shape == ((more, left, 1) if more else (0, 0, 1)), kind
        assert more > 0 or not kind.startswith("left")  # or this would not see the second loop


def test_a_limit_that_comes_first_ends_both_loops(new_model):
    model = model_of_many_endings("bahdanau_gru", new_model)
    sources, expected = decided_rows(model)
    ends = ended(expected)
    rows = [int(np.argmin(ends)), int(np.argmin(ends)), int(np.argmax(ends))]
    for limit in range(1, T_DEC):
        graph = decoding_graph(DecodeStep(model, Weights()), DecodeSettings(limit, 3, 0.7))
        found, _ = run(graph, sources[rows])
        assert found["tokens"].shape == (3, limit)
        np.testing.assert_array_equal(found["tokens"], expected["tokens"][rows, :limit])
        np.testing.assert_array_equal(
            found["lengths"], np.minimum(expected["lengths"][rows], limit)
        )
