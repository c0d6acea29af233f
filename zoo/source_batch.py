"""Turns what a caller hands in as `source` into a checked int32 array (batch, T_enc).

An exported file checks nothing: the TFLite converter drops asserts, and an id outside the
vocabulary reads other memory or gives zeros without a word. So the check stands here, before the
file runs. NumPy only.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from attention_zoo.layers.shapes import check_axes
from attention_zoo.vocabulary import PAD

_AXES = ("batch", "T_enc")
_BEYOND_INT32 = 2**31
_RANK_FIX = "pass one row of ids a sequence; a single sequence is [[5, 9, 2]]."
_IDS_FIX = "turn the text into ids with the vocabulary that the model was trained with."


def source_batch(source: Any, vocab_source: int | None, owner: str) -> np.ndarray:
    """The checked source, int32 (batch, T_enc), rows padded with 0 to the longest.

    An int32 array that stands in memory as it is read comes back itself, not as a copy.

    Args:
        source: an integer array (batch, T_enc), or a list of lists of ids of any lengths.
        vocab_source: ids must be below it; None checks only that they fit int32.
        owner: whose input it is, for the error.

    Raises:
        ValueError: not integers, another rank than 2, no row, no position, or an id that is
            negative or not below `vocab_source`. The message names the tensor, what was expected,
            what came, and the fix.
    """
    limit = _BEYOND_INT32 if vocab_source is None else min(vocab_source, _BEYOND_INT32)
    is_list = isinstance(source, (list, tuple))
    if is_list:
        array = _padded(_rows(source, limit, owner))
    else:
        try:
            array = np.asarray(source)
        except ValueError:
            raise ValueError(
                f"{owner}: source is a {type(source).__name__} of rows of different lengths; "
                "expected an array (batch, T_enc), or a list of lists of ids. Fix: list(source)."
            ) from None
        array = _integers(array, owner, "")
    if array.ndim != len(_AXES) or not array.size:
        check_axes(
            owner,
            {"source": (array.shape, _AXES)},
            fixes={"source": _RANK_FIX},
            at_least_one=_AXES,
        )
    if not is_list:  # the rows of a list were checked one by one
        _check_range(array, limit, owner)
    return np.ascontiguousarray(array, np.int32)


def _padded(rows: list[np.ndarray]) -> np.ndarray:
    batch = np.full((len(rows), max((row.size for row in rows), default=0)), PAD, np.int32)
    for index, row in enumerate(rows):
        batch[index, : row.size] = row
    return batch


def _rows(source: list | tuple, limit: int, owner: str) -> list[np.ndarray]:
    """Each row as an array of ids (length,); an empty row is one of padding."""
    rows = []
    for index, row in enumerate(source):
        where = f" in row {index}"
        try:
            array = np.asarray(row)
        except (ValueError, OverflowError):
            # NumPy refuses a nested list of uneven lengths
            raise ValueError(
                f"{owner}: source has a nested list{where}; expected a list of lists of ids "
                f"(batch, T_enc). Fix: {_RANK_FIX}"
            ) from None
        if array.dtype.kind == "f":
            # what NumPy makes of 64 bits with a sign beside 64 without one
            _refuse_beyond_64_bits(np.asarray(row, object), owner, where)
        if array.shape == (0,):
            array = array.astype(np.int32)
        array = _integers(array, owner, where)
        if array.ndim != 1:
            raise ValueError(
                f"{owner}: source has {'a number' if array.ndim == 0 else 'a nested list'}{where}; "
                f"expected a list of lists of ids (batch, T_enc). Fix: {_RANK_FIX}"
            )
        if array.size:
            _check_range(array[None], limit, owner, index)
        rows.append(array)
    return rows


def _integers(array: np.ndarray, owner: str, where: str) -> np.ndarray:
    if array.dtype.kind in "iu":
        return array
    if array.dtype == object:
        _refuse_beyond_64_bits(array, owner, where)
    kind = "text" if array.dtype.kind in "US" else str(array.dtype)
    raise ValueError(
        f"{owner}: source has dtype {kind}{where}; expected integers (int32). Fix: {_IDS_FIX}"
    )


def _refuse_beyond_64_bits(array: np.ndarray, owner: str, where: str) -> None:
    """NumPy does not hold whole numbers beyond 64 bits as such: say the id, not the dtype."""
    values = [value for value in array.flat if not isinstance(value, bool)]
    if not values or len(values) < array.size or not all(isinstance(v, int) for v in values):
        return
    bad = max(values, key=abs)
    if -(2**63) <= bad < 2**63:
        return
    raise ValueError(
        f"{owner}: source has id {bad}{where}, which is out of range; expected ids from 0 that fit "
        f"32 bits. Fix: {_IDS_FIX}"
    )


def _check_range(ids: np.ndarray, limit: int, owner: str, first_row: int = 0) -> None:
    # after a run of the model nothing of this is in a cache, so that each call of NumPy counts: of
    # numbers without a sign one maximum finds negative ids too
    unsigned = ids.view(np.uint32) if ids.dtype == np.int32 else ids.astype(np.uint64)
    if np.maximum.reduce(unsigned, axis=None) < limit:
        return
    row, position = np.argwhere((ids < 0) | (ids >= limit))[0].tolist()
    raise ValueError(
        f"{owner}: source has id {ids[row, position]} in row {first_row + row} at position "
        f"{position}; expected ids from 0 to {limit - 1} (vocab_source = {limit}). Fix: {_IDS_FIX}"
    )
