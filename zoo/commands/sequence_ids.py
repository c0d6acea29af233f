"""Sequences of ids as a user writes and reads them."""

from __future__ import annotations

import re
from collections.abc import Iterable

from attention_zoo.vocabulary import EOS, PAD


def parse_ids(text: str, origin: str) -> list[int]:
    """Ids from text, separated by spaces or commas.

    Raises ValueError, which begins with `origin`, if there is none or one is not a whole number.
    """
    words = [word for word in re.split(r"[\s,\ufeff]+", text) if word]  # \ufeff: a BOM
    if not words:
        raise ValueError(f"{origin}: expected ids such as `7 4 9`, got nothing.")
    # isdecimal would take other scripts' digits, and int signs and underscores
    wrong = [word for word in words if not re.fullmatch(r"[0-9]+", word)]
    if wrong:
        raise ValueError(
            f"{origin}: expected ids, whole numbers from 0, separated by spaces or commas, "
            f"got {', '.join(map(repr, wrong))}."
        )
    return [int(word) for word in words]


def refuse_padding(ids: list[int], origin: str) -> list[int]:
    """The ids, if none is padding, whose steps the model would not look at.

    Raises ValueError, which begins with `origin`.
    """
    if PAD in ids:
        raise ValueError(
            f"{origin}: id {PAD} is padding, which no model looks at; expected ids from 1. Fix: "
            f"leave {PAD} out."
        )
    return ids


def with_eos(ids: list[int]) -> list[int]:
    """The ids, ended by eos as the sources of training are, once."""
    return ids if ids and ids[-1] == EOS else [*ids, EOS]


def without_eos(tokens: Iterable[int], length: int) -> list[int]:
    """The tokens of an answer as a list: `length` of them, less the eos that ends them."""
    ids = [int(token) for token in tokens][:length]
    return ids[:-1] if ids and ids[-1] == EOS else ids


def id_labels(ids: Iterable[int]) -> list[str]:
    """Each id as a label of a picture, eos as `</s>`."""
    return ["</s>" if number == EOS else str(int(number)) for number in ids]
