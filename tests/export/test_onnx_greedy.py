"""Greedy search in ONNX leaves out the rows that have ended, and answers as Keras does."""

import json
from pathlib import Path

import numpy as np
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


class Decoded:
    """A graph in onnxruntime, whose profile tells which steps were made, and of how many rows."""

    def __init__(self, graph, folder):
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        options.enable_profiling = True
        options.profile_file_prefix = str(folder / "profile")
        self.session = onnxruntime.InferenceSession(
            graph.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )

    def run(self, source):
        return dict(zip(OUTPUTS, self.session.run(OUTPUTS, {"source": source}), strict=True))

    def steps(self):
        """Of all runs: (name of the loop, rows) of each step; every step has one LogSoftmax."""
        events = json.loads(Path(self.session.end_profiling()).read_text(encoding="utf-8"))
        made = []
        for event in events:
            loop, _, kind = event["name"].partition("/")
            if kind.startswith("LogSoftmax") and kind.endswith("kernel_time"):
                (shape,) = event["args"]["output_type_shape"][0].values()
                made.append((loop, shape[0]))
        return made


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


def test_rows_that_end_at_other_times_answer_as_in_keras(name, new_model, tmp_path):
    model = model_of_many_endings(name, new_model)
    graph = decoding_graph(DecodeStep(model, Weights()), DecodeSettings(T_DEC, 3, 0.7))
    decoded = Decoded(graph, tmp_path)
    sources, expected = decided_rows(model)
    steps = []
    for kind, rows in batches(expected).items():
        found = decoded.run(sources[rows])
        for output in OUTPUTS:
            np.testing.assert_allclose(
                found[output],
                expected[output][rows],
                rtol=1e-5,
                atol=5e-5,
                err_msg=f"{kind}: {output}",
            )
        ends = ended({key: value[rows] for key, value in expected.items()})
        first = min(T_DEC, int(np.sort(ends)[::-1][len(rows) // 2]))
        left = int((ends > first).sum())
        second = 0 if left == 0 else min(T_DEC, int(ends.max())) - first
        assert second > 0 or not kind.startswith("left")  # or this would not see the second loop
        steps += [("greedy", len(rows))] * first + [("greedy_rest", left)] * second
    assert decoded.steps() == steps


def test_a_limit_that_comes_first_ends_both_loops(new_model, tmp_path):
    model = model_of_many_endings("bahdanau_gru", new_model)
    sources, expected = decided_rows(model)
    ends = ended(expected)
    rows = [int(np.argmin(ends)), int(np.argmin(ends)), int(np.argmax(ends))]
    for limit in range(1, T_DEC):
        graph = decoding_graph(DecodeStep(model, Weights()), DecodeSettings(limit, 3, 0.7))
        found = Decoded(graph, tmp_path).run(sources[rows])
        assert found["tokens"].shape == (3, limit)
        np.testing.assert_array_equal(found["tokens"], expected["tokens"][rows, :limit])
        np.testing.assert_array_equal(
            found["lengths"], np.minimum(expected["lengths"][rows], limit)
        )
