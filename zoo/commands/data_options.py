"""Options that name a translation data set, shared by the commands that read one."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

if TYPE_CHECKING:
    from attention_zoo.training.translation_data import Referenced, TranslationData

# options of how pairs are split, which a spec that names no files of its own records
SPLIT = ("reverse", "split_seed", "n_validation", "n_test", "skip_bad")
COLUMNS = ("source_column", "target_column")


@dataclass(frozen=True)
class DataChoice:
    """The data set that the options name; nothing is read before one of the methods is called.

    Attributes:
        data: a file of tab-separated pairs, or the name of a data set.
        source_file, target_file: two line-aligned files, instead of `data`.
        validation_source, validation_target: line-aligned files of the validation part.
        test_source: source sentences of the test part.
        test_target: its references: one file a reference, each aligned with `test_source`.
        reverse: translate from the second side to the first.
        source_column, target_column: of a file of tab-separated pairs, counted from 0.
        split_seed, n_validation, n_test: how data without parts of its own is split.
        skip_bad: leave lines out that cannot be read, and count them, instead of refusing.
        manual_dir: folder of files that were downloaded by hand.
        typed: names of the options that stand on the command line.
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
    typed: frozenset[str] = field(default=frozenset(), compare=False)

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
        if self.validation_source and not self.source_file:
            raise click.UsageError(
                "--validation-source goes with --source-file; what --data names has parts of its "
                "own, or is split."
            )

    @property
    def names_pairs(self) -> bool:
        """Whether the options name data to train on."""
        return bool(self.data or self.source_file)

    def load(self) -> TranslationData:
        """Read the data that the options name.

        Raises:
            click.UsageError: they name none, or files that do not make a training set.
            ValueError, OSError: as the readers of `attention_zoo.training`.
        """
        from attention_zoo.training.translation_data import (
            load_aligned_splits,
            load_translation_data,
        )

        if not self.names_pairs:
            raise click.UsageError(
                "no data: name it by --data (a file of tab-separated pairs, or a data set), or by "
                "--source-file and --target-file."
            )
        if bool(self.validation_source) != bool(self.test_source):
            raise click.UsageError(
                "--validation-source and --test-source go together when a model is trained; "
                "without both, the pairs are split."
            )
        files = _both(self.source_file, self.target_file)
        validation = _both(self.validation_source, self.validation_target)
        if files is None or validation is None:
            options = {name: getattr(self, name) for name in (*SPLIT, *COLUMNS, "manual_dir")}
            return load_translation_data(files or str(self.data), **options)
        if len(self.test_target) > 1:
            raise click.UsageError(
                "a training run takes one --test-target; `attention-zoo evaluate` takes several."
            )
        return load_aligned_splits(
            train=files,
            validation=validation,
            test=(str(self.test_source), self.test_target[0]),
            reverse=self.reverse,
            skip_bad=self.skip_bad,
        )

    def load_again(self, spec: Mapping[str, Any]) -> TranslationData:
        """Read the data that a training run recorded, in the places that the options name.

        What is typed takes the place of what was recorded: `--data` names the same data in another
        place, and direction and split stay as they were.

        Args:
            spec: `description["spec"]` of the data.

        Raises:
            ValueError, OSError: as `load_spec`.
        """
        from attention_zoo.training.translation_data import load_spec

        if self.names_pairs and "data" not in spec:
            return self.load()
        merged = dict(spec)
        if self.names_pairs:
            for name in COLUMNS:
                merged.pop(name, None)
            merged["data"] = self.data or [self.source_file, self.target_file]
        for name in (*SPLIT, *COLUMNS):
            if name in self.typed:
                merged[name] = getattr(self, name)
        return load_spec(merged, self.manual_dir)

    def load_test(self) -> list[Referenced]:
        """The test set that --test-source and --test-target name."""
        from attention_zoo.training.reference_files import read_references

        if self.test_source is None:
            raise click.UsageError("no test set: name it by --test-source and --test-target.")
        return read_references(
            self.test_source, self.test_target, reverse=self.reverse, skip_bad=self.skip_bad
        )


NAMES = {known.name for known in fields(DataChoice)} - {"typed"}


def _both(source: str | None, target: str | None) -> tuple[str, str] | None:
    return (source, target) if source and target else None


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


_FILE = click.Path(dir_okay=False)
_COLUMN = click.IntRange(0)
_OPTIONS = (
    click.option(
        "--data",
        metavar="FILE|NAME",
        help="Sentence pairs: a file with a pair a line, separated by a tab (.tsv, .txt, .gz, "
        ".zip); or a data set: tatoeba/fra-eng (English first), or a name of "
        "tensorflow-datasets such as ted_hrlr_translate/pt_to_en.",
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
    click.option(
        "--reverse/--no-reverse",
        default=False,
        help="Translate the other way round: from the second side to the first.",
    ),
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
        help="Pairs of the validation part, where data is split.",
    ),
    click.option(
        "--n-test",
        type=click.IntRange(1),
        default=2000,
        show_default=True,
        help="Pairs of the test part, where data is split.",
    ),
    click.option(
        "--skip-bad", is_flag=True, help="Leave unreadable lines out and count them; no error."
    ),
    click.option(
        "--manual-dir",
        type=click.Path(file_okay=False),
        help="Folder of files downloaded by hand: no download.",
    ),
)


def data_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of a data set; it gets them as one argument, `data_choice`."""

    @functools.wraps(function)
    def with_choice(*args: Any, **kwargs: Any) -> Any:
        given = {name: kwargs.pop(name) for name in NAMES}
        source = click.get_current_context().get_parameter_source
        typed = frozenset(name for name in NAMES if source(name) is ParameterSource.COMMANDLINE)
        return function(*args, data_choice=DataChoice(**given, typed=typed), **kwargs)

    command: Callable[..., Any] = with_choice
    for option in reversed(_OPTIONS):
        command = option(command)
    return command
