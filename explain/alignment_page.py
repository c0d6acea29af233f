"""A page on which pointing at a target word lights the source words that it was written from."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from html import escape

import numpy as np

from attention_zoo.explain.explanation import Explanation, Level
from attention_zoo.explain.page_parts import PAGE, SCRIPT, STYLE
from attention_zoo.explain.weights_note import WEIGHTS_NOT_REASONS


def alignment_page(
    explanation: Explanation, level: Level = "words", note: str = WEIGHTS_NOT_REASONS
) -> str:
    """The page as HTML: one file that asks nothing of the network.

    Pointing at a target word, or moving the keyboard's focus to it (Tab, arrow keys), lights each
    source word as strongly as it was looked at; a click keeps it lit. Words are text and weights
    attributes: no word is ever part of the script, and the page's own policy forbids every script
    but the one in it, whose hash it names.

    Args:
        explanation: an answer with its weights.
        level: words, or the pieces that the model reads and writes.
        note: the line below.
    """
    weights, source, target = explanation.view(level)
    details = [explanation.origin.describe(), f"score {explanation.score:.4f}"]
    if explanation.origin.sha256:
        details.append(f"sha256 {explanation.origin.sha256[:12]}…")
    policy = (
        f"default-src 'none'; script-src 'sha256-{_hash(SCRIPT)}'; "
        f"style-src 'sha256-{_hash(STYLE)}'; base-uri 'none'; form-action 'none'"
    )
    parts = {
        "policy": policy,
        "title": f"Attention of {explanation.origin.model}",
        "details": ", ".join(details),
        "note": note,
    }
    return PAGE.format(
        **{name: escape(text) for name, text in parts.items()},
        source=_source_words(source),
        target=_target_words(target, weights),
        style=STYLE,
        script=SCRIPT,
    )


def _source_words(words: Sequence[str]) -> str:
    return "\n".join(f'<li><bdi class="word">{_text(word)}</bdi></li>' for word in words)


def _target_words(words: Sequence[str], weights: np.ndarray) -> str:
    """Buttons, so that the keyboard and screen readers find them."""
    return "\n".join(
        f'<li><button type="button" class="word" aria-pressed="false" '
        f'data-weights="{" ".join(f"{weight:.4f}" for weight in row)}">'
        f"<bdi>{_text(word)}</bdi></button></li>"
        for word, row in zip(words, weights, strict=False)
    )


def _text(word: str) -> str:
    # neither half a character nor a NUL can stand in a file of UTF-8 text that is HTML
    clean = word.encode("utf-8", "replace").decode("utf-8").replace("\0", "\ufffd")
    return escape(clean)


def _hash(content: str) -> str:
    return base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
