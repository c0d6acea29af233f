"""The sentence pairs of tatoeba.org in the files of manythings.org/anki."""

from __future__ import annotations

from pathlib import Path

LICENCE = "CC-BY 2.0"
ATTRIBUTION = "www.manythings.org/anki and tatoeba.org"
URL = "http://www.manythings.org/anki/{name}.zip"

LANGUAGES = {
    "deu-eng": ("en", "de"),
    "fra-eng": ("en", "fr"),
    "ita-eng": ("en", "it"),
    "nld-eng": ("en", "nl"),
    "pol-eng": ("en", "pl"),
    "por-eng": ("en", "pt"),
    "rus-eng": ("en", "ru"),
    "spa-eng": ("en", "es"),
    "tur-eng": ("en", "tr"),
}
"""Name of a file -> the languages of its first two columns."""


def check_name(name: str) -> None:
    """Raise ValueError unless `name` is a file of the table."""
    if name not in LANGUAGES:
        raise ValueError(
            f"tatoeba: expected one of {', '.join(LANGUAGES)}, got {name!r}. "
            "Fix: for another file, give its path."
        )


def local_file(name: str, folder: str | Path) -> Path:
    """The file of a name in a folder: as downloaded (`fra-eng.zip`), unpacked, or packed again.

    Raises:
        ValueError: the folder holds none of them; says which names were looked for.
    """
    check_name(name)
    stem = name.split("-")[0]
    names = [f"{name}.zip", f"{name}.tsv.gz", f"{name}.tsv", f"{name}.txt", f"{stem}.txt"]
    for candidate in names:
        if (Path(folder) / candidate).is_file():
            return Path(folder) / candidate
    raise ValueError(
        f"{folder}: expected one of {', '.join(names)}, got none of them. "
        f"Fix: download {URL.format(name=name)} into it."
    )
