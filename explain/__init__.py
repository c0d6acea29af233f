"""Attention looked at: pictures, alignments as a figure, and the checks that make them evidence."""

from typing import TYPE_CHECKING

from attention_zoo.lazy_package import lazy_package

if TYPE_CHECKING:  # what type checkers and editors see; at run time NAMES decides
    from attention_zoo.explain.alignment_error import AlignmentError as AlignmentError
    from attention_zoo.explain.alignment_files import write_numbers as write_numbers
    from attention_zoo.explain.alignment_files import write_page as write_page
    from attention_zoo.explain.alignment_files import write_picture as write_picture
    from attention_zoo.explain.alignment_picture import plot_alignment as plot_alignment
    from attention_zoo.explain.check_report import write_check as write_check
    from attention_zoo.explain.check_seeds import SeedSpread as SeedSpread
    from attention_zoo.explain.check_seeds import seed_spread as seed_spread
    from attention_zoo.explain.checks import CheckReport as CheckReport
    from attention_zoo.explain.checks import check_sentence as check_sentence
    from attention_zoo.explain.copy_alignment import (
        copy_alignment_accuracy as copy_alignment_accuracy,
    )
    from attention_zoo.explain.copy_alignment import diagonal_accuracy as diagonal_accuracy
    from attention_zoo.explain.explanation import Explanation as Explanation
    from attention_zoo.explain.explanation import Origin as Origin
    from attention_zoo.explain.forced_alignment import forced_alignments as forced_alignments
    from attention_zoo.explain.gold_links import GoldLinks as GoldLinks
    from attention_zoo.explain.gold_links import read_gold as read_gold
    from attention_zoo.explain.pair_alignment import align_pairs as align_pairs
    from attention_zoo.explain.word_links import format_links as format_links
    from attention_zoo.explain.word_links import links_by_argmax as links_by_argmax
    from attention_zoo.explain.word_links import links_by_threshold as links_by_threshold
    from attention_zoo.explain.word_merging import merge_pieces as merge_pieces
    from attention_zoo.explain.word_merging import words_of as words_of

NAMES = {
    "AlignmentError": "alignment_error",
    "CheckReport": "checks",
    "Explanation": "explanation",
    "GoldLinks": "gold_links",
    "Origin": "explanation",
    "SeedSpread": "check_seeds",
    "align_pairs": "pair_alignment",
    "check_sentence": "checks",
    "copy_alignment_accuracy": "copy_alignment",
    "diagonal_accuracy": "copy_alignment",
    "forced_alignments": "forced_alignment",
    "format_links": "word_links",
    "links_by_argmax": "word_links",
    "links_by_threshold": "word_links",
    "merge_pieces": "word_merging",
    "plot_alignment": "alignment_picture",
    "read_gold": "gold_links",
    "seed_spread": "check_seeds",
    "words_of": "word_merging",
    "write_check": "check_report",
    "write_numbers": "alignment_files",
    "write_page": "alignment_files",
    "write_picture": "alignment_files",
}

__getattr__, __dir__ = lazy_package(__name__, NAMES)
__all__ = list(NAMES)
