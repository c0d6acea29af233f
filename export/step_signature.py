"""What the `step` of a TFLite file takes, checked before the file runs: it checks nothing itself.

A tensor that is missing, of another width or of another dtype makes the interpreter fail without
its name, or read other memory; an id outside the vocabulary gives an embedding of zeros.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from attention_zoo.layers.shapes import check_axes
from attention_zoo.manifest import Manifest

_OWNER = "LiteRTModel.step"
_ENCODED_FIX = "pass all outputs of LiteRTModel.encode, and the states of the step before."
_IDS_FIX = "pass the id of the token before, int32 (1,); the first one is bos."


class StepSignature:
    """The inputs of `step`: name -> axes, sizes and dtype, read from the file.

    Args:
        runner: the signature runner of `step`.
        file: its name in the manifest.
        manifest: gives the axes their names and says vocab_target; None if there is no manifest,
            then the file's own widths are all that is known.
    """

    def __init__(self, runner: Any, file: str, manifest: Manifest | None):
        self.vocab_target = _vocab_target(runner, manifest)
        self._axes: dict[str, tuple[str, ...]] = {}
        self._dtypes: dict[str, np.dtype] = {}
        self._fixed: dict[str, tuple[int | None, str]] = {}
        recorded = _recorded_axes(file, manifest)
        for name, details in runner.get_input_details().items():
            shape = [int(size) for size in details["shape_signature"]]
            self._dtypes[name] = np.dtype(details["dtype"])
            names = recorded.get(name, ())
            if len(names) != len(shape):
                names = _own_names(name, shape)
            self._axes[name] = tuple(
                self._fix(name, axis, size) for axis, size in zip(names, shape, strict=True)
            )

    def _fix(self, name: str, axis: str, size: int) -> str:
        """The name under which the size of an axis is checked; -1 is free."""
        if size < 0:
            return axis
        if axis in self._fixed and self._fixed[axis][0] != size:
            axis = f"{axis} of {name}"
        self._fixed[axis] = (size, "the file")
        return axis

    def checked(self, tokens: Any, encoded: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """All inputs of `step` as arrays.

        Raises:
            ValueError: tokens are no integers, not of shape (1,) or outside the vocabulary; a
                tensor of `encoded` is missing, not known, or has another shape or dtype. The
                message names the tensor, what was expected, what came, and the fix.
        """
        if not isinstance(encoded, Mapping):
            raise ValueError(
                f"{_OWNER}: encoded is a {type(encoded).__name__}; expected a dictionary. "
                f"Fix: {_ENCODED_FIX}"
            )
        wanted = self._axes.keys() - {"tokens"}
        missing, unknown = sorted(wanted - encoded.keys()), [n for n in encoded if n not in wanted]
        if missing or unknown:
            raise ValueError(
                f"{_OWNER}: encoded should hold {', '.join(sorted(wanted))}; missing: "
                f"{', '.join(missing) or 'none'}; not known: "
                f"{', '.join(map(str, unknown)) or 'none'}. Fix: {_ENCODED_FIX}"
            )
        arrays = {"tokens": np.asarray(tokens)}
        arrays |= {name: np.asarray(encoded[name]) for name in sorted(wanted)}
        self._check_dtypes(arrays)
        check_axes(
            _OWNER,
            {name: (array.shape, self._axes[name]) for name, array in arrays.items()},
            fixed=self._fixed,
            fixes={"tokens": _IDS_FIX},
            at_least_one=("T_enc",),
        )
        self._check_id(int(arrays["tokens"][0]))
        return arrays | {"tokens": arrays["tokens"].astype(np.int32)}

    def _check_dtypes(self, arrays: dict[str, np.ndarray]) -> None:
        for name, array in arrays.items():
            expected, fix = self._dtypes[name], _ENCODED_FIX
            if name == "tokens":
                fix = _IDS_FIX
                if np.issubdtype(array.dtype, np.integer):
                    continue
                if array.dtype == object and array.size == 1 and isinstance(array.item(), int):
                    self._check_id(array.item())  # beyond 64 bits
            if array.dtype != expected:
                raise ValueError(
                    f"{_OWNER}: {name} has dtype {array.dtype}; expected {expected}. Fix: {fix}"
                )

    def _check_id(self, token: int) -> None:
        limit = 2**31 if self.vocab_target is None else self.vocab_target
        if not 0 <= token < limit:
            raise ValueError(
                f"{_OWNER}: tokens has id {token}; expected an id from 0 to {limit - 1} "
                f"(vocab_target = {limit}). Fix: {_IDS_FIX}"
            )


def _vocab_target(runner: Any, manifest: Manifest | None) -> int | None:
    size = manifest.config.get("vocab_target") if manifest is not None else None
    if isinstance(size, int) and not isinstance(size, bool):
        return size
    logits = runner.get_output_details().get("logits", {}).get("shape_signature", ())
    return int(logits[-1]) if len(logits) and logits[-1] > 1 else None


def _recorded_axes(file: str, manifest: Manifest | None) -> dict[str, list[str]]:
    """The axes that the manifest names; none where it has no such entry."""
    entry = None if manifest is None else manifest.files.get(file)
    step = {} if entry is None else entry.signatures.get("step", {})
    inputs = step.get("inputs", ()) if isinstance(step, dict) else ()
    return {
        one["name"]: one["axes"]
        for one in inputs
        if isinstance(one, dict) and isinstance(one.get("axes"), list) and "name" in one
    }


def _own_names(name: str, shape: list[int]) -> list[str]:
    """Without a manifest: batch first, the axis that is free is T_enc."""
    return [
        "batch" if index == 0 else "T_enc" if size < 0 else f"width {index} of {name}"
        for index, size in enumerate(shape)
    ]
