"""What a `step` takes, checked before the file runs: the file checks nothing itself.

A tensor that is missing, of another width or of another dtype makes an interpreter fail without
its name, or read other memory; an id outside the vocabulary gives an embedding of zeros.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from attention_zoo.layers.shapes import check_axes
from attention_zoo.manifest import Manifest

_IDS_FIX = "pass the ids of the tokens before, int32 (batch,); the first ones are bos."


@dataclasses.dataclass(frozen=True)
class StepInput:
    """A tensor that a file takes: sizes, -1 where it is free, dtype, and names of free axes.

    `axes` has None where the file gives an axis no name.
    """

    shape: list[int]
    dtype: np.dtype
    axes: tuple[str | None, ...] = ()


class StepSignature:
    """The inputs of `step`: name -> axes, sizes and dtype, read from the file.

    Args:
        owner: whose step it is, such as "LiteRTModel.step", for messages.
        inputs: what the file takes, by name.
        vocab_target: from the file itself; used where the manifest does not say.
        file: its name in the manifest.
        manifest: gives the axes their names and says vocab_target; None if there is no manifest,
            then the file's own widths are all that is known.
    """

    def __init__(
        self,
        owner: str,
        inputs: Mapping[str, StepInput],
        vocab_target: int | None,
        file: str,
        manifest: Manifest | None,
    ):
        self.vocab_target = _vocab_target(vocab_target, manifest)
        self._owner = owner
        self._encoded_fix = (
            f"pass all outputs of {owner.partition('.')[0]}.encode, and the states of the step "
            "before."
        )
        self._axes: dict[str, tuple[str, ...]] = {}
        self._dtypes: dict[str, np.dtype] = {}
        self._fixed: dict[str, tuple[int | None, str]] = {}
        self._order = sorted(inputs.keys() - {"tokens"})
        self._wanted = frozenset(self._order)
        # shapes and dtypes that were found right last: a loop hands in the same in every step
        self._accepted: list[tuple[tuple[int, ...], np.dtype]] = []
        recorded = _recorded_axes(file, manifest)
        for name, one in inputs.items():
            self._dtypes[name] = one.dtype
            names = recorded.get(name, ())
            if len(names) != len(one.shape):
                names = _own_names(name, one)
            self._axes[name] = tuple(
                self._fix(name, axis, size) for axis, size in zip(names, one.shape, strict=True)
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
            ValueError: no tokens, or they are no integers, not of shape (batch,) or outside the
                vocabulary; a tensor of `encoded` is missing, not known, or has another shape or
                dtype. The message names the tensor, what was expected, what came, and the fix.
        """
        if not isinstance(encoded, Mapping):
            raise ValueError(
                f"{self._owner}: encoded is a {type(encoded).__name__}; expected a dictionary. "
                f"Fix: {self._encoded_fix}"
            )
        if encoded.keys() != self._wanted:
            missing = sorted(self._wanted - encoded.keys())
            unknown = [name for name in encoded if name not in self._wanted]
            raise ValueError(
                f"{self._owner}: encoded should hold {', '.join(sorted(self._wanted))}; missing: "
                f"{', '.join(missing) or 'none'}; not known: "
                f"{', '.join(map(str, unknown)) or 'none'}. Fix: {self._encoded_fix}"
            )
        arrays = {"tokens": self._array("tokens", tokens)}
        for name in self._order:
            arrays[name] = self._array(name, encoded[name])
        layout = [(array.shape, array.dtype) for array in arrays.values()]
        if layout != self._accepted:
            self._check_dtypes(arrays)
            check_axes(
                self._owner,
                {name: (array.shape, self._axes[name]) for name, array in arrays.items()},
                fixed=self._fixed,
                fixes={"tokens": _IDS_FIX},
                at_least_one=("batch", "T_enc"),
            )
            self._accepted = layout
        for token in (int(arrays["tokens"].min()), int(arrays["tokens"].max())):
            self._check_id(token)
        return arrays | {"tokens": arrays["tokens"].astype(np.int32)}

    def _array(self, name: str, value: Any) -> np.ndarray:
        try:
            return np.asarray(value)
        except ValueError:
            fix = _IDS_FIX if name == "tokens" else self._encoded_fix
            raise ValueError(
                f"{self._owner}: {name} holds rows of different lengths; expected an array "
                f"({', '.join(self._axes[name])}). Fix: {fix}"
            ) from None

    def _check_dtypes(self, arrays: dict[str, np.ndarray]) -> None:
        for name, array in arrays.items():
            expected, fix = self._dtypes[name], self._encoded_fix
            if name == "tokens":
                fix = _IDS_FIX
                if array.dtype.kind in "iu":
                    continue
                if array.dtype == object and array.size == 1 and isinstance(array.item(), int):
                    self._check_id(array.item())  # beyond 64 bits
            if array.dtype != expected:
                raise ValueError(
                    f"{self._owner}: {name} has dtype {array.dtype}; expected {expected}. "
                    f"Fix: {fix}"
                )

    def _check_id(self, token: int) -> None:
        limit = 2**31 if self.vocab_target is None else self.vocab_target
        if not 0 <= token < limit:
            raise ValueError(
                f"{self._owner}: tokens has id {token}; expected an id from 0 to {limit - 1} "
                f"(vocab_target = {limit}). Fix: {_IDS_FIX}"
            )


def _vocab_target(given: int | None, manifest: Manifest | None) -> int | None:
    size = manifest.config.get("vocab_target") if manifest is not None else None
    return size if isinstance(size, int) and not isinstance(size, bool) else given


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


def _own_names(name: str, one: StepInput) -> list[str]:
    """Without a manifest: the file's names; else batch first, and a free axis is T_enc."""
    given = one.axes or (None,) * len(one.shape)
    return [
        axis or ("batch" if index == 0 else "T_enc" if size < 0 else f"width {index} of {name}")
        for index, (axis, size) in enumerate(zip(given, one.shape, strict=True))
    ]
