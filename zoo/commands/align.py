"""`attention-zoo align`: which words of given translations belong together."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    import numpy as np

    from attention_zoo.explain.word_links import Convention

_FILE = click.Path(dir_okay=False)
_COLUMN = click.IntRange(0)


@click.command("align", short_help="Word alignments of given translations, by attention.")
@click.argument("model")
@click.option("--source-file", type=_FILE, help="Source sentences, one a line.")
@click.option("--target-file", type=_FILE, help="Their translations, line by line.")
@click.option("--tsv", type=_FILE, help="Pairs, one a line, separated by a tab (.gz and .zip too).")
@click.option("--bitext", type=_FILE, help="Pairs, one a line, as `source ||| target`.")
@click.option("--source-column", type=_COLUMN, default=0, show_default=True, help="In tabbed text.")
@click.option("--target-column", type=_COLUMN, default=1, show_default=True, help="In tabbed text.")
@click.option("--reverse", is_flag=True, help="The second side is the source.")
@click.option(
    "--words",
    "split_on_spaces",
    is_flag=True,
    help="Words are what stands between spaces, as in tokenised text.  [default: as `explain` "
    "merges pieces: the same, but scripts without spaces keep their pieces]",
)
@click.option(
    "--threshold",
    type=click.FloatRange(0, 1, min_open=True),
    help="Link all pairs of words with a weight of at least this.  [default: each target word to "
    "the source word it looks at most]",
)
@click.option(
    "--convention",
    type=click.Choice(["current", "next"]),
    default="current",
    show_default=True,
    help="A word is linked by the weights of the step that writes it, or of the one that reads it.",
)
@click.option("--batch-size", type=click.IntRange(1), default=64, show_default=True)
def command(
    model: str,
    source_file: str | None,
    target_file: str | None,
    tsv: str | None,
    bitext: str | None,
    source_column: int,
    target_column: int,
    reverse: bool,
    split_on_spaces: bool,
    threshold: float | None,
    convention: Convention,
    batch_size: int,
) -> None:
    """Align the words of given translations by the attention of MODEL.

    A line for each pair: links `i-j` from 0, source word i to target word j. A pair with an empty
    side has an empty line. The model is made to write the target, in Keras; weights of the pieces
    of a source word are added, those of a target word averaged. Pairs come from two files, from a
    file of tab-separated text, from a bitext, or as tab-separated text from standard input.

    \b
    Examples:
      attention-zoo align bahdanau_gru.fr_en --source-file a.fr --target-file a.en
      attention-zoo align luong_general_gru.fr_en --tsv pairs.tsv --words --threshold 0.3
      attention-zoo align runs/fr_en --bitext en-fr.txt --reverse --words
    """
    from attention_zoo.commands.pair_options import read_every_pair
    from attention_zoo.explain.word_links import format_links, links_by_argmax, links_by_threshold

    if threshold is not None and math.isnan(threshold):  # which click's range lets pass
        raise click.UsageError("--threshold: expected a number above 0 and up to 1, got nan.")
    columns = (source_column, target_column)
    pairs = read_every_pair(source_file, target_file, tsv, bitext, columns, reverse)
    for weights in aligned(model, pairs, split_on_spaces, convention, batch_size):
        links = (
            links_by_argmax(weights)
            if threshold is None
            else links_by_threshold(weights, threshold)
        )
        click.echo(format_links(links))


def aligned(
    model: str,
    pairs: list[tuple[str, str]],
    split_on_spaces: bool,
    convention: Convention,
    batch_size: int,
) -> list[np.ndarray]:
    """The weights between the words of each pair, by a MODEL argument."""
    from attention_zoo.commands.model_source import load_source
    from attention_zoo.commands.translation_evaluation import progress_bar, tokenizers_of

    tokenizers = tokenizers_of(model)
    loaded = load_source(model)
    from attention_zoo.explain.pair_alignment import align_pairs
    from attention_zoo.training.corpus_translation import check_vocabularies

    check_vocabularies(loaded, tokenizers)
    with progress_bar(model) as progress:
        return align_pairs(
            loaded,
            tokenizers,
            pairs,
            split_on_spaces=split_on_spaces,
            convention=convention,
            batch_size=batch_size,
            progress=progress,
        )
