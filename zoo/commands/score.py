"""`attention-zoo score`: how likely a model finds given translations."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from attention_zoo.training.scoring import PairScore
    from attention_zoo.training.sentence_pairs import ReadPairs, SentencePair

_FILE = click.Path(dir_okay=False)
_COLUMN = click.IntRange(0)


@click.command("score", short_help="Log-probability and perplexity of given translations.")
@click.argument("model")
@click.option("--source-file", type=_FILE, help="Source sentences, one a line.")
@click.option("--target-file", type=_FILE, help="Their translations, line by line.")
@click.option("--tsv", type=_FILE, help="Pairs, one a line, separated by a tab (.gz and .zip too).")
@click.option("--source-column", type=_COLUMN, default=0, show_default=True, help="In tabbed text.")
@click.option("--target-column", type=_COLUMN, default=1, show_default=True, help="In tabbed text.")
@click.option("--reverse", is_flag=True, help="The second side is the source.")
@click.option(
    "--skip-bad", is_flag=True, help="Leave unreadable lines out and count them; no error."
)
@click.option("--batch-size", type=click.IntRange(1), default=64, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="One JSON object with all pairs.")
def command(
    model: str,
    source_file: str | None,
    target_file: str | None,
    tsv: str | None,
    source_column: int,
    target_column: int,
    reverse: bool,
    skip_bad: bool,
    batch_size: int,
    as_json: bool,
) -> None:
    """Say how likely MODEL finds given translations.

    A line a pair: the natural logarithm of the probability of the target given the source, its
    tokens (the end of the sentence is one), and the perplexity, separated by tabs. The figures of
    all pairs together go to stderr. Pairs come from two files, from a file of tab-separated text,
    or as such text from standard input.

    \b
    Examples:
      attention-zoo score runs/fr_en --tsv pairs.tsv
      attention-zoo score runs/fr_en --source-file a.fr --target-file a.en --json
      attention-zoo score runs/fr_en < pairs.tsv
    """
    if bool(source_file) != bool(target_file):
        raise click.UsageError("--source-file and --target-file go together.")
    if tsv and source_file:
        raise click.UsageError("--tsv and --source-file both name the pairs: choose one.")
    if source_file and target_file:
        from attention_zoo.training.sentence_pairs import read_aligned

        read = read_aligned(source_file, target_file, skip_bad)
    else:
        read = _read_tabbed(tsv, source_column, target_column, skip_bad)
    pairs = _reversed(read.pairs) if reverse else read.pairs
    scores = _score(model, pairs, batch_size)
    _tell_skipped(read)
    if as_json:
        click.echo(json.dumps(_content(pairs, scores, read), indent=2, ensure_ascii=False))
        return
    for score in scores:
        click.echo(f"{score.log_probability:.4f}\t{score.tokens}\t{score.perplexity:.6g}")
    total = _total(scores)
    click.echo(
        f"{total['pairs']:,} pairs, {total['tokens']:,} tokens: log-probability "
        f"{total['log_probability']:.4f}, perplexity {total['perplexity']:.6g}",
        err=True,
    )


def _read_tabbed(
    tsv: str | None, source_column: int, target_column: int, skip_bad: bool
) -> ReadPairs:
    from attention_zoo.training.sentence_pairs import read_tsv

    if tsv:
        return read_tsv(tsv, source_column, target_column, skip_bad)
    if sys.stdin.isatty():
        click.echo("Source, tab, target, one pair a line; Ctrl-D ends.", err=True)
    content = sys.stdin.buffer.read()
    return read_tsv("standard input", source_column, target_column, skip_bad, content=content)


def _reversed(pairs: Sequence[SentencePair]) -> list[SentencePair]:
    from attention_zoo.training.sentence_pairs import SentencePair

    return [SentencePair(pair.target, pair.source) for pair in pairs]


def _score(model: str, pairs: Sequence[SentencePair], batch_size: int) -> list[PairScore]:
    from attention_zoo.commands.model_source import load_source
    from attention_zoo.commands.translation_evaluation import progress_bar, tokenizers_of

    tokenizers = tokenizers_of(model)
    loaded = load_source(model)
    from attention_zoo.training.scoring import score_pairs

    with progress_bar(model) as progress:
        return score_pairs(loaded, tokenizers, pairs, batch_size=batch_size, progress=progress)


def _tell_skipped(read: ReadPairs) -> None:
    if read.skipped:
        told = ", ".join(f"{count} x {reason}" for reason, count in read.skipped.items())
        click.echo(f"Left out: {told}.", err=True)


def _total(scores: Sequence[PairScore]) -> dict[str, Any]:
    from attention_zoo.training.scoring import corpus_perplexity

    return {
        "pairs": len(scores),
        "tokens": sum(score.tokens for score in scores),
        "log_probability": sum(score.log_probability for score in scores),
        "perplexity": corpus_perplexity(scores),
    }


def _content(
    pairs: Sequence[SentencePair], scores: Sequence[PairScore], read: ReadPairs
) -> dict[str, Any]:
    return {
        "pairs": [
            {
                "source": pair.source,
                "target": pair.target,
                "log_probability": score.log_probability,
                "tokens": score.tokens,
                "perplexity": score.perplexity,
            }
            for pair, score in zip(pairs, scores, strict=True)
        ],
        "corpus": _total(scores),
        "skipped": read.skipped,
    }
