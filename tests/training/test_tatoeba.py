"""The files of manythings.org: found in a folder or downloaded."""

import zipfile

import pytest

from attention_zoo.training import load_translation_data, tatoeba
from attention_zoo.training.data_set_error import DataSetError


@pytest.fixture
def site(tmp_path, monkeypatch, pairs):
    """A folder that stands for the site, with one file."""
    folder = tmp_path / "site"
    folder.mkdir()
    with zipfile.ZipFile(folder / "fra-eng.zip", "w") as archive:
        archive.writestr("_about.txt", "about")
        archive.writestr("fra.txt", "".join(f"{p.target}\t{p.source}\n" for p in pairs))
    monkeypatch.setattr(tatoeba, "URL", folder.as_uri() + "/{name}.zip")
    monkeypatch.setenv("TFDS_DATA_DIR", str(tmp_path / "data"))
    return folder


def test_a_file_is_downloaded_once_and_kept_with_those_of_tensorflow_datasets(site, tmp_path):
    path = tatoeba.downloaded_file("fra-eng")
    assert path == tmp_path / "data" / "downloads" / "tatoeba" / "fra-eng.zip"
    assert path.read_bytes() == (site / "fra-eng.zip").read_bytes()
    (site / "fra-eng.zip").unlink()
    assert tatoeba.downloaded_file("fra-eng") == path


def test_data_is_loaded_from_the_download(site, pairs):
    data = load_translation_data("tatoeba/fra-eng", n_validation=20, n_test=30)
    assert len(data.train) == len(pairs) - 50
    assert {pair.source for pair in data.train} < {pair.target for pair in pairs}


def test_without_a_network_the_error_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setattr(tatoeba, "URL", "http://127.0.0.1:1/{name}.zip")
    with pytest.raises(DataSetError, match=r"Connection refused.*Fix: download it.*manual_dir"):
        tatoeba.downloaded_file("fra-eng", tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_page_instead_of_the_file_is_an_error_and_not_kept(site, tmp_path):
    (site / "fra-eng.zip").write_text("<html>sign in first</html>")
    with pytest.raises(DataSetError, match="26 bytes that are no zip file"):
        tatoeba.downloaded_file("fra-eng", tmp_path / "kept")
    assert not list((tmp_path / "kept").iterdir())


@pytest.mark.parametrize("find", [tatoeba.downloaded_file, tatoeba.local_file])
def test_an_unknown_name_is_an_error(tmp_path, find):
    with pytest.raises(DataSetError, match=r"one of .*fra-eng.* got 'fr-en'"):
        find("fr-en", tmp_path)


def test_english_is_the_first_language_of_every_file():
    assert {first for first, _ in tatoeba.LANGUAGES.values()} == {"en"}
    assert all(name.endswith("-eng") for name in tatoeba.LANGUAGES)
