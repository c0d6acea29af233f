"""Explanations as files: a picture, the numbers, a page."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from attention_zoo.explain.alignment_page import alignment_page
from attention_zoo.explain.explanation import Explanation, Level
from attention_zoo.explain.weights_note import WEIGHTS_NOT_REASONS
from attention_zoo.written_beside import written_beside


def write_picture(
    explanation: Explanation,
    path: str | Path,
    level: Level = "words",
    note: str = WEIGHTS_NOT_REASONS,
) -> None:
    """Draw the weights as a PNG.

    Raises:
        ValueError: an answer to nothing.
    """
    from attention_zoo.explain.alignment_picture import plot_alignment  # imports matplotlib

    weights, source, target = explanation.view(level)
    plot_alignment(weights, source, target, path, title=explanation.origin.describe(), note=note)


def write_numbers(explanations: Explanation | Sequence[Explanation], path: str | Path) -> None:
    """Write `to_dict` of one explanation, or a list of several, as JSON."""
    content = (
        explanations.to_dict()
        if isinstance(explanations, Explanation)
        else [explanation.to_dict() for explanation in explanations]
    )
    with written_beside(path) as beside:
        beside.write_text(json.dumps(content, ensure_ascii=False) + "\n", encoding="utf-8")


def write_page(
    explanation: Explanation,
    path: str | Path,
    level: Level = "words",
    note: str = WEIGHTS_NOT_REASONS,
) -> None:
    """Write the page on which pointing at a target word lights the source words."""
    with written_beside(path) as beside:
        beside.write_text(alignment_page(explanation, level, note), encoding="utf-8")
