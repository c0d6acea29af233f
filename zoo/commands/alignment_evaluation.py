"""What `attention-zoo evaluate --alignments` does: word alignments against those of people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from attention_zoo.explain.alignment_error import AlignmentError
    from attention_zoo.explain.gold_links import GoldLinks

_RANDOM_DRAWS = 20
_DIAGONAL, _RANDOM = "diagonal", "random"


@dataclass(frozen=True)
class GoldPairs:
    """Pairs of tokenised sentences with gold alignments, as (source, target) of the models."""

    name: str
    pairs: list[tuple[str, str]]
    gold: list[GoldLinks]


@dataclass(frozen=True)
class Measured:
    """The error of one way to link; thresholds where there were any to choose."""

    model: str
    convention: str
    links: str
    error: AlignmentError
    thresholds: tuple[float, float] | None = None


def gold_pairs(
    gold_file: Path,
    bitext: str | None,
    test: tuple[str | None, Sequence[str]],
    reverse: bool,
    limit: int | None,
) -> GoldPairs:
    """Read the pairs and their gold alignments, the first `limit` of them.

    Args:
        gold_file: a line a pair, see `read_gold`.
        bitext: the pairs as `source ||| target`.
        test: or source sentences in one file and target sentences in another.
        reverse: the second side is the source.

    Raises:
        click.UsageError: pairs in no place or in two.
        ValueError: files that cannot be read or do not belong together.
    """
    from attention_zoo.commands.pair_options import read_every_pair
    from attention_zoo.explain.gold_links import read_gold

    source, targets = test
    if len(targets) > 1 or bool(bitext) == bool(source):
        raise click.UsageError(
            "--alignments needs the pairs that were aligned: name them by --bitext, or by "
            "--test-source and one --test-target."
        )
    pairs = read_every_pair(source, targets[0] if targets else None, None, bitext)
    sizes = [(len(first.split()), len(second.split())) for first, second in pairs]
    gold = read_gold(gold_file, sizes, reverse=reverse)
    if reverse:
        pairs = [(second, first) for first, second in pairs]
    return GoldPairs(gold_file.name, pairs[:limit], gold[:limit])


def measure(model: str, data: GoldPairs, batch_size: int) -> list[Measured]:
    """The errors of a MODEL argument, by either convention, by argmax and by threshold."""
    from attention_zoo.commands.align import aligned
    from attention_zoo.explain.alignment_error import alignment_error, links_by_other_half
    from attention_zoo.explain.word_links import CONVENTIONS, links_by_argmax

    measured = []
    for convention in CONVENTIONS:
        weights = aligned(model, data.pairs, True, convention, batch_size)
        error = alignment_error([links_by_argmax(row) for row in weights], data.gold)
        measured.append(Measured(model, convention, "argmax", error))
        if len(data.pairs) > 1:  # one half chooses for the other
            links, thresholds = links_by_other_half(weights, data.gold)
            error = alignment_error(links, data.gold)
            measured.append(Measured(model, convention, "threshold", error, thresholds))
    return measured


def baselines(data: GoldPairs) -> list[Measured]:
    """What links give that know nothing of the words: the diagonal, and random ones."""
    import numpy as np

    from attention_zoo.explain.alignment_error import (
        alignment_error,
        diagonal_links,
        random_links,
    )

    sizes = [(len(source.split()), len(target.split())) for source, target in data.pairs]
    generator = np.random.default_rng(0)
    # each draw counts as a set of pairs of its own, so that the figure is one of many links
    drawn = [random_links(*size, generator) for _ in range(_RANDOM_DRAWS) for size in sizes]
    links = {
        _DIAGONAL: alignment_error([diagonal_links(*size) for size in sizes], data.gold),
        _RANDOM: alignment_error(drawn, data.gold * _RANDOM_DRAWS),
    }
    return [Measured("-", "-", name, error) for name, error in links.items()]


def show(measured: Sequence[Measured], data: GoldPairs) -> None:
    """Print precision, recall and AER of all ways to link."""
    from attention_zoo.commands.table import print_table

    rows = [
        (
            one.model,
            one.convention,
            _name(one),
            f"{one.error.precision:.1f}",
            f"{one.error.recall:.1f}",
            f"{one.error.aer:.1f}",
        )
        for one in measured
    ]
    columns = ("model", "convention", "links", "precision", "recall", "AER")
    print_table(f"{data.name}: {len(data.pairs)} pairs", columns, rows)
    if any(one.thresholds for one in measured):
        click.echo(
            "threshold a/b: a on pairs 1, 3, 5, ... and b on the others, each the best on the "
            "pairs it is not used on."
        )


def content(measured: Sequence[Measured], data: GoldPairs) -> dict[str, Any]:
    """Everything measured, as JSON: model -> convention -> links -> figures."""
    models: dict[str, dict[str, dict[str, Any]]] = {}
    others: dict[str, Mapping[str, float]] = {}
    for one in measured:
        if one.links in (_DIAGONAL, _RANDOM):
            others[one.links] = one.error.to_dict()
            continue
        figures: dict[str, Any] = one.error.to_dict()
        if one.thresholds:
            figures["thresholds"] = list(one.thresholds)
        models.setdefault(one.model, {}).setdefault(one.convention, {})[one.links] = figures
    return {
        "gold": data.name,
        "pairs": len(data.pairs),
        "models": models,
        "without_a_model": others,
    }


def _name(one: Measured) -> str:
    if one.thresholds is None:
        return one.links
    return f"threshold {one.thresholds[0]:g}/{one.thresholds[1]:g}"
