"""The report as files."""

import json
import re

import matplotlib.image
import numpy as np
import pytest

from attention_zoo.explain import CheckReport, SeedSpread, check_sentence, write_check
from attention_zoo.explain.check_adversarial import Adversarial
from attention_zoo.explain.check_agreement import agreement
from attention_zoo.explain.check_permutation import Permutation
from attention_zoo.explain.check_picture import plot_check
from attention_zoo.explain.check_report import markdown
from attention_zoo.explain.check_uniform import Uniform
from attention_zoo.explain.check_verdict import judge

LABELS = {
    "source_labels": ["|a|", "`b`", "שלום", "$c$", "</s>"],
    "target_labels": ["x", "", "a very long label of a token", "\n", "|", "&<b>", "</s>"],
}


@pytest.fixture(scope="module")
def report(shared_small_model, sentence):
    model = shared_small_model("bahdanau_gru")
    return check_sentence(model, **sentence, **LABELS, permutations=7, others=[model])


def test_three_files_are_written(report, tmp_path):
    paths = write_check(report, tmp_path)
    assert sorted(tmp_path.iterdir()) == sorted(paths)
    assert [path.name for path in paths] == ["check.md", "check.json", "check.png"]
    assert paths[0].read_text(encoding="utf-8") == markdown(report)
    assert json.loads(paths[1].read_text(encoding="utf-8")) == report.to_dict()
    height, width, _ = matplotlib.image.imread(paths[2]).shape
    assert width > height > 200


def test_the_text_says_verdict_criteria_and_every_step(report):
    text = markdown(report)
    assert report.verdict in text
    for criterion in report.judgement.criteria:
        assert criterion.found in text
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert len(rows) == (2 + 4) + (2 + 7)
    for t, row in enumerate(rows[-7:]):
        assert f"| {report.permutation.median[t]:.2f} (" in row


def test_no_token_breaks_a_table(report):
    for line in markdown(report).splitlines():
        if line.startswith("|"):
            assert len(re.findall(r"(?<!\\)\|", line)) in (5, 9), line


def test_a_step_without_a_tau_has_a_dash_and_is_counted(shared_small_model):
    report = check_sentence(shared_small_model("bahdanau_gru"), [5, 2], [4, 6, 9, 2])
    text = markdown(report)
    assert "4 of 4 steps have no tau" in text
    assert "mean tau -" in text
    assert text.splitlines()[-1]
    assert "**Undecided.**" in text
    assert "At no step do the weights meet the thresholds" in text


def drawn_report(n_source, n_target):
    """A report of any size, its numbers drawn."""
    generator = np.random.default_rng(0)
    shares = tuple(generator.uniform(size=n_target).tolist())
    weights = generator.dirichlet(np.ones(n_source), size=n_target)
    found = {
        "permutation": Permutation(9, shares, tuple(np.multiply(shares, 0.5)), shares),
        "leave_one_out": agreement(weights, generator.uniform(size=weights.shape)),
        "adversarial": Adversarial(weights, shares, (0.0,) * n_target, (0.69,) * n_target),
        "uniform": Uniform(shares, (True,) * n_target),
    }
    return CheckReport(
        name="drawn",
        source=tuple(f"source{i}" for i in range(n_source)),
        target=tuple(f"target{t}" for t in range(n_target)),
        weights=weights,
        drop_from_attention=found["leave_one_out"],
        gradient=agreement(weights, weights),
        seeds=SeedSpread(3, shares, shares),
        seed=0,
        judgement=judge("drawn", n_source, **found),
        **found,
    )


@pytest.mark.parametrize(("n_source", "n_target"), [(1, 1), (2, 31), (61, 3), (59, 61)])
def test_pictures_of_any_shape(n_source, n_target, tmp_path):
    plot_check(drawn_report(n_source, n_target), tmp_path / "check.png")
    height, width, _ = matplotlib.image.imread(tmp_path / "check.png").shape
    assert min(height, width) > 200
    assert max(height, width) < 6000
