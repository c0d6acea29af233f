"""The sentence pairs of tatoeba.org in the files of manythings.org/anki."""

from __future__ import annotations

import os
import urllib.error
import urllib.request
import zipfile
from pathlib import Path

from attention_zoo.training.data_set_error import DataSetError
from attention_zoo.written_beside import written_beside

LICENCE = "CC-BY 2.0"
ATTRIBUTION = "www.manythings.org/anki and tatoeba.org"
HOMEPAGE = "http://www.manythings.org/anki/"
URL = HOMEPAGE + "{name}.zip"
# the site turns away clients that name no browser
BROWSER = "Mozilla/5.0 (compatible; attention-zoo)"
SECONDS = 60  # until a silent server counts as none

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
    """Raise DataSetError unless `name` is a file of the table."""
    if name not in LANGUAGES:
        raise DataSetError(
            f"tatoeba: expected one of {', '.join(LANGUAGES)}, got {name!r}. "
            "Fix: for another file, give its path."
        )


def local_file(name: str, folder: str | Path) -> Path:
    """The file of a name in a folder: as downloaded (`fra-eng.zip`), unpacked, or packed again.

    Raises:
        DataSetError: the folder holds none of them; says which names were looked for.
    """
    check_name(name)
    stem = name.split("-")[0]
    names = [f"{name}.zip", f"{name}.tsv.gz", f"{name}.tsv", f"{name}.txt", f"{stem}.txt"]
    for candidate in names:
        if (Path(folder) / candidate).is_file():
            return Path(folder) / candidate
    raise DataSetError(
        f"{folder}: expected one of {', '.join(names)}, got none of them. "
        f"Fix: download {URL.format(name=name)} into it."
    )


def download_folder() -> Path:
    """Where downloads are kept: with those of tensorflow-datasets."""
    data = os.environ.get("TFDS_DATA_DIR", "~/tensorflow_datasets")
    return Path(data).expanduser() / "downloads" / "tatoeba"


def downloaded_file(name: str, folder: str | Path | None = None) -> Path:
    """The file of a name, downloaded into `folder` unless it is there.

    Raises:
        DataSetError: an unknown name, no network, or a server that gives something else.
    """
    check_name(name)
    path = Path(folder or download_folder()) / f"{name}.zip"
    if path.exists():
        return path
    url = URL.format(name=name)
    request = urllib.request.Request(url, headers={"User-Agent": BROWSER})
    try:
        with urllib.request.urlopen(request, timeout=SECONDS) as response:
            content = response.read()
    except (urllib.error.URLError, OSError) as error:
        raise _no_download(name, url, str(error)) from error
    with written_beside(path) as beside:
        beside.write_bytes(content)
        if not zipfile.is_zipfile(beside):
            raise _no_download(name, url, f"{len(content)} bytes that are no zip file")
    return path


def _no_download(name: str, url: str, reason: str) -> DataSetError:
    return DataSetError(
        f"tatoeba/{name}: expected to download {url}, got: {reason}. Fix: download it yourself, on "
        "another machine if need be, and name its folder (manual_dir, on the command line "
        "--manual-dir)."
    )
