"""The tensorflow-datasets builder of sentence pairs, from local files alone."""

import zipfile

import pytest
import tensorflow_datasets as tfds

from attention_zoo.training import load_translation_data, tatoeba
from attention_zoo.training.component_split import shared_sides
from attention_zoo.training.data_set_error import DataSetError
from attention_zoo.training.referenced import Referenced
from attention_zoo.training.sentence_pairs import PairFileError, SentencePair
from attention_zoo.training.tab_pairs import TabPairs, TabPairsConfig

SIZES = {"n_validation": 20, "n_test": 30}


@pytest.fixture(scope="module")
def prepared(pairs_file, tmp_path_factory):
    """The builder of our own pairs, prepared."""
    config = TabPairsConfig.for_file(pairs_file, **SIZES)
    builder = TabPairs(config=config, data_dir=tmp_path_factory.mktemp("tfds"))
    builder.download_and_prepare()
    return builder


def read(builder, split):
    return [
        Referenced(
            example["source"].decode(), tuple(text.decode() for text in example["references"])
        )
        for example in tfds.as_numpy(builder.as_dataset(split=split))
    ]


def pairs_of(entries):
    return [SentencePair(e.source, r) for e in entries for r in e.references]


def test_no_sentence_stands_in_two_splits(prepared, pairs):
    parts = [pairs_of(read(prepared, split)) for split in ("train", "validation", "test")]
    assert [len(part) for part in parts] == [len(pairs) - 50, 20, 30]
    assert shared_sides(parts) == 0


def test_the_splits_are_those_that_training_uses(prepared, pairs_file):
    data = load_translation_data(pairs_file, **SIZES)
    assert pairs_of(read(prepared, "train")) == data.train
    assert read(prepared, "validation") == data.validation
    assert read(prepared, "test") == data.test


def test_the_first_reference_is_the_target(prepared):
    (split,) = (tfds.as_numpy(prepared.as_dataset(split="test")),)
    examples = list(split)
    assert max(len(example["references"]) for example in examples) > 1
    assert all(example["target"] == example["references"][0] for example in examples)


def test_supervised_examples_are_source_and_target(prepared, pairs):
    train = tfds.as_numpy(prepared.as_dataset(split="train", as_supervised=True))
    source, target = next(iter(train))
    assert (source.decode(), target.decode()) == (pairs[0].source, pairs[0].target)


def test_what_was_read_is_in_the_metadata(prepared, tmp_path, pairs_file):
    assert len(prepared.info.metadata["sha256"]) == 64
    path = tmp_path / "bad.tsv"
    path.write_bytes(pairs_file.read_bytes() + b"one column\n")
    config = TabPairsConfig.for_file(path, skip_bad=True, **SIZES)
    builder = TabPairs(config=config, data_dir=tmp_path)
    builder.download_and_prepare()
    again = TabPairs(config=config, data_dir=tmp_path)
    assert again.info.metadata["skipped"] == {"too few columns": 1}


def test_a_bad_line_is_an_error_with_its_number(tmp_path, pairs_file):
    path = tmp_path / "bad.tsv"
    path.write_bytes(pairs_file.read_bytes() + b"one column\n")
    builder = TabPairs(config=TabPairsConfig.for_file(path, **SIZES), data_dir=tmp_path)
    with pytest.raises(PairFileError, match=r"bad\.tsv:176: "):
        builder.download_and_prepare()


def test_another_file_or_other_options_are_another_data_set(tmp_path, pairs_file):
    copy = tmp_path / pairs_file.name
    copy.write_bytes(pairs_file.read_bytes())
    names = [
        TabPairsConfig.for_file(pairs_file).name,
        TabPairsConfig.for_file(pairs_file, split_seed=1).name,
        TabPairsConfig.for_file(pairs_file, source_column=1, target_column=0).name,
    ]
    assert TabPairsConfig.for_file(copy).name == names[0]
    copy.write_bytes(pairs_file.read_bytes() + b"a\tb\n")
    names.append(TabPairsConfig.for_file(copy).name)
    assert len({*names}) == 4


@pytest.fixture
def tatoeba_pairs(monkeypatch):
    """TabPairs whose Tatoeba configs hold out few pairs."""
    for config in TabPairs.BUILDER_CONFIGS:
        monkeypatch.setattr(config, "n_validation", 20)
        monkeypatch.setattr(config, "n_test", 30)
    return TabPairs


@pytest.fixture
def zipped(tmp_path, pairs):
    """A folder with the file of manythings.org: English first."""
    folder = tmp_path / "by_hand"
    folder.mkdir()
    with zipfile.ZipFile(folder / "fra-eng.zip", "w") as archive:
        archive.writestr("fra.txt", "".join(f"{p.target}\t{p.source}\n" for p in pairs))
    return folder


@pytest.mark.parametrize("config", ["fr_en", "en_fr"])
def test_tatoeba_from_manual_dir_in_both_directions(tatoeba_pairs, zipped, tmp_path, config):
    builder = tatoeba_pairs(config=config, data_dir=tmp_path)
    builder.download_and_prepare(
        download_config=tfds.download.DownloadConfig(manual_dir=str(zipped))
    )
    reverse = config == "fr_en"
    data = load_translation_data("tatoeba/fra-eng", manual_dir=zipped, reverse=reverse, **SIZES)
    assert pairs_of(read(builder, "train")) == data.train
    assert read(builder, "test") == data.test


def test_tatoeba_is_downloaded_where_there_is_no_local_file(
    tatoeba_pairs, zipped, tmp_path, monkeypatch
):
    monkeypatch.setattr(tatoeba, "URL", zipped.as_uri() + "/{name}.zip")
    builder = tatoeba_pairs(config="fr_en", data_dir=tmp_path)
    builder.download_and_prepare()
    assert builder.info.splits["train"].num_examples == 125
    assert (tmp_path / "downloads" / "tatoeba" / "fra-eng.zip").exists()


def test_without_file_and_network_the_error_says_what_to_do(tatoeba_pairs, tmp_path, monkeypatch):
    monkeypatch.setattr(tatoeba, "URL", "http://127.0.0.1:1/{name}.zip")
    builder = tatoeba_pairs(config="fr_en", data_dir=tmp_path)
    with pytest.raises(DataSetError, match=r"Connection refused.*manual_dir"):
        builder.download_and_prepare()


def test_every_direction_has_a_config():
    names = [config.name for config in TabPairs.BUILDER_CONFIGS]
    assert len({*names}) == len(names) == 2 * len(tatoeba.LANGUAGES)
    assert {"fr_en", "en_fr", "de_en"} <= {*names}
