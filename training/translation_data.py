"""The data of a translation model: training pairs, and held-out sources with their references."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from attention_zoo.training import tatoeba
from attention_zoo.training.component_split import split_by_components
from attention_zoo.training.referenced import Referenced as Referenced
from attention_zoo.training.referenced import grouped, one_by_one
from attention_zoo.training.sentence_pairs import (
    PairFileError,
    ReadPairs,
    SentencePair,
    read_aligned,
    read_tsv,
)

PathLike = str | Path
Languages = tuple[str | None, str | None]
PAIR_SUFFIXES = (".tsv", ".txt", ".gz", ".zip")


@dataclass
class TranslationData:
    """What a model is trained on, chosen by and measured on.

    `test` is the first of `tests`, the test sets by name. `description` says in JSON what a
    manifest records: name, licence, languages, hashes of the files, how they were split, sizes,
    skipped lines, and under `spec` what `load_spec` needs to load the same data again.
    """

    train: list[SentencePair]
    validation: list[Referenced]
    test: list[Referenced]
    description: dict[str, Any]
    tests: dict[str, list[Referenced]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.tests = self.tests or {"test": self.test}


def load_translation_data(
    spec: PathLike | Sequence[PathLike],
    *,
    reverse: bool = False,
    split_seed: int = 0,
    n_validation: int = 2000,
    n_test: int = 2000,
    manual_dir: PathLike | None = None,
    skip_bad: bool = False,
    source_column: int = 0,
    target_column: int = 1,
    languages: Languages = (None, None),
    licence: str | None = None,
) -> TranslationData:
    """Load the data that `spec` names and split it, where it has no split of its own.

    Args:
        spec: `tatoeba/fra-eng` (English first, French second), the path of a file of
            tab-separated pairs, two paths of files aligned by line, or the name of a translation
            set of tensorflow-datasets such as `ted_hrlr_translate/pt_to_en`.
        reverse: translate from the second side to the first.
        split_seed, n_validation, n_test: as in `split_by_components`, in pairs.
        manual_dir: for `tatoeba/...` the folder with the file; nothing is downloaded then. For
            tensorflow-datasets its manual_dir.
        skip_bad: leave out and count bad lines, rather than raise.
        source_column, target_column: of a file of tab-separated pairs.
        languages, licence: of the first and second side and of the data, for the record, where
            `spec` does not say.

    Raises:
        PairFileError: a file that cannot be read, with the line.
        DataSetError: a name that is unknown, or a download that failed.
        ValueError: data too small to be split.
    """
    options: dict[str, Any] = {
        "reverse": reverse,
        "split_seed": split_seed,
        "n_validation": n_validation,
        "n_test": n_test,
        "skip_bad": skip_bad,
    }
    told = {"languages": list(languages), "licence": licence}
    if not isinstance(spec, str | Path):
        source, target = _two(spec)
        read = read_aligned(source, target, skip_bad)
        about = _about([source, target], f"{source.name}, {target.name}", languages, licence)
        return _split(read, about, {"data": [str(source), str(target)], **options, **told})
    name = str(spec)
    if name.startswith("tatoeba/"):
        return _load_tatoeba(name, manual_dir, options)
    is_file = Path(spec).exists() and not Path(spec).is_dir()  # a name may be a folder here too
    if not is_file and not name.endswith(PAIR_SUFFIXES):
        from attention_zoo.training.tfds_pairs import load_tfds  # here: it imports TensorFlow

        return load_tfds(name, options, manual_dir)
    read = read_tsv(spec, source_column, target_column, skip_bad)
    about = _about([Path(spec)], Path(spec).name, languages, licence)
    columns = {"source_column": source_column, "target_column": target_column}
    return _split(read, about, {"data": name, **columns, **options, **told})


def load_aligned_splits(
    train: tuple[PathLike, PathLike],
    validation: tuple[PathLike, PathLike],
    test: Mapping[str, tuple[PathLike, PathLike]] | tuple[PathLike, PathLike],
    *,
    reverse: bool = False,
    skip_bad: bool = False,
    name: str | None = None,
    languages: Languages = (None, None),
    licence: str | None = None,
) -> TranslationData:
    """Load data that comes split, each part as a source and a target file aligned by line.

    Lines of validation and test stay one each, in order, also where a source stands twice, so
    that figures compare with published ones. `test` may name several sets; the first is `.test`.

    Raises:
        PairFileError: a file that cannot be read, with the line.
        ValueError: a part that is not a pair of paths, or no test set.
    """
    named = dict(test) if isinstance(test, Mapping) else {"test": test}
    if not named:
        raise ValueError("load_aligned_splits: test must name at least one set, got none.")
    paths = {"train": _two(train), "validation": _two(validation)}
    paths |= {f"test.{key}": _two(files) for key, files in named.items()}
    skipped: dict[str, int] = {}
    pairs: dict[str, list[SentencePair]] = {}
    for part, files in paths.items():
        read = read_aligned(*files, skip_bad)
        pairs[part] = swapped(read.pairs) if reverse else read.pairs
        skipped |= {f"{part}: {reason}": count for reason, count in read.skipped.items()}
    about = _about([file for files in paths.values() for file in files], name, languages, licence)
    spec = {
        "train": [str(file) for file in paths["train"]],
        "validation": [str(file) for file in paths["validation"]],
        "test": {key: [str(file) for file in paths[f"test.{key}"]] for key in named},
        "reverse": reverse,
        "skip_bad": skip_bad,
        "name": name,
    }
    return assembled(
        pairs["train"],
        one_by_one(pairs["validation"]),
        {key: one_by_one(pairs[f"test.{key}"]) for key in named},
        {**oriented(about, reverse), "split": "as the files come", "skipped": skipped},
        {**spec, "languages": list(languages), "licence": licence},
    )


def load_spec(spec: Mapping[str, Any], manual_dir: PathLike | None = None) -> TranslationData:
    """Load data again from the `spec` of its description.

    Raises:
        ValueError: not such a spec; and as the two functions above.
    """
    options = dict(spec)
    if "languages" in options:
        options["languages"] = tuple(options["languages"])
    load: Callable[..., TranslationData] = load_aligned_splits
    if "data" in options:
        load = load_translation_data
        options |= {"spec": options.pop("data"), "manual_dir": manual_dir}
    try:
        inspect.signature(load).bind(**options)
    except TypeError as error:
        raise ValueError(
            f"load_spec: expected the spec that a description records, got {dict(spec)} ({error})."
        ) from error
    return load(**options)


def swapped(pairs: Sequence[SentencePair]) -> list[SentencePair]:
    """The pairs for the other direction."""
    return [SentencePair(pair.target, pair.source) for pair in pairs]


def oriented(about: Mapping[str, Any], reverse: bool) -> dict[str, Any]:
    """`about` with `languages`, of the first and second side, as those of source and target."""
    rest = {key: value for key, value in about.items() if key != "languages"}
    first, second = about["languages"]
    source, target = (second, first) if reverse else (first, second)
    return {**rest, "source_language": source, "target_language": target}


def assembled(
    train: list[SentencePair],
    validation: list[Referenced],
    tests: dict[str, list[Referenced]],
    description: Mapping[str, Any],
    spec: Mapping[str, Any],
) -> TranslationData:
    """The parts with their sizes and the spec in the description."""
    sizes: dict[str, Any] = {"train": len(train), "validation": _size(validation)}
    sizes |= {
        name if name == "test" else f"test.{name}": _size(entries)
        for name, entries in tests.items()
    }
    full = {**description, "sizes": sizes, "spec": dict(spec)}
    return TranslationData(train, validation, next(iter(tests.values())), full, tests)


def _size(entries: Sequence[Referenced]) -> dict[str, int]:
    return {
        "sources": len(entries),
        "references": sum(len(entry.references) for entry in entries),
    }


def _split(read: ReadPairs, about: dict[str, Any], spec: dict[str, Any]) -> TranslationData:
    """The pairs split by components, in the direction that is asked for."""
    pairs = swapped(read.pairs) if spec["reverse"] else read.pairs
    parts = split_by_components(pairs, spec["split_seed"], spec["n_validation"], spec["n_test"])
    described = {
        **oriented(about, spec["reverse"]),
        "split": "connected components of pairs that share a normalised side",
        "split_seed": spec["split_seed"],
        "skipped": read.skipped,
    }
    tests = {"test": grouped(parts.test)}
    return assembled(parts.train, grouped(parts.validation), tests, described, spec)


def _load_tatoeba(
    name: str, manual_dir: PathLike | None, options: dict[str, Any]
) -> TranslationData:
    pair = name.removeprefix("tatoeba/")
    tatoeba.check_name(pair)
    if manual_dir is None:
        path = tatoeba.downloaded_file(pair)
    else:
        path = tatoeba.local_file(pair, manual_dir)
    about = _about([path], name, tatoeba.LANGUAGES[pair], tatoeba.LICENCE)
    about["attribution"] = tatoeba.ATTRIBUTION
    return _split(read_tsv(path, skip_bad=options["skip_bad"]), about, {"data": name, **options})


def _about(
    files: Sequence[Path], name: str | None, languages: Languages, licence: str | None
) -> dict[str, Any]:
    return {
        "name": name or ", ".join(path.name for path in files[:2]),
        "licence": licence or "not stated",
        "languages": languages,
        "sha256": {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files},
    }


def _two(files: Sequence[PathLike]) -> tuple[Path, Path]:
    if isinstance(files, str | Path) or len(files) != 2:
        raise PairFileError(
            f"expected the paths of two files aligned by line, got {files!r}. "
            "Fix: (source_file, target_file)."
        )
    return Path(files[0]), Path(files[1])
