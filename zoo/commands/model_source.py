"""What the commands take as a MODEL: a preset, a run, a folder that was exported, or a file."""

from __future__ import annotations

import difflib
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

from attention_zoo.commands.quiet_import import import_tensorflow

if TYPE_CHECKING:
    from attention_zoo import Seq2Seq
    from attention_zoo.tokenizer import TokenizerPair

RUN_FILE = "model.keras"
KINDS = (
    "a preset (`attention-zoo list --presets`), the folder of a training run, a folder that "
    "`attention-zoo export` wrote, or a .keras file"
)


def load_source(source: str) -> Seq2Seq:
    """The model that a MODEL argument names.

    Raises ValueError if it is neither a preset nor anything on the disk that holds a model; the
    message names what it looks like and the nearest presets.
    """
    from attention_zoo import list_presets, load_pretrained

    if source in list_presets():
        import_tensorflow()
        return load_pretrained(source)
    path = Path(source)
    if path.is_dir():
        return _load_folder(path)
    if path.is_file():
        return _load_file(path)
    raise _unknown(source)


def refuse_unknown(source: str) -> None:
    """Raise ValueError as `load_source` does, without loading anything."""
    from attention_zoo import list_presets

    if source not in list_presets() and not Path(source).exists():
        raise _unknown(source)


def _unknown(source: str) -> ValueError:
    from attention_zoo import list_presets

    near = difflib.get_close_matches(source, list_presets(), n=3, cutoff=0.5)
    hint = f" Did you mean {' or '.join(near)}?" if near else ""
    return ValueError(
        f"{source!r}: no preset has this name, and no such file.{hint} MODEL is {KINDS}."
    )


def source_folder(source: str) -> Path:
    """The folder of exported files that a MODEL argument names: a preset's, or its own path."""
    from attention_zoo import list_presets, preset_folder

    return preset_folder(source) if source in list_presets() else Path(source)


def folder_of(source: str) -> Path:
    """The folder in which what belongs to a MODEL argument lies: its own, or that of its file."""
    path = source_folder(source)
    return path if path.is_dir() else path.parent


def source_tokenizers(source: str) -> TokenizerPair | None:
    """The tokenizers that lie beside the model of a MODEL argument; None if there are none."""
    folder = folder_of(source)
    if not any(folder.glob("tokenizer*.model")):
        return None  # a model of ids; asked like this, it needs no sentencepiece
    from attention_zoo.presets import folder_tokenizers

    return folder_tokenizers(folder)


def _load_folder(folder: Path) -> Seq2Seq:
    from attention_zoo.manifest import MANIFEST_FILE

    if (folder / RUN_FILE).is_file():
        return _load_file(folder / RUN_FILE)
    if (folder / MANIFEST_FILE).is_file():
        from attention_zoo.presets import load_folder

        import_tensorflow()
        return load_folder(folder)
    raise ValueError(
        f"{str(folder)!r}: expected {RUN_FILE} (a finished training run) or {MANIFEST_FILE} "
        f"(exported) in this folder, and found neither. MODEL is {KINDS}."
    )


def _load_file(path: Path) -> Seq2Seq:
    if path.suffix != ".keras" or not zipfile.is_zipfile(path):
        raise ValueError(
            f"{str(path)!r}: expected a model saved as .keras, and this is no such file. "
            f"MODEL is {KINDS}."
        )
    import_tensorflow()
    import keras

    from attention_zoo import Seq2Seq

    model = keras.saving.load_model(path, compile=False)
    if not isinstance(model, Seq2Seq):
        raise ValueError(
            f"{str(path)!r}: expected a model of this zoo, got a {type(model).__name__}. "
            "Create it with `attention_zoo.create_model` or `attention-zoo train`."
        )
    return model
