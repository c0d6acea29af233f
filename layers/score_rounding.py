"""How far rounding alone may move the scores of an attention step."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

Arrays = Mapping[str, NDArray]

_SPREAD = 8.0  # of standard deviations of a sum of rounded products
_PRODUCTS = 2.0**-11  # GPUs multiply float32 with so many bits, unless they are told not to


def stored_rounding(array: NDArray) -> float:
    """The relative error of the numbers of an array: of bfloat16 too, once it is float32."""
    if array.dtype.kind != "f":
        return 0.0
    if array.dtype.itemsize == 2:
        return 2.0**-11
    if array.dtype == "float32" and np.any(array % 1):  # small whole numbers are exact in both
        narrow = np.ascontiguousarray(array).view("uint32") & 0xFFFF
        return 2.0**-24 if narrow.any() else 2.0**-8
    return float(np.finfo(array.dtype).eps)


def score_rounding(
    arrays: Arrays, mechanism: str, state: NDArray, keys: NDArray, names: tuple[str, ...]
) -> float:
    """The largest error of e_i for one state (d_s,) and keys (T_enc, d_h), as of a random walk.

    The squares of all products of the formula are added; tanh makes no error larger.
    """
    used = [arrays[name] for name in names]
    rounding = max(stored_rounding(array) for array in used)
    if any(array.dtype.kind == "f" and array.dtype.itemsize < 8 for array in used):
        rounding = max(rounding, _PRODUCTS)
    squares = {name: np.square(arrays[name].astype("float64")) for name in names}
    s, h = np.square(state.astype("float64")), np.square(keys.astype("float64"))
    if mechanism in ("bahdanau", "luong_concat"):
        if mechanism == "bahdanau":
            hidden = s @ squares["W_a"] + h @ squares["U_a"]  # (T_enc, d_attn)
        else:
            hidden = s @ squares["W_a"][: len(s)] + h @ squares["W_a"][len(s) :]
        total = (hidden + 1) @ squares["v_a"]
    else:
        total = h @ (s @ squares["W_a"] if mechanism == "luong_general" else s)
    return _SPREAD * rounding * float(np.sqrt(total.max()))
