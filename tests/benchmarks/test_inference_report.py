"""The Markdown text of the inference benchmark."""

import re

import pytest
from inference_growth import Growth
from inference_report import Results, report
from inference_targets import Target
from operator_cost import Cost

ROW = {
    "contender": "onnx",
    "format": "ONNX",
    "weights": "int8",
    "bytes": 2_760_000,
    "batch": 7,
    "peak_bytes": 91_400_000,
    "quality": 51.234,
    "equal_tokens": 98.76,
    "step_bytes": 1_650_000,
    "bytes_per_second": 11e9,
    "floor_us": 150.0,
    "times_floor": 1.25,
}
for name, value in {
    "cold_s": 0.3,
    "ms": 2.0,
    "ms_two_threads": 1.5,
    "sentences_per_second": 900,
    "us_per_token": 187.5,
}.items():
    ROW |= {name: value, f"{name}_q1": value * 0.9, f"{name}_q3": value * 1.1}


@pytest.fixture
def results():
    return Results(
        "tiny", "3 sentences", 9, 5, ("BLEU", "BLEU: 13 sources."), "2 cores.", rows=[ROW]
    )


def cells(text, start):
    (line,) = [line for line in text.splitlines() if line.startswith(start)]
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_a_row_has_its_figures_and_spreads(results):
    text = report(results)
    assert cells(text, "| ONNX") == [
        *("ONNX", "int8", "2.76", "0.30 (0.27 to 0.33)", "91", "2.00 (1.80 to 2.20)"),
        *("1.50 (1.35 to 1.65)", "900 (810 to 990)", "188 (169 to 206)", "51.23", "98.8%"),
        *("150", "1.2x"),
    ]
    assert "at batch 7" in text
    assert "1.65 MB in int8" in text
    assert "11.0 GB/s" in text
    assert "## " not in text


def test_without_a_test_set_there_is_no_column(results):
    results.quality = ("", "No BLEU: no test set was given (--evaluate).")
    text = report(results)
    assert len(cells(text, "| ONNX")) == 12
    assert "No BLEU" in text


def test_every_section_is_there_when_it_was_measured(results):
    results.left_out = {"plain": "tf2onnx is not installed"}
    results.targets = [Target("speed", 2.0, (2.5, 2.0, 3.0))]
    costs = [Cost(f"Op{number}", 1.0, 20.0 - number, 0.1) for number in range(11)]
    results.profiles = {"ONNX, int8": costs}
    results.growth = [Growth("onnx", n, n / 10, 9, n * 1_000_000) for n in (10, 2000)]
    text = report(results)
    assert "plain: left out, tf2onnx is not installed" in text
    assert cells(text, "| speed") == ["speed", "at least 2x", "2.50x", "2.25x to 2.75x", "yes"]
    assert cells(text, "| ONNX int8") == ["ONNX int8", "1.0 / 10", "200.0 / 2000"]
    assert "ONNX, int8, 165 µs a token under the profiler:" in text
    assert cells(text, "| 3 others") == ["3 others", "3.0", "33.0", "30.0%"]
    headings = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert headings == ["To reach", "Where the time goes", "Growth with the source"]
