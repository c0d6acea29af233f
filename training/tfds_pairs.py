"""The translation sets of tensorflow-datasets, by name."""

from __future__ import annotations

import hashlib
import importlib
import socket
import urllib.parse
import urllib.request
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import tensorflow_datasets as tfds

from attention_zoo.training.component_split import split_by_components
from attention_zoo.training.data_set_error import DataSetError
from attention_zoo.training.referenced import Referenced, grouped, one_by_one
from attention_zoo.training.sentence_pairs import SentencePair
from attention_zoo.training.translation_data import (
    TranslationData,
    assembled,
    oriented,
    swapped,
)

HELD_OUT = ("validation", "test")
REFERENCES = "references"


def load_tfds(
    name: str, options: dict[str, Any], manual_dir: str | Path | None = None
) -> TranslationData:
    """Load a translation set of tensorflow-datasets, downloaded and prepared if need be.

    Its own splits `train`, `validation` and `test` are used, in order: one reference a source, or
    all `references` of a source where an example holds them, as those of our `tab_pairs/fr_en` do.
    A split that it lacks is taken from `train` by `split_by_components`, with all references.
    Examples with an empty side, which some sets have, are left out and counted.

    Args:
        name: such as `ted_hrlr_translate/pt_to_en`.
        options: reverse, split_seed, n_validation, n_test, as in `load_translation_data`.
        manual_dir: of tensorflow-datasets.

    Raises:
        DataSetError: an unknown name, a set without sentence pairs, or no network.
    """
    builder = _builder(name)
    first, second = _sides(name, builder)
    _prepare(name, builder, manual_dir)
    skipped: dict[str, int] = {}
    parts: dict[str, list[SentencePair]] = {}
    hashes: dict[str, str] = {}
    for split in ("train", *HELD_OUT):
        if split in builder.info.splits:
            examples = tfds.as_numpy(builder.as_dataset(split=split, shuffle_files=False))
            parts[split], empty = _pairs(examples, first, second)
            skipped |= {f"{split}: {reason}": count for reason, count in empty.items()}
            hashes[f"{split} (its text)"] = _hash(parts[split])
    if not parts.get("train"):
        raise DataSetError(
            f"{name}: expected a split train with sentence pairs, got the splits "
            f"{', '.join(builder.info.splits) or 'none'}. Fix: another set."
        )
    about = {
        "name": builder.info.full_name,
        "licence": str(builder.info.redistribution_info.license or "not stated"),
        "sha256": hashes,
        "languages": (first, second),
    }
    description = {**oriented(about, options["reverse"]), "skipped": skipped}
    has_references = REFERENCES in builder.info.features
    return _split(parts, has_references, description, {"data": name, **options})


def _split(
    parts: dict[str, list[SentencePair]],
    has_references: bool,
    description: dict[str, Any],
    spec: dict[str, Any],
) -> TranslationData:
    """The parts in the direction that is asked for, and those that lack taken from train."""
    if spec["reverse"]:
        parts = {split: swapped(pairs) for split, pairs in parts.items()}
    referenced = grouped if has_references else one_by_one
    held_out: dict[str, list[Referenced]] = {
        split: referenced(parts[split]) for split in HELD_OUT if split in parts
    }
    lacking = [split for split in HELD_OUT if split not in parts]
    train = parts["train"]
    if lacking:
        sizes = {f"n_{split}": spec[f"n_{split}"] if split in lacking else 0 for split in HELD_OUT}
        made = split_by_components(train, spec["split_seed"], **sizes)
        train = made.train
        held_out |= {split: grouped(getattr(made, split)) for split in lacking}
        description |= {"split_seed": spec["split_seed"]}
    description["split"] = "of the data set" + "".join(
        f"; {split} taken from train by connected components" for split in lacking
    )
    return assembled(train, held_out["validation"], {"test": held_out["test"]}, description, spec)


def _builder(name: str) -> Any:
    importlib.import_module("attention_zoo.training.tab_pairs.builder")  # makes its name known
    try:
        return tfds.builder(name)
    except (tfds.core.DatasetNotFoundError, ValueError) as error:
        said = str(error).split("\n")[0].rstrip(".")
        raise DataSetError(
            f"{name!r}: expected a file of sentence pairs, tatoeba/fra-eng, or a data set of "
            f"tensorflow-datasets such as ted_hrlr_translate/pt_to_en, got none of them "
            f"({said}). Fix: the path or the name."
        ) from error


def _sides(name: str, builder: Any) -> tuple[str, str]:
    """The two keys of an example that hold a sentence each, source first."""
    features = builder.info.features
    keys = builder.info.supervised_keys
    if not keys or len(keys) != 2 or not all(_is_text(features, key) for key in keys):
        got = ", ".join(sorted(map(str, features)))
        raise DataSetError(
            f"{name}: expected a data set of sentence pairs, got the features {got}. "
            "Fix: a set with a source and a target sentence, such as ted_hrlr_translate/pt_to_en."
        )
    return keys[0], keys[1]


def _is_text(features: Any, key: Any) -> bool:
    return isinstance(key, str) and isinstance(features[key], tfds.features.Text)


def _prepare(name: str, builder: Any, manual_dir: str | Path | None) -> None:
    if builder.is_prepared():
        return
    downloads = Path(builder.data_dir_root) / "downloads"
    if manual_dir is None and not downloads.exists():
        # tensorflow-datasets tries for minutes before it says that there is no network
        _check_network(name, builder.url_infos or {})
    try:
        builder.download_and_prepare(
            download_config=tfds.download.DownloadConfig(
                manual_dir=manual_dir, try_download_gcs=False
            )
        )
    except (OSError, AssertionError, tfds.download.DownloadError) as error:
        raise _not_prepared(name, str(error)) from error


def _check_network(name: str, urls: Iterable[str]) -> None:
    """Raise DataSetError if none of the hosts has an address."""
    hosts = {urllib.parse.urlsplit(url).hostname for url in urls} - {None}
    if not hosts or urllib.request.getproxies():  # a proxy finds the addresses itself
        return
    for host in hosts:
        try:
            socket.getaddrinfo(host, None)
            return
        except OSError:
            continue
    raise _not_prepared(name, f"no address for {', '.join(sorted(map(str, hosts)))}")


def _not_prepared(name: str, reason: str) -> DataSetError:
    return DataSetError(
        f"{name}: expected to download and prepare the data set, got: {reason[:500]}. Fix: a "
        "network; or prepare it on another machine and copy the folder that TFDS_DATA_DIR names "
        "(~/tensorflow_datasets)."
    )


def _pairs(
    examples: Iterable[dict[str, Any]], first: str, second: str
) -> tuple[list[SentencePair], Counter[str]]:
    pairs: list[SentencePair] = []
    skipped: Counter[str] = Counter()
    for example in examples:
        source = _text(example[first])
        for reference in example.get(REFERENCES, [example[second]]):
            target = _text(reference)
            if source and target:
                pairs.append(SentencePair(source, target))
            else:
                skipped["empty side"] += 1
    return pairs, skipped


def _text(content: bytes) -> str:
    return content.decode("utf-8", "replace").strip()


def _hash(pairs: Iterable[SentencePair]) -> str:
    digest = hashlib.sha256()
    for pair in pairs:
        digest.update(f"{pair.source}\t{pair.target}\n".encode())
    return digest.hexdigest()
