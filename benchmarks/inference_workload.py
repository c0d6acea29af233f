"""What all contenders are asked: sentences one by one, batches of them, sources of many lengths."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from inference_quality import copy_task

from attention_zoo.vocabulary import EOS, FIRST_SYMBOL, PAD

if TYPE_CHECKING:
    from attention_zoo.tokenizer import TokenizerPair

RANDOM_LENGTH = 20
"""Ids of a source where there are no sentences, eos included."""

Draw = Callable[[int], np.ndarray]


@dataclass(frozen=True)
class Workload:
    """Sources as int32 arrays (batch, T_enc).

    Attributes:
        described: in a sentence, for the report.
        singles: sentences, shortest first, each (1, T_enc).
        batches: the same sentences, some at a time, those of like length together.
        draw: length -> a source (1, length) of the same kind.
    """

    described: str
    singles: list[np.ndarray]
    batches: list[np.ndarray]
    draw: Draw


def sentence_workload(
    path: Path, tokenizers: TokenizerPair, n: int, batch_size: int, name: str | None = None
) -> Workload:
    """`n` sentences of a text file, spread evenly over its lengths.

    Args:
        path: a sentence a line; of a line with tabs what stands before the first.
        tokenizers: the source's is used.
        n: sentences; all that there are, if they are fewer.
        batch_size: of the batches.
        name: of the file, for the report.

    Raises:
        ValueError: no sentence in the file.
    """
    lines = path.read_text(encoding="utf-8").splitlines()
    texts = list(dict.fromkeys(line.partition("\t")[0].strip() for line in lines))
    texts = [text for text in texts if text]
    if not texts:
        raise ValueError(f"{path}: expected a sentence a line, got none. Fix: a text file.")
    ids = sorted(tokenizers.source.encode_batch(texts), key=len)
    rows = [ids[place] for place in np.linspace(0, len(ids) - 1, min(n, len(ids))).astype(int)]
    stream = [token for row in rows for token in row if token != EOS]
    described = (
        f"{len(rows)} sentences of {name or path.name}, {len(rows[0])} to {len(rows[-1])} pieces"
    )
    return _workload(described, rows, batch_size, lambda length: _cut(stream, length))


def random_workload(vocab_source: int, n: int, batch_size: int, seed: int = 0) -> Workload:
    """`n` sources of drawn ids, all of one length, so that each does the same work."""
    generator = np.random.default_rng(seed)

    def draw(length: int) -> np.ndarray:
        ids = generator.integers(min(FIRST_SYMBOL, vocab_source - 1), vocab_source, length)
        ids[-1] = EOS
        return ids.astype(np.int32)[None]

    rows = [draw(RANDOM_LENGTH)[0].tolist() for _ in range(n)]
    return _workload(f"{n} sources of {RANDOM_LENGTH} drawn ids", rows, batch_size, draw)


def copy_workload(config: Any, n: int, batch_size: int, seed: int = 1_000_003) -> Workload:
    """`n` sequences of the copy task of all lengths that the model writes, up to 40."""
    longest = min(40, config.max_length - 1)
    drawn = copy_task(config).sample(n, 1, longest, seed)["source"]
    rows = sorted((row[row != PAD].tolist() for row in drawn), key=len)
    stream = [token for row in rows for token in row if token != EOS]
    described = f"{n} sequences of 1 to {longest} symbols to copy"
    return _workload(described, rows, batch_size, lambda length: _cut(stream, length))


def padded(rows: Sequence[Sequence[int]]) -> np.ndarray:
    """(batch, T_enc) int32, rows padded with 0 to the longest."""
    array = np.full((len(rows), max(map(len, rows))), PAD, np.int32)
    for place, row in enumerate(rows):
        array[place, : len(row)] = row
    return array


def _workload(
    described: str, rows: Sequence[Sequence[int]], batch_size: int, draw: Draw
) -> Workload:
    """Rows, shortest first; full batches only, the rows again and again where one is not filled."""
    starts = range(0, max(1, len(rows) - len(rows) % batch_size), batch_size)
    batches = [padded([rows[i % len(rows)] for i in range(s, s + batch_size)]) for s in starts]
    return Workload(described, [padded([row]) for row in rows], batches, draw)


def _cut(stream: Sequence[int], length: int) -> np.ndarray:
    """The stream over and over until there are `length` ids, the last one eos."""
    return np.append(np.resize(stream, length - 1), EOS).astype(np.int32)[None]
