"""Training pairs and held-out sources with their references, from whatever names them."""

import gzip
import hashlib
import json
import shutil
import zipfile

import pytest

from attention_zoo.training import SentencePair, load_aligned_splits, load_translation_data
from attention_zoo.training.component_split import shared_sides
from attention_zoo.training.referenced import Referenced, grouped
from attention_zoo.training.sentence_pairs import PairFileError
from attention_zoo.training.translation_data import load_spec

SIZES = {"n_validation": 20, "n_test": 30}


def pairs_of(entries):
    return [SentencePair(e.source, r) for e in entries for r in e.references]


@pytest.fixture
def manual_dir(tmp_path, pairs):
    """A folder with the file of manythings.org: English, French, attribution."""
    lines = "".join(f"{p.target}\t{p.source}\tCC-BY 2.0 #{n}\n" for n, p in enumerate(pairs))
    with zipfile.ZipFile(tmp_path / "fra-eng.zip", "w") as archive:
        archive.writestr("_about.txt", "about")
        archive.writestr("fra.txt", lines)
    return tmp_path


@pytest.fixture
def aligned(tmp_path, pairs):
    """Paths of the source and target file of three parts, a sentence twice in the last."""
    parts = {"train": pairs[:100], "val": pairs[100:130], "test": [*pairs[130:], pairs[130]]}
    paths = {}
    for name, part in parts.items():
        files = tmp_path / f"{name}.fr", tmp_path / f"{name}.en"
        files[0].write_text("".join(pair.source + "\n" for pair in part), encoding="utf-8")
        files[1].write_text("".join(pair.target + "\n" for pair in part), encoding="utf-8")
        paths[name] = files
    return paths


def test_a_tsv_is_split_without_a_leak_and_grouped_by_source(pairs_file, pairs):
    data = load_translation_data(pairs_file, **SIZES)
    validation, test = pairs_of(data.validation), pairs_of(data.test)
    assert shared_sides([data.train, validation, test]) == 0
    assert (len(validation), len(test)) == (20, 30)
    assert sorted(map(str, [*data.train, *validation, *test])) == sorted(map(str, pairs))
    sources = [entry.source for entry in data.test]
    assert len({*sources}) == len(sources) < 30


def test_grouping_keeps_order_and_drops_repeated_references():
    pairs = [SentencePair(*both) for both in ("a1", "b2", "a3", "a1", "b2", "A1")]
    assert grouped(pairs) == [
        Referenced("a", ("1", "3")),
        Referenced("b", ("2",)),
        Referenced("A", ("1",)),
    ]


def test_the_description_says_all_that_a_manifest_records(pairs_file):
    data = load_translation_data(
        pairs_file, split_seed=3, languages=("fr", "en"), licence="Apache-2.0", **SIZES
    )
    description = data.description
    assert json.loads(json.dumps(description)) == description
    sources = len(data.test)
    assert description["sizes"]["train"] == 125
    assert description["sizes"]["test"] == {"sources": sources, "references": 30}
    assert description["sizes"]["validation"]["references"] == 20
    assert description["name"] == "pairs.fr-en.tsv"
    assert description["licence"] == "Apache-2.0"
    assert (description["source_language"], description["target_language"]) == ("fr", "en")
    digest = hashlib.sha256(pairs_file.read_bytes()).hexdigest()
    assert description["sha256"] == {"pairs.fr-en.tsv": digest}
    assert description["split_seed"] == 3
    assert description["skipped"] == {}


def test_what_was_skipped_is_in_the_description(tmp_path, pairs_file):
    path = tmp_path / "some.tsv"
    path.write_bytes(pairs_file.read_bytes() + b"one column\n\xff\t\xff\n\xff\t\xff\n")
    with pytest.raises(PairFileError, match=r"some\.tsv:176: "):
        load_translation_data(path, **SIZES)
    data = load_translation_data(path, skip_bad=True, **SIZES)
    assert data.description["skipped"] == {"too few columns": 1, "bad UTF-8": 2}


def test_reverse_swaps_everything_and_splits_the_same_way(pairs_file):
    one = load_translation_data(pairs_file, languages=("fr", "en"), **SIZES)
    other = load_translation_data(pairs_file, languages=("fr", "en"), reverse=True, **SIZES)
    assert other.train == [SentencePair(p.target, p.source) for p in one.train]
    for part in ("validation", "test"):
        there, back = pairs_of(getattr(one, part)), pairs_of(getattr(other, part))
        assert {(p.source, p.target) for p in there} == {(p.target, p.source) for p in back}
    described = other.description
    assert (described["source_language"], described["target_language"]) == ("en", "fr")


def test_columns_of_a_tsv(tmp_path, pairs_file):
    path = tmp_path / "wide.tsv"
    lines = pairs_file.read_text(encoding="utf-8").splitlines()
    path.write_text("".join(f"{n}\t{line}\n" for n, line in enumerate(lines)), encoding="utf-8")
    data = load_translation_data(path, source_column=1, target_column=2, **SIZES)
    assert data.train == load_translation_data(pairs_file, **SIZES).train


def test_two_aligned_files_are_split_like_a_tsv(tmp_path, pairs_file, pairs):
    files = tmp_path / "all.fr", tmp_path / "all.en.gz"
    files[0].write_text("".join(p.source + "\n" for p in pairs), encoding="utf-8")
    files[1].write_bytes(gzip.compress("".join(p.target + "\n" for p in pairs).encode()))
    data = load_translation_data(files, **SIZES)
    same = load_translation_data(pairs_file, **SIZES)
    assert (data.train, data.validation, data.test) == (same.train, same.validation, same.test)
    assert [*data.description["sha256"]] == ["all.fr", "all.en.gz"]


def test_tatoeba_from_a_local_file_has_english_first(manual_dir, pairs_file):
    data = load_translation_data("tatoeba/fra-eng", manual_dir=manual_dir, reverse=True, **SIZES)
    same = load_translation_data(pairs_file, **SIZES)
    assert (data.train, data.test) == (same.train, same.test)
    described = data.description
    assert (described["source_language"], described["target_language"]) == ("fr", "en")
    assert described["licence"] == "CC-BY 2.0"
    assert "tatoeba.org" in described["attribution"]
    assert str(manual_dir) not in json.dumps(described)


@pytest.mark.parametrize("name", ["fra-eng.tsv.gz", "fra-eng.tsv", "fra-eng.txt", "fra.txt"])
def test_the_local_file_of_tatoeba_may_have_been_unpacked(tmp_path, manual_dir, name):
    text = zipfile.ZipFile(manual_dir / "fra-eng.zip").read("fra.txt")
    folder = tmp_path / "unpacked"
    folder.mkdir()
    (folder / name).write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    one, other = (
        load_translation_data("tatoeba/fra-eng", manual_dir=place, **SIZES)
        for place in (manual_dir, folder)
    )
    assert one.train == other.train


def test_a_folder_without_the_tatoeba_file_says_what_it_looked_for(tmp_path):
    with pytest.raises(ValueError, match=r"expected one of fra-eng\.zip, .*manythings\.org"):
        load_translation_data("tatoeba/fra-eng", manual_dir=tmp_path)


def test_an_unknown_tatoeba_pair_names_those_there_are():
    with pytest.raises(ValueError, match=r"one of .*fra-eng.*, got 'eng-fra'"):
        load_translation_data("tatoeba/eng-fra")


def test_a_missing_file_is_an_error_that_names_it(tmp_path):
    with pytest.raises(PairFileError, match=r"none\.tsv: .*No such file"):
        load_translation_data(tmp_path / "none.tsv")


@pytest.mark.parametrize("files", [("a.fr",), ("a.fr", "a.en", "a.de")])
def test_aligned_files_are_two(files):
    with pytest.raises(PairFileError, match="two files aligned by line"):
        load_translation_data(files)


def test_splits_that_come_as_files_keep_their_lines(aligned, pairs):
    data = load_aligned_splits(
        aligned["train"],
        aligned["val"],
        {"test2016": aligned["test"], "test2017": aligned["val"]},
        name="ours",
        languages=("fr", "en"),
    )
    assert data.train == pairs[:100]
    assert pairs_of(data.validation) == pairs[100:130]
    assert pairs_of(data.test) == [*pairs[130:], pairs[130]]
    assert all(len(entry.references) == 1 for entry in data.test)
    assert [*data.tests] == ["test2016", "test2017"]
    assert data.tests["test2016"] is data.test
    assert pairs_of(data.tests["test2017"]) == pairs[100:130]
    sizes = data.description["sizes"]
    assert sizes["test.test2016"] == {"sources": len(data.test), "references": len(data.test)}
    assert data.description["name"] == "ours"


def test_splits_in_files_can_be_reversed(aligned, pairs):
    data = load_aligned_splits(
        aligned["train"], aligned["val"], aligned["test"], reverse=True, languages=("fr", "en")
    )
    assert data.train == [SentencePair(p.target, p.source) for p in pairs[:100]]
    assert data.validation[0] == Referenced(pairs[100].target, (pairs[100].source,))
    assert data.description["source_language"] == "en"


def test_a_bad_line_of_a_part_is_counted_by_part(aligned):
    with aligned["val"][0].open("ab") as file:
        file.write(b"only here\n")
    parts = aligned["train"], aligned["val"], aligned["test"]
    with pytest.raises(PairFileError, match=r"val\.fr:31: "):
        load_aligned_splits(*parts)
    data = load_aligned_splits(*parts, skip_bad=True)
    assert data.description["skipped"] == {"validation: line in one file only": 1}


def test_splits_in_files_need_a_test_set(aligned):
    with pytest.raises(ValueError, match="test must name at least one set"):
        load_aligned_splits(aligned["train"], aligned["val"], {})


def as_read_from_a_file(data):
    return json.loads(json.dumps(data.description["spec"]))


def assert_same(data, again):
    assert again.train == data.train
    assert again.validation == data.validation
    assert again.tests == data.tests
    assert again.description == data.description


def test_a_spec_loads_the_same_data_again(pairs_file, aligned, manual_dir):
    options = {"reverse": True, "split_seed": 5, **SIZES}
    columns = {"source_column": 1, "target_column": 0}
    about = {"languages": ("fr", "en"), "licence": "Apache-2.0"}
    for data in (
        load_translation_data(pairs_file, **options, **columns, **about),
        load_translation_data(aligned["train"], **options, **about),
        load_aligned_splits(*aligned.values(), reverse=True, name="ours", **about),
    ):
        assert_same(data, load_spec(as_read_from_a_file(data)))
    data = load_translation_data("tatoeba/fra-eng", manual_dir=manual_dir, **options)
    moved = shutil.copytree(manual_dir, manual_dir / "moved")
    assert_same(data, load_spec(as_read_from_a_file(data), manual_dir=moved))


@pytest.mark.parametrize(
    "spec", [{}, {"data": "x.tsv", "no_such_option": 1}, {"train": ["a", "b"]}]
)
def test_what_is_no_spec_is_an_error(spec):
    with pytest.raises(ValueError, match="expected the spec that a description records"):
        load_spec(spec)
