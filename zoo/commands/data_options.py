"""Options that name a translation data set, shared by the commands that read one."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import click

from attention_zoo.model_config import check_names

if TYPE_CHECKING:
    from attention_zoo.training.translation_data import Referenced, TranslationData

SPEC = "spec"
"""Under this key a data set's description holds the options that load it again."""


@dataclass(frozen=True)
class DataChoice:
    """The data set that the options name; nothing is read before `load` or `load_test`.

    Attributes:
        data: a file of tab-separated pairs, or the name of a tensorflow-datasets set.
        source_file, target_file: two line-aligned files, instead of `data`.
        validation_source, validation_target: line-aligned files of the validation part.
        test_source: source sentences of the test part.
        test_target: its references: one file a reference, each aligned with `test_source`.
        reverse: translate from the target side to the source side.
        source_column, target_column: of a file of tab-separated pairs, counted from 0.
        split_seed, n_validation, n_test: how data without parts of its own is split.
        skip_bad: leave lines out that cannot be read, and count them, instead of refusing.
        manual_dir: where tensorflow-datasets finds files that were downloaded by hand.
    """

    data: str | None = None
    source_file: str | None = None
    target_file: str | None = None
    validation_source: str | None = None
    validation_target: str | None = None
    test_source: str | None = None
    test_target: tuple[str, ...] = ()
    reverse: bool = False
    source_column: int = 0
    target_column: int = 1
    split_seed: int = 0
    n_validation: int = 2000
    n_test: int = 2000
    skip_bad: bool = False
    manual_dir: str | None = None

    def __post_init__(self) -> None:
        for source, target in (
            ("source_file", "target_file"),
            ("validation_source", "validation_target"),
            ("test_source", "test_target"),
        ):
            if bool(getattr(self, source)) != bool(getattr(self, target)):
                raise click.UsageError(f"{_flag(source)} and {_flag(target)} go together.")
        if self.data and self.source_file:
            raise click.UsageError("--data and --source-file both name the data: choose one.")
        if bool(self.validation_source) != bool(self.test_source) and self.source_file:
            raise click.UsageError(
                "a training set in files of its own needs a validation and a test set in files "
                "too, or neither: give --validation-source and --test-source, or leave both out "
                "and the pairs are split."
            )
        if self.validation_source and not self.source_file:
            raise click.UsageError(
                "--validation-source goes with --source-file; data given by --data is split, or "
                "has parts of its own."
            )

    @property
    def is_given(self) -> bool:
        """Whether the options name any data."""
        return bool(self.data or self.source_file or self.test_source)

    def record(self) -> dict[str, Any]:
        """The options as JSON, without those at their defaults; `from_record` reads them back."""
        given = asdict(self)
        given["test_target"] = list(self.test_target)
        default = {**asdict(DataChoice()), "test_target": []}
        return {name: value for name, value in given.items() if value != default[name]}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> DataChoice:
        """The choice that `record` was made from.

        Raises:
            ValueError: an option that there is not.
        """
        check_names("data option", list(record), sorted(NAMES))
        return cls(**{**record, "test_target": tuple(record.get("test_target", ()))})

    def load(self) -> TranslationData:
        """Read the data; its description holds `record()` under "spec".

        Raises:
            click.UsageError: the options name no training data.
            ValueError, OSError: as the readers of `attention_zoo.training`; they name file and
                line.
        """
        from attention_zoo.training.translation_data import (
            load_aligned_splits,
            load_translation_data,
        )

        spec = (self.source_file, self.target_file) if self.source_file else self.data
        if spec is None:
            raise click.UsageError(
                "no data: name it by --data (a file of tab-separated pairs or a "
                "tensorflow-datasets name), or by --source-file and --target-file."
            )
        if self.source_file and self.validation_source:
            data = load_aligned_splits(
                train=spec,
                validation=(self.validation_source, self.validation_target),
                test={"test": (self.test_source, self.test_target[0])},
                reverse=self.reverse,
                skip_bad=self.skip_bad,
            )
        else:
            data = load_translation_data(
                spec,
                reverse=self.reverse,
                split_seed=self.split_seed,
                n_validation=self.n_validation,
                n_test=self.n_test,
                manual_dir=self.manual_dir,
                skip_bad=self.skip_bad,
                source_column=self.source_column,
                target_column=self.target_column,
            )
        if self.test_source:
            data = replace(data, test=self.load_test())
        return replace(data, description={**data.description, SPEC: self.record()})

    def load_test(self) -> list[Referenced]:
        """The test part alone; where --test-source names it, nothing else is read."""
        if not self.test_source:
            return self.load().test
        from attention_zoo.training.reference_files import read_references

        return read_references(
            self.test_source, self.test_target, reverse=self.reverse, skip_bad=self.skip_bad
        )


NAMES = {field.name for field in fields(DataChoice)}


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


_FILE = click.Path(dir_okay=False)
_COLUMN = click.IntRange(0)
_OPTIONS = (
    click.option(
        "--data",
        metavar="FILE|NAME",
        help="Sentence pairs: a file with a pair a line, separated by a tab (.tsv, .txt, .gz, "
        ".zip), or a tensorflow-datasets name such as ted_hrlr_translate/pt_to_en or "
        "tatoeba/fra-eng.",
    ),
    click.option("--source-file", type=_FILE, help="Source sentences, one a line."),
    click.option("--target-file", type=_FILE, help="Their translations, line by line."),
    click.option("--validation-source", type=_FILE, help="Source sentences for validation."),
    click.option("--validation-target", type=_FILE, help="Their translations."),
    click.option("--test-source", type=_FILE, help="Source sentences of the test set."),
    click.option(
        "--test-target",
        type=_FILE,
        multiple=True,
        help="Their translations; repeat it for several references.",
    ),
    click.option("--reverse", is_flag=True, help="Translate the other way round."),
    click.option(
        "--source-column", type=_COLUMN, default=0, show_default=True, help="In a file of pairs."
    ),
    click.option(
        "--target-column", type=_COLUMN, default=1, show_default=True, help="In a file of pairs."
    ),
    click.option(
        "--split-seed",
        type=click.IntRange(0),
        default=0,
        show_default=True,
        help="Splits data that has no parts of its own.",
    ),
    click.option(
        "--n-validation",
        type=click.IntRange(1),
        default=2000,
        show_default=True,
        help="Sources of the validation part, where data is split.",
    ),
    click.option(
        "--n-test",
        type=click.IntRange(1),
        default=2000,
        show_default=True,
        help="Sources of the test part, where data is split.",
    ),
    click.option(
        "--skip-bad", is_flag=True, help="Leave unreadable lines out and count them; no error."
    ),
    click.option(
        "--manual-dir",
        type=click.Path(file_okay=False),
        help="Folder of files downloaded by hand, for tensorflow-datasets.",
    ),
)


def data_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of a data set; it gets them as one argument, `data_choice`."""

    @functools.wraps(function)
    def with_choice(*args: Any, **kwargs: Any) -> Any:
        given = {name: kwargs.pop(name) for name in NAMES}
        return function(*args, data_choice=DataChoice(**given), **kwargs)

    command: Callable[..., Any] = with_choice
    for option in reversed(_OPTIONS):
        command = option(command)
    return command
