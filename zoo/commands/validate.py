"""`attention-zoo validate`: proves again that exported files answer as Keras does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from attention_zoo.commands.quiet_import import import_tensorflow

if TYPE_CHECKING:
    from attention_zoo.export.validation import Report


@click.command("validate", short_help="Check exported files against Keras again.")
@click.argument("directory")
def command(directory: str) -> None:
    """Check the files in DIRECTORY (or of a preset): their bytes, and their answers against Keras.

    Ends with exit code 2 if a file changed since it was exported, or answers otherwise.

    \b
    Examples:
      attention-zoo validate exported/copy
      attention-zoo validate bahdanau_gru.copy
    """
    from attention_zoo.commands.model_source import source_folder
    from attention_zoo.manifest import read_manifest

    folder = source_folder(directory)
    read_manifest(folder)  # a folder that was never exported is told before TensorFlow loads
    import_tensorflow()
    from attention_zoo.export import validate_directory

    show(f"{directory}: as Keras answers", validate_directory(folder))


def show(title: str, report: Report) -> None:
    """Print what was compared, a row for each signature of each file."""
    from attention_zoo.commands.table import print_table

    rows = [
        (found.file, found.signature, found.rows, *parity_cells([found.summary()]))
        for found in report.comparisons
    ]
    columns = ("file", "signature", "sequences", "tokens equal", "largest difference")
    print_table(title, columns, rows)
    if report.agreements:
        counted = [
            (found.file, found.signature, found.rows, f"{found.tokens_equal:.1%}")
            for found in report.agreements
        ]
        print_table("Quantised: sound, and so many tokens as Keras writes", columns[:4], counted)


def parity_cells(summaries: list[dict[str, Any]]) -> tuple[str, str]:
    """Whether tokens are equal, and the largest difference of scores and alignments, in words.

    A summary is what the manifest keeps of one signature; a file has one or more.
    """
    ties = sum(len(summary["near_ties"]) for summary in summaries)
    equal = all(summary["tokens_equal"] for summary in summaries)
    words = "yes" if equal else f"{ties} near-ties" if ties else "no"
    largest = max(
        (value for summary in summaries for value in summary["largest_difference"].values()),
        default=0.0,
    )
    return words, f"{largest:.1e}"
