"""An exported file that answers like a model in Keras, to measure what it is worth."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attention_zoo.commands.answerer import Outputs, exported_file, open_file

if TYPE_CHECKING:
    import numpy as np


class FileModel:
    """`greedy` and `beam_search` of a `Seq2Seq`, through an exported file.

    Args:
        model: a MODEL argument whose folder was exported.
        file: a name in that folder, or a path.

    Raises:
        FileNotFoundError: no such file.
        ManifestError: no manifest beside it.
    """

    def __init__(self, model: str, file: str) -> None:
        from attention_zoo.manifest import read_manifest
        from attention_zoo.model_config import ModelConfig

        path = exported_file(model, file)
        # a SavedModel is named by its folder, or by that of its versions
        folder = path.parent if path.is_file() or path.name == "saved_model" else path
        manifest = read_manifest(folder)
        self.name = f"{model}/{file}"
        self.config = ModelConfig.from_dict(manifest.config)
        self._decoding = manifest.decoding
        self._runtime = open_file(path)

    def greedy(self, source: np.ndarray) -> Outputs:
        """As `Seq2Seq.greedy`."""
        found: Outputs = self._runtime.predict(source)
        return found

    def beam_search(
        self, source: np.ndarray, beam_width: int, length_penalty: float, n_best: int
    ) -> Outputs:
        """As `Seq2Seq.beam_search`.

        Raises:
            ValueError: another width or penalty than the file has.
        """
        asked = {"beam_width": beam_width, "length_penalty": length_penalty}
        fixed: dict[str, Any] = {name: self._decoding.get(name) for name in asked}
        if asked != fixed:
            raise ValueError(
                f"{self.name}: the beam is fixed in an exported file: expected a width of "
                f"{fixed['beam_width']} and a length penalty of {fixed['length_penalty']}, got "
                f"{beam_width} and {length_penalty}. Fix: --beam-width {fixed['beam_width']} "
                f"--length-penalty {fixed['length_penalty']}, --greedy, or export again."
            )
        found: Outputs = self._runtime.beam_search(source)
        return {name: value[:, :n_best] for name, value in found.items()}
