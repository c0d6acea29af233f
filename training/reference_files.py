"""Test sets in line-aligned files: a file of sources, and one file or several of references."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from attention_zoo.training.sentence_pairs import read_aligned
from attention_zoo.training.translation_data import Referenced


def read_references(
    source_file: str | Path,
    target_files: Sequence[str | Path],
    *,
    reverse: bool = False,
    skip_bad: bool = False,
) -> list[Referenced]:
    """A test set, one entry a line, in the order of the files.

    Args:
        source_file: source sentences, one a line.
        target_files: references, each file aligned with `source_file`.
        reverse: translate from the one target file to the source file.
        skip_bad: leave lines out that cannot be read; with one target file only.

    Raises:
        ValueError: no target file, or several with `reverse` or `skip_bad`.
        PairFileError: as `read_aligned`; it names file and line.
    """
    if not target_files:
        raise ValueError(f"{source_file}: expected at least one file of references, got none.")
    if len(target_files) > 1 and (reverse or skip_bad):
        raise ValueError(
            f"{source_file}: {'reverse' if reverse else 'skip_bad'} needs one file of references, "
            f"got {len(target_files)}: what would be left of them would not agree. Fix: give one."
        )
    columns = [read_aligned(source_file, path, skip_bad=skip_bad).pairs for path in target_files]
    if reverse:
        return [Referenced(pair.target, (pair.source,)) for pair in columns[0]]
    return [
        Referenced(pairs[0].source, tuple(pair.target for pair in pairs))
        for pairs in zip(*columns, strict=True)
    ]
