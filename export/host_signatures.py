"""What a host that calls exported files has to know of their signatures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from attention_zoo.manifest import FileEntry

Tensor = Mapping[str, Any]


class HostSignatures:
    """The signatures of files that belong together: a TFLite file, or an encoder and a step.

    Args:
        entries: what the manifest says of the files.
    """

    def __init__(self, entries: Iterable[FileEntry]) -> None:
        self._all = {
            name: signature for entry in entries for name, signature in entry.signatures.items()
        }

    @property
    def encoded(self) -> list[Tensor]:
        """What `encode` gives and `step` takes."""
        tensors: list[Tensor] = self._all["encode"]["outputs"]
        return tensors

    @property
    def states(self) -> list[str]:
        """Those that every step makes anew."""
        return [one["name"] for one in self.encoded if one["name"].startswith("state_")]

    @property
    def kept(self) -> list[str]:
        """Those that stay as they are for all steps: the mask, and what is attended to."""
        return [one["name"] for one in self.encoded if one["name"] not in self.states]

    @property
    def logits(self) -> Tensor:
        """(batch, vocab_target) of a step."""
        outputs: list[Tensor] = self._all["step"]["outputs"]
        return next(one for one in outputs if one["name"] == "logits")

    @property
    def vocab_target(self) -> int:
        """Ids that a step scores."""
        return int(self.logits["shape"][-1])

    @property
    def next_states(self) -> list[str]:
        """The states, under the names that the answer of a step has for them."""
        outputs: list[Tensor] = self._all["step"]["outputs"]
        return [one["name"] for one in outputs if "state_" in one["name"]]
