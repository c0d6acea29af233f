"""Rounding of weights to int8, the same for every format."""

from __future__ import annotations

import numpy as np

_LARGEST = 127


def rounded_to_int8(values: np.ndarray, axis: int) -> tuple[np.ndarray, np.ndarray]:
    """Whole numbers q from -127 to 127 and scales s, values ~ q s; `axis` is what shares a scale.

        s = max |W| / 127,  q = round(W / s);  |W - s q| <= s / 2

    What is all zeros has the scale 1, and so has next to nothing: its scale would have no digits
    left, or be 0.
    """
    scales = (np.abs(values).max(axis=axis) / _LARGEST).astype(np.float32)
    scales = np.where(scales >= np.finfo(np.float32).tiny, scales, 1).astype(np.float32)
    whole = np.rint(values / np.expand_dims(scales, axis))
    return np.clip(whole, -_LARGEST, _LARGEST).astype(np.int8), scales
