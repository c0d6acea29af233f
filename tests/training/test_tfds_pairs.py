"""Translation sets of tensorflow-datasets by name, on sets that are made here."""

import importlib
import socket
import sys
import textwrap
import urllib.request

import pytest
import tensorflow_datasets as tfds

from attention_zoo.training import load_translation_data
from attention_zoo.training.component_split import shared_sides
from attention_zoo.training.data_set_error import DataSetError
from attention_zoo.training.referenced import Referenced
from attention_zoo.training.sentence_pairs import SentencePair
from attention_zoo.training.tab_pairs import TabPairs
from attention_zoo.training.translation_data import load_spec

SIZES = {"n_validation": 20, "n_test": 30}

BUILDER = textwrap.dedent(
    """
    import tensorflow_datasets as tfds
    from attention_zoo.training.sentence_pairs import read_tsv


    class AzFake(tfds.core.GeneratorBasedBuilder):
        VERSION = tfds.core.Version("1.2.3")
        BUILDER_CONFIGS = [
            tfds.core.BuilderConfig(name=name)
            for name in ("fr_to_en", "train_only", "no_test", "no_train", "offline")
        ]
        pkg_dir_path = tfds.core.Path(__file__).parent

        def _info(self):
            return tfds.core.DatasetInfo(
                builder=self,
                features=tfds.features.Translation(languages=("en", "fr")),
                supervised_keys=("fr", "en"),
                license="ours",
                disable_shuffling=True,
            )

        def _split_generators(self, dl_manager):
            if self.builder_config.name == "offline":
                raise ConnectionError("the cable is out")
            pairs = read_tsv(PAIRS).pairs
            parts = {"train": pairs[:100], "validation": pairs[100:130], "test": pairs[130:]}
            parts = {
                "fr_to_en": parts,
                "train_only": {"train": pairs},
                "no_test": {"train": pairs[:100], "validation": pairs[100:130]},
                "no_train": {"test": pairs},
            }[self.builder_config.name]
            return {name: self._generate_examples(part) for name, part in parts.items()}

        def _generate_examples(self, pairs):
            for number, pair in enumerate(pairs):
                yield number, {"fr": " " + pair.source, "en": pair.target}
            yield len(pairs), {"fr": "seul", "en": " "}
    """
)


@pytest.fixture(scope="module", autouse=True)
def fake(tmp_path_factory, pairs_file):
    """A data set that tensorflow-datasets knows by the name az_fake."""
    folder = tmp_path_factory.mktemp("builders")
    (folder / "az_fake").mkdir()
    (folder / "az_fake" / "__init__.py").write_text("")
    (folder / "az_fake" / "builder.py").write_text(f"PAIRS = {str(pairs_file)!r}\n{BUILDER}")
    sys.path.insert(0, str(folder))
    yield importlib.import_module("az_fake.builder")
    sys.path.remove(str(folder))


@pytest.fixture(autouse=True)
def data_dir(tmp_path, monkeypatch):
    """Nothing is written to the user's own data folder."""
    monkeypatch.setenv("TFDS_DATA_DIR", str(tmp_path))
    monkeypatch.setattr(tfds.core.constants, "DATA_DIR", str(tmp_path), raising=True)
    return tmp_path


def pairs_of(entries):
    return [SentencePair(e.source, r) for e in entries for r in e.references]


def test_own_splits_are_used_line_by_line(pairs, data_dir):
    data = load_translation_data("az_fake/fr_to_en")
    assert (data_dir / "az_fake" / "fr_to_en" / "1.2.3").is_dir()
    assert data.train == pairs[:100]
    assert data.validation == [Referenced(p.source, (p.target,)) for p in pairs[100:130]]
    assert pairs_of(data.test) == pairs[130:]


def test_the_description_names_version_licence_and_languages():
    described = load_translation_data("az_fake/fr_to_en").description
    assert described["name"] == "az_fake/fr_to_en/1.2.3"
    assert described["licence"] == "ours"
    assert (described["source_language"], described["target_language"]) == ("fr", "en")
    assert described["split"] == "of the data set"
    # what each split holds beside the pairs: an example with one side empty
    assert described["skipped"] == {f"{s}: empty side": 1 for s in ("train", "validation", "test")}
    assert len({*described["sha256"].values()}) == 3


def test_reverse_goes_the_other_way(pairs):
    data = load_translation_data("az_fake/fr_to_en", reverse=True)
    assert data.train[0] == SentencePair(pairs[0].target, pairs[0].source)
    assert data.test[0] == Referenced(pairs[130].target, (pairs[130].source,))
    assert data.description["source_language"] == "en"


def test_a_set_with_training_pairs_alone_is_split_like_a_file(pairs_file):
    data = load_translation_data("az_fake/train_only", split_seed=3, **SIZES)
    same = load_translation_data(pairs_file, split_seed=3, **SIZES)
    assert (data.train, data.validation, data.test) == (same.train, same.validation, same.test)
    assert data.description["split_seed"] == 3


def test_the_split_that_is_missing_is_taken_from_training(pairs):
    data = load_translation_data("az_fake/no_test", **SIZES)
    assert pairs_of(data.validation) == pairs[100:130]
    test = pairs_of(data.test)
    assert len(test) == 30
    assert sorted(map(str, data.train + test)) == sorted(map(str, pairs[:100]))
    assert shared_sides([data.train, test]) == 0
    assert "test taken from train" in data.description["split"]


def test_a_spec_loads_it_again():
    data = load_translation_data("az_fake/no_test", reverse=True, **SIZES)
    again = load_spec(data.description["spec"])
    assert (again.train, again.test) == (data.train, data.test)
    assert again.description == data.description


def test_our_own_builder_keeps_its_references(tmp_path, monkeypatch, pairs_file, pairs):
    folder = tmp_path / "by_hand"
    folder.mkdir()
    lines = "".join(f"{p.target}\t{p.source}\n" for p in pairs)
    (folder / "fra-eng.tsv").write_text(lines, encoding="utf-8")
    for config in TabPairs.BUILDER_CONFIGS:
        monkeypatch.setattr(config, "n_validation", 20)
        monkeypatch.setattr(config, "n_test", 30)
    data = load_translation_data("tab_pairs/fr_en", manual_dir=folder)
    same = load_translation_data(pairs_file, **SIZES)
    assert (data.train, data.validation, data.test) == (same.train, same.validation, same.test)
    assert data.description["licence"].startswith("CC-BY 2.0")


def test_a_folder_of_the_same_name_is_not_taken_for_a_file(tmp_path, monkeypatch, pairs):
    (tmp_path / "az_fake" / "fr_to_en").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    assert load_translation_data("az_fake/fr_to_en").train == pairs[:100]


def test_a_set_without_training_pairs_is_an_error():
    with pytest.raises(DataSetError, match=r"no_train: expected a split train.* got .*test"):
        load_translation_data("az_fake/no_train")


def test_a_set_of_something_else_is_an_error():
    with pytest.raises(DataSetError, match=r"mnist: expected .*sentence pairs, got .*image, label"):
        load_translation_data("mnist")
    with pytest.raises(DataSetError, match=r"got the features talk_name, translations"):
        load_translation_data("ted_multi_translate")


@pytest.mark.parametrize("name", ["no_such_set", "az_fake/xx_to_en", "my/pairs", "./x/y", ""])
def test_an_unknown_name_is_an_error_that_says_what_may_stand_there(name):
    with pytest.raises(DataSetError, match=r"expected a file .*tatoeba/fra-eng.*ted_hrlr") as told:
        load_translation_data(name)
    assert len(str(told.value)) < 500


def test_a_failed_download_is_an_error():
    with pytest.raises(DataSetError, match=r"az_fake/offline: .*the cable is out.*TFDS_DATA_DIR"):
        load_translation_data("az_fake/offline")


@pytest.fixture
def no_network(monkeypatch):
    asked = []

    def refuse(host, *_):
        asked.append(host)
        raise socket.gaierror("no name service")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(urllib.request, "getproxies", dict)
    return asked


def test_without_a_network_a_known_set_is_an_error_at_once(no_network):
    with pytest.raises(DataSetError, match=r"no address for www\.phontron\.com.*Fix: a network"):
        load_translation_data("ted_hrlr_translate/pt_to_en")
    assert no_network == ["www.phontron.com"]


def test_a_prepared_set_needs_no_network(no_network, pairs):
    tfds.builder("az_fake/fr_to_en").download_and_prepare()
    assert load_translation_data("az_fake/fr_to_en").train == pairs[:100]
    assert no_network == []
