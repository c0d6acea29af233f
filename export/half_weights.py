"""Weights that a float16 holds exactly: rounded once, so that every file stores the same numbers.

A weight that was rounded to float16 takes two bytes in a file and is a float32 again where it is
used. So nothing is lost between Keras and a file, and both are compared as strictly as ever.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import numpy as np
from h5py import h5f, h5g, h5p

from attention_zoo.written_beside import written_beside

LEAST_VALUES = 1024
"""A tensor with fewer values is left as it is in the graphs: a cast costs more than it saves."""


def rounded_copy(model: Any) -> Any:
    """A model like `model` whose weights are the nearest float16 values, in float32.

    Raises:
        ValueError: a weight is beyond the range of float16; names it.
    """
    copy = type(model)(model.config, name=model.name)
    for new, old in zip(copy.weights, model.weights, strict=True):
        values = old.numpy()
        rounded = _float16(values)
        beyond = np.isfinite(values) & ~np.isfinite(rounded)
        if beyond.any():
            raise ValueError(
                f"{model.name}: weight {old.path} holds {float(values[beyond].flat[0]):.6g}; "
                f"expected values between -65504 and 65504, the range of float16. Fix: export with "
                "float32 storage."
            )
        new.assign(rounded.astype(np.float32))
    return copy


def exact_float16(values: np.ndarray) -> np.ndarray | None:
    """The values as float16 if that loses nothing and they are many enough; otherwise None."""
    if values.dtype != np.float32 or values.size < LEAST_VALUES:
        return None
    half = _float16(values)
    return half if np.array_equal(half.astype(np.float32), values) else None


def halve_weights_file(path: Path) -> None:
    """Write a Keras weights file again with float16 in place of float32, packed without loss.

    The same weights give the same bytes. Keras unpacks, and casts what it reads to the dtype of the
    weight. Raises ValueError, and leaves the file as it was, if a value would change.
    """
    with (
        written_beside(path) as beside,
        h5py.File(path, "r") as source,
        _small_file(beside) as target,
    ):
        target.attrs.update(source.attrs)

        def copy(name: str, item: Any) -> None:
            if isinstance(item, h5py.Group):
                timeless = _timeless(h5p.GROUP_CREATE)
                made = h5py.Group(h5g.create(target.id, name.encode(), gcpl=timeless))
            else:
                made = target.create_dataset(name, data=_halved(name, item[()]), **_packed(item))
            made.attrs.update(item.attrs)

        source.visititems(copy)


def _small_file(path: Path) -> Any:
    """An empty file in HDF5's newest layout, the smallest, whose groups would hold the time."""
    access = h5p.create(h5p.FILE_ACCESS)
    access.set_libver_bounds(h5f.LIBVER_LATEST, h5f.LIBVER_LATEST)
    made = h5f.create(bytes(path), h5f.ACC_TRUNC, fcpl=_timeless(h5p.FILE_CREATE), fapl=access)
    return h5py.File(made)


def _timeless(kind: Any) -> Any:
    properties = h5p.create(kind)
    properties.set_obj_track_times(False)
    return properties


def _packed(item: Any) -> dict[str, Any]:
    """Large tensors are packed with their high bytes side by side, which repeat; the low do not."""
    return {"compression": "gzip", "shuffle": True} if item.size >= LEAST_VALUES else {}


def _halved(name: str, values: Any) -> Any:
    values = np.asarray(values)
    if values.dtype != np.float32:
        return values
    half = _float16(values)
    if not np.array_equal(half.astype(np.float32), values, equal_nan=True):
        raise ValueError(
            f"{name}: holds values that float16 does not; expected weights that were rounded to "
            "it. Fix: write the file from rounded_copy(model)."
        )
    return half


def _float16(values: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):  # what becomes infinite is told by the caller
        return values.astype(np.float16)
