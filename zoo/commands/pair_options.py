"""Options that name sentence pairs to work on line by line, and their reading."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from attention_zoo.training.sentence_pairs import ReadPairs

BARS = "|||"
"""What stands between the sides in files for word aligners, with a space before and behind."""


def read_every_pair(
    source_file: str | None,
    target_file: str | None,
    tsv: str | None,
    bitext: str | None,
    columns: tuple[int, int] = (0, 1),
    reverse: bool = False,
) -> list[tuple[str, str]]:
    """A pair for every line, empty ones included, from the one place that the options name.

    Without files, tab-separated text is read from standard input.

    Raises:
        click.UsageError: two places, or half of one.
        ValueError: a line that is no pair.
    """
    from attention_zoo.training.sentence_pairs import read_aligned, read_tsv

    if bool(source_file) != bool(target_file):
        raise click.UsageError("--source-file and --target-file go together.")
    named = [name for name in (source_file, tsv, bitext) if name]
    if len(named) > 1:
        raise click.UsageError("--source-file, --tsv and --bitext all name the pairs: choose one.")
    if source_file and target_file:
        read = read_aligned(source_file, target_file, keep_empty=True)
    elif bitext:
        read = read_tsv(bitext, separator=BARS, keep_empty=True)
    elif tsv:
        read = read_tsv(tsv, *columns, keep_empty=True)
    else:
        read = _read_standard_input(columns)
    pairs = [(pair.source, pair.target) for pair in read.pairs]
    return [(target, source) for source, target in pairs] if reverse else pairs


def _read_standard_input(columns: tuple[int, int]) -> ReadPairs:
    from attention_zoo.training.sentence_pairs import read_tsv

    if sys.stdin.isatty():
        click.echo("Source, tab, target, one pair a line; Ctrl-D ends.", err=True)
    content = sys.stdin.buffer.read()
    return read_tsv("standard input", *columns, content=content, keep_empty=True)
