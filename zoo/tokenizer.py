"""Text to ids and back, by SentencePiece models that need nothing else to run."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import sentencepiece

from attention_zoo.vocabulary import BOS, EOS, PAD, UNK
from attention_zoo.written_beside import written_beside

JOINT_FILE = "tokenizer.model"
SOURCE_FILE = "tokenizer.source.model"
TARGET_FILE = "tokenizer.target.model"
TOKENIZER_FILES = (JOINT_FILE, SOURCE_FILE, TARGET_FILE)
"""All names that the tokenizers of a model may have in its folder."""


class TokenizerError(ValueError):
    """A file that is missing or no tokenizer of this project, or ids that are none of its own."""


class Tokenizer:
    """A SentencePiece model with the ids of this project: pad 0, bos 1, eos 2, unk 3.

    Text is normalised by the rules in the model (NFKC and single spaces, by default), so that
    `decode(encode(text))` gives the normalised text. With byte fallback no character is unknown:
    what has no piece becomes its UTF-8 bytes.

    Args:
        content: the bytes of a SentencePiece model.
        path: where they came from, for messages.

    Raises:
        TokenizerError: not a SentencePiece model, one that was cut, or one with other ids.
    """

    def __init__(self, content: bytes, path: str | Path | None = None) -> None:
        self.path = None if path is None else Path(path)
        self.content = content
        self._processor = _load(content, self._name)

    @classmethod
    def from_file(cls, path: str | Path) -> Tokenizer:
        """The tokenizer in a file.

        Raises:
            TokenizerError: no such file, and as the class.
        """
        path = Path(path)
        try:
            return cls(path.read_bytes(), path)
        except OSError as error:
            raise TokenizerError(
                f"{path}: expected a SentencePiece model, got an error: {error.strerror}. "
                f"Fix: a model's folder holds {JOINT_FILE}, or {SOURCE_FILE} and {TARGET_FILE}."
            ) from error

    @property
    def _name(self) -> str:
        return "tokenizer" if self.path is None else str(self.path)

    @property
    def vocab_size(self) -> int:
        """Number of ids, the four special ones included."""
        return self._processor.vocab_size()

    @property
    def sha256(self) -> str:
        """Hash of the file's bytes."""
        return hashlib.sha256(self.content).hexdigest()

    def encode(self, text: str) -> list[int]:
        """The ids of a text's pieces, then eos; blank text gives eos alone."""
        return self.encode_batch([text])[0]

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """`encode` of each text, on all cores."""
        rows = self._processor.encode([_encodable(text) for text in texts])
        return [[*row, EOS] for row in rows]

    def decode(self, ids: Iterable[int]) -> str:
        """The text of the ids before the first eos; pad and bos say nothing.

        Raises:
            TokenizerError: an id outside the vocabulary.
        """
        kept = []
        for number in self._checked(ids):
            if number == EOS:
                break
            if number not in (PAD, BOS):
                kept.append(number)
        return self._processor.decode(kept)

    def pieces(self, ids: Iterable[int]) -> list[str]:
        """The piece of each id, with U+2581 for a space: `['▁Je', '▁suis', '</s>']`.

        Raises:
            TokenizerError: an id outside the vocabulary.
        """
        return [self._processor.id_to_piece(number) for number in self._checked(ids)]

    def save(self, path: str | Path) -> None:
        """Write the model's bytes to a file."""
        with written_beside(path) as beside:
            beside.write_bytes(self.content)

    def _checked(self, ids: Iterable[int]) -> list[int]:
        numbers = [int(number) for number in ids]
        for number in numbers:
            if not 0 <= number < self.vocab_size:
                raise TokenizerError(
                    f"{self._name}: ids must be 0 to {self.vocab_size - 1}, got {number}. "
                    "Fix: the tokenizer that the model was trained with."
                )
        return numbers


@dataclass(frozen=True)
class TokenizerPair:
    """The tokenizers of a translation model; one object on both sides if it is joint."""

    source: Tokenizer
    target: Tokenizer

    @property
    def is_joint(self) -> bool:
        """Whether both sides share one vocabulary."""
        return self.source is self.target

    @classmethod
    def load(cls, folder: str | Path) -> TokenizerPair:
        """The tokenizers in a model's folder.

        Raises:
            TokenizerError: the folder holds none, or a file is not a tokenizer.
        """
        folder = Path(folder)
        if (folder / JOINT_FILE).exists():
            joint = Tokenizer.from_file(folder / JOINT_FILE)
            return cls(joint, joint)
        if not any((folder / name).exists() for name in (SOURCE_FILE, TARGET_FILE)):
            raise TokenizerError(
                f"{folder}: expected {JOINT_FILE}, or {SOURCE_FILE} and {TARGET_FILE}, got neither."
                " Fix: the folder of a translation model."
            )
        return cls(
            Tokenizer.from_file(folder / SOURCE_FILE), Tokenizer.from_file(folder / TARGET_FILE)
        )

    def files(self) -> dict[str, Tokenizer]:
        """File name -> tokenizer, as `save` writes them."""
        if self.is_joint:
            return {JOINT_FILE: self.source}
        return {SOURCE_FILE: self.source, TARGET_FILE: self.target}

    def save(self, folder: str | Path) -> list[Path]:
        """Write the tokenizers into a model's folder; returns the paths.

        A tokenizer file of the other kind that the folder holds from before is removed.
        """
        folder = Path(folder)
        files = self.files()
        for name, tokenizer in files.items():
            tokenizer.save(folder / name)
        for name in TOKENIZER_FILES:
            if name not in files:
                (folder / name).unlink(missing_ok=True)
        return [folder / name for name in files]


def _encodable(text: str) -> str:
    """`text` with half surrogates, which no UTF-8 can hold, as question marks."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _load(content: bytes, name: str) -> sentencepiece.SentencePieceProcessor:
    parts = _top_level_fields(content)
    processor = sentencepiece.SentencePieceProcessor()
    try:
        processor.LoadFromSerializedProto(content)
    except RuntimeError as error:
        raise _not_a_model(name, content) from error
    # a file cut between two pieces still parses: what stands behind the pieces is missing then
    if not {PIECES, TRAINER, NORMALISER} <= parts:
        raise _not_a_model(name, content)
    found = {
        "pad": processor.pad_id(),
        "bos": processor.bos_id(),
        "eos": processor.eos_id(),
        "unk": processor.unk_id(),
    }
    expected = {"pad": PAD, "bos": BOS, "eos": EOS, "unk": UNK}
    if found != expected:
        raise TokenizerError(
            f"{name}: expected the ids {expected}, got {found}. Fix: train the SentencePiece model "
            "with pad_id=0, bos_id=1, eos_id=2, unk_id=3, as train_tokenizer does."
        )
    return processor


def _not_a_model(name: str, content: bytes) -> TokenizerError:
    return TokenizerError(
        f"{name}: expected a whole SentencePiece model, got {len(content)} bytes that are none. "
        "Fix: restore the file; a copy that was cut short looks like this."
    )


PIECES, TRAINER, NORMALISER = 1, 2, 3
"""Numbers of the parts of a SentencePiece model, in the order they are written."""


def _top_level_fields(content: bytes) -> set[int]:
    """The numbers of the fields of a protobuf message whose fields are all length-delimited.

    Reading stops at the first byte that does not fit: whether the rest is a model is decided by
    SentencePiece itself.
    """
    fields: set[int] = set()
    at = 0
    while at < len(content):
        tag, at = _varint(content, at)
        if tag & 7 != 2:
            break
        size, at = _varint(content, at)
        at += size
        if at > len(content):
            break
        fields.add(tag >> 3)
    return fields


def _varint(content: bytes, at: int) -> tuple[int, int]:
    """A protobuf number and the place behind it; one that the end cuts short counts as it is."""
    value = shift = 0
    while at < len(content):
        byte = content[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    return value, at
