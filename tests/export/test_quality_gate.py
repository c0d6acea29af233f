"""The gate counts equal tokens and lost points, and refuses what loses more than its limit."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attention_zoo.export.errors import ExportError, QualityError
from attention_zoo.export.quality_gate import QualityGate, share_equal

SOURCES = [[7, 2], [5, 6, 9, 2], [8, 2], [4, 4, 4, 4, 4, 2]]
TOKENS = st.lists(st.lists(st.integers(0, 5), max_size=5), min_size=1, max_size=7)


def copies(sources, wrong=()):
    """What a model answers that copies, except the sequences that begin with an id of `wrong`."""
    width = max(map(len, sources)) + 3
    tokens = np.zeros((len(sources), width), np.int32)
    for row, source in zip(tokens, sources, strict=True):
        row[: len(source)] = source
        if source[0] in wrong:
            row[0] += 1
    return {"tokens": tokens, "lengths": np.array([len(source) for source in sources])}


def right_rows(tokens):
    """Percent of sequences that were copied; needs them in the order of SOURCES."""
    return 100.0 * np.mean([one == other for one, other in zip(tokens, SOURCES, strict=True)])


def gate(**options):
    return QualityGate(SOURCES, right_rows, "sequence accuracy", **options)


def test_answers_come_in_the_order_of_the_sources_whatever_the_batches():
    batches = []

    def decode(sources):
        batches.append([len(source) for source in sources])
        return copies(sources)

    report = gate().measured(decode, {"a.tflite": decode})
    assert all(lengths == sorted(lengths) for lengths in batches)
    assert report.keras == 100.0
    assert report.files == {"a.tflite": {"tokens_equal": 1.0, "score": 100.0, "lost": 0.0}}
    report.raise_if_failed()


def test_many_sources_are_run_in_batches():
    sources = [[4 + row % 5, 2] for row in range(83)]
    seen = []

    def decode(batch):
        seen.append(len(batch))
        return copies(batch)

    many = QualityGate(sources, lambda tokens: float(tokens == sources), "all right")
    assert many.measured(decode, {}).keras == 1.0
    assert sum(seen) == 83
    assert max(seen) <= 32


def test_a_loss_beyond_the_limit_is_refused_with_its_figures():
    quantised = {
        "good": copies,
        "bad": lambda sources: copies(sources, wrong=(7,)),
    }
    report = gate(data="held_out.tsv", limit=24.0).measured(copies, quantised)
    # one of four sequences; one of 14 tokens
    assert report.files["bad"]["lost"] == 25.0
    assert report.files["bad"]["tokens_equal"] == pytest.approx(13 / 14)
    assert report.failed == ["bad"]
    with pytest.raises(QualityError, match="loses more than 24 sequence accuracy") as caught:
        report.raise_if_failed()
    text = str(caught.value)
    assert "bad: sequence accuracy 75.00, 25.00 lost, 92.9% of the tokens equal" in text
    assert "good:" not in text
    assert "held_out.tsv" in text
    assert "allow_loss=True (--allow-loss)" in text
    assert isinstance(caught.value, ExportError)
    assert caught.value.report is report
    gate(limit=25.0).measured(copies, quantised).raise_if_failed()


def test_a_gain_is_no_loss():
    def wrong(sources):
        return copies(sources, wrong=(5,))

    report = gate(limit=0).measured(wrong, {"better": copies})
    assert report.files["better"]["lost"] == -25.0
    report.raise_if_failed()


def test_the_report_goes_into_json():
    report = gate(data="held_out.tsv").measured(copies, {"a": copies})
    assert json.loads(json.dumps(report.to_dict())) == {
        "measure": "sequence accuracy",
        "data": "held_out.tsv",
        "sequences": 4,
        "limit": 0.5,
        "keras": 100.0,
        "files": {"a": {"tokens_equal": 1.0, "score": 100.0, "lost": 0.0}},
    }


@pytest.mark.parametrize("limit", [-0.1, float("nan"), float("inf"), "0.5", True, None])
def test_a_limit_that_makes_no_sense(limit):
    with pytest.raises(ValueError, match=r"limit is .*expected a finite number of at least 0"):
        gate(limit=limit)


def test_no_sources():
    with pytest.raises(ValueError, match="sources is empty"):
        QualityGate([], right_rows, "BLEU")


@pytest.mark.parametrize("score", [float("nan"), float("inf")])
def test_a_score_that_is_no_number(score):
    with pytest.raises(ValueError, match=r"BLEU is .*expected a finite number"):
        QualityGate(SOURCES, lambda _: score, "BLEU").measured(copies, {})


@given(TOKENS)
def test_equal_lists_agree_wholly(tokens):
    assert share_equal(tokens, tokens) == 1.0


@given(TOKENS, st.data())
def test_the_share_is_symmetric_and_counts_positions(tokens, data):
    other = [data.draw(st.lists(st.integers(0, 5), max_size=5)) for _ in tokens]
    share = share_equal(tokens, other)
    assert share == share_equal(other, tokens)
    pairs = [
        (one[place : place + 1], two[place : place + 1])
        for one, two in zip(tokens, other, strict=True)
        for place in range(max(len(one), len(two)))
    ]
    assert share == pytest.approx(np.mean([a == b for a, b in pairs]) if pairs else 1.0)


def test_what_one_side_lacks_is_not_equal():
    assert share_equal([[5, 2]], [[5, 6, 7, 2]]) == 1 / 4
    assert share_equal([[]], [[5, 2]]) == 0.0
