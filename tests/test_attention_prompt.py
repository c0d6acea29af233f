"""The prompt for a language model says what the code says."""

import re
from pathlib import Path

import numpy as np
import pytest

from attention_zoo.layers import diagnose
from attention_zoo.layers.attention_axes import MECHANISMS, TENSORS

PROMPT = Path(__file__).resolve().parents[1] / "outputs" / "prompt-attention-shapes.md"
TEXT = PROMPT.read_text(encoding="utf-8")


def rows(heading):
    """The cells of the table under a line that begins with this heading."""
    table = TEXT[TEXT.index(heading) :].split("\n\n")
    first = next(part for part in table if part.startswith("| "))
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in first.splitlines()]


def examples():
    """(mechanism, name -> array, the answer's text) of each example."""
    blocks = re.findall(r"^```text\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    for question, answer in zip(blocks[1::2], blocks[2::2], strict=True):
        mechanism = re.search(r"mechanism: (\w+)", question)[1]
        shapes = re.findall(r"(\w+) (\([\d, ]+\))", question)
        arrays = {
            name: np.ones([int(n) for n in re.findall(r"\d+", shape)]) for name, shape in shapes
        }
        yield mechanism, arrays, answer


def test_front_matter():
    _, front, body = TEXT.split("---\n", 2)
    fields = dict(line.split(": ", 1) for line in front.splitlines())
    assert set(fields) == {"name", "description"}
    assert fields["name"] == "attention-shapes"
    assert 40 < len(fields["description"]) < 500
    assert ": " not in fields["description"]  # a plain scalar of YAML
    assert body.startswith("\n# ")


def test_the_table_of_shapes_is_that_of_the_code():
    head, _, *body = rows("## What is right")
    assert head == ["tensor", *MECHANISMS]
    shown = {mechanism: {} for mechanism in MECHANISMS}
    for name, *cells in body:
        for mechanism, cell in zip(MECHANISMS, cells, strict=True):
            if cell:
                axes = tuple(axis for axis in cell.strip("()").split(", "))
                shown[mechanism][name.strip("`")] = tuple(axis.rstrip(",") for axis in axes)
    assert shown == TENSORS


def test_every_axis_is_explained():
    _, _, *body = rows("## Words")
    explained = {name.strip("`") for name, _ in body}
    used = {
        part
        for tensors in TENSORS.values()
        for axes in tensors.values()
        for axis in axes
        for part in axis.split(" + ")
    }
    assert explained == used


@pytest.mark.parametrize("example", list(examples()), ids=lambda example: example[2].split("\n")[0])
def test_the_examples_are_diagnosed_as_the_prompt_says(example):
    mechanism, arrays, answer = example
    found = diagnose(mechanism, **arrays)
    assert f"verdict: {found.verdict}" in answer
    for axis, size in found.sizes.items():
        assert (f"{axis} = {size}" in answer) == (size is not None)
    for finding in [*found.findings, *(f for candidate in found.candidates for f in candidate)]:
        assert f"{finding.tensor}, shape {finding.actual}, expected" in answer
        expected = str(finding.expected).replace("None", "?")
        assert f"({', '.join(finding.axes)}) = {expected}" in answer
    for fix in found.fixes:
        assert f"fix: {fix}" in answer
