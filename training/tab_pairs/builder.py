"""Sentence pairs with a split that does not leak, as a data set of tensorflow-datasets."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import tensorflow_datasets as tfds

from attention_zoo.training import tatoeba
from attention_zoo.training.component_split import split_by_components
from attention_zoo.training.data_set_error import DataSetError
from attention_zoo.training.referenced import Referenced, grouped, one_by_one
from attention_zoo.training.sentence_pairs import read_tsv


@dataclass(eq=False)
class TabPairsConfig(tfds.core.BuilderConfig):
    """Which file, which columns, which split.

    Attributes:
        tatoeba: name of a file of manythings.org, such as "fra-eng", which is looked for in
            `manual_dir` and else downloaded.
        path: a local file instead; see `for_file`.
        source_column, target_column, skip_bad: as in `read_tsv`.
        split_seed, n_validation, n_test: as in `split_by_components`.
    """

    tatoeba: str | None = None
    path: str | None = None
    source_column: int = 0
    target_column: int = 1
    split_seed: int = 0
    n_validation: int = 2000
    n_test: int = 2000
    skip_bad: bool = False

    @classmethod
    def for_file(cls, path: str | Path, **options: Any) -> TabPairsConfig:
        """The config of a local file, for `TabPairs(config=...)`.

        The name holds a hash of the file and the options, so that data prepared from another
        version of the file or with other options is never taken for this.
        """
        path = Path(path)
        config = cls(name="", path=str(path), **options)
        decides = {key: value for key, value in asdict(config).items() if key != "path"}
        digest = hashlib.sha256(path.read_bytes())
        digest.update(repr(sorted(decides.items())).encode())
        config.name = f"{path.name.split('.')[0]}_{digest.hexdigest()[:12]}"
        return config


def _tatoeba_configs() -> list[TabPairsConfig]:
    """Both directions of each file, named by the languages: en_fr, fr_en."""
    configs = []
    for name, (first, second) in tatoeba.LANGUAGES.items():
        configs += [
            TabPairsConfig(name=f"{first}_{second}", tatoeba=name),
            TabPairsConfig(
                name=f"{second}_{first}", tatoeba=name, source_column=1, target_column=0
            ),
        ]
    return configs


class TabPairs(tfds.core.GeneratorBasedBuilder):
    """Sentence pairs from a tab-separated file, split by connected components.

    Examples of `train` are pairs; those of `validation` and `test` are sources, each once, with
    all their `references`, of which `target` is the first. All in the order of the file.

    >>> builder = TabPairs(config="fr_en")  # or TabPairsConfig.for_file("my.tsv")
    >>> builder.download_and_prepare()  # doctest: +SKIP
    >>> train = builder.as_dataset(split="train", as_supervised=True)  # doctest: +SKIP
    """

    VERSION = tfds.core.Version("1.0.0")
    RELEASE_NOTES = {"1.0.0": "First version."}  # noqa: RUF012
    BUILDER_CONFIGS = _tatoeba_configs()
    MANUAL_DOWNLOAD_INSTRUCTIONS = (
        f"Where there is a network, none is needed. Else put the file of {tatoeba.HOMEPAGE}, such "
        "as fra-eng.zip, into manual_dir."
    )
    # the folders of the checkout have other names than the packages they are
    pkg_dir_path = tfds.core.Path(__file__).parent

    def _info(self) -> Any:
        of_tatoeba = self.builder_config.tatoeba is not None
        text = tfds.features.Text()
        return tfds.core.DatasetInfo(
            builder=self,
            description="Sentence pairs of a tab-separated file. Pairs that share a normalised "
            "source or target stand in one split.",
            features=tfds.features.FeaturesDict(
                {"source": text, "target": text, "references": tfds.features.Sequence(text)}
            ),
            supervised_keys=("source", "target"),
            homepage=tatoeba.HOMEPAGE if of_tatoeba else None,
            license=f"{tatoeba.LICENCE}, {tatoeba.ATTRIBUTION}" if of_tatoeba else None,
            disable_shuffling=True,
            metadata=tfds.core.MetadataDict(),
        )

    def _split_generators(self, dl_manager: Any) -> dict[str, Any]:
        config = self.builder_config
        path = self._file(dl_manager)
        read = read_tsv(path, config.source_column, config.target_column, config.skip_bad)
        parts = split_by_components(
            read.pairs, config.split_seed, config.n_validation, config.n_test
        )
        self.info.metadata["sha256"] = hashlib.sha256(path.read_bytes()).hexdigest()
        self.info.metadata["skipped"] = read.skipped
        return {
            "train": self._generate_examples(one_by_one(parts.train)),
            "validation": self._generate_examples(grouped(parts.validation)),
            "test": self._generate_examples(grouped(parts.test)),
        }

    def _generate_examples(self, entries: list[Referenced]) -> Iterator[tuple[int, dict[str, Any]]]:
        for number, entry in enumerate(entries):
            yield (
                number,
                {
                    "source": entry.source,
                    "target": entry.references[0],
                    "references": list(entry.references),
                },
            )

    def _file(self, dl_manager: Any) -> Path:
        """The local file, the one in the user's manual_dir, or a download."""
        config = self.builder_config
        if config.path is not None:
            return Path(config.path)
        try:
            return tatoeba.local_file(config.tatoeba, dl_manager.manual_dir)
        except (AssertionError, DataSetError):  # no such folder, or one without the file
            return tatoeba.downloaded_file(
                config.tatoeba, Path(dl_manager.download_dir) / "tatoeba"
            )
