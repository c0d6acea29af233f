"""The test sets that translation models are measured on: named by options, or recorded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from attention_zoo.commands.data_options import COLUMNS, SPLIT, DataChoice

if TYPE_CHECKING:
    from attention_zoo.training.translation_data import Referenced, TranslationData

Parts = Mapping[str, "list[Referenced]"]


@dataclass(frozen=True)
class HeldOut:
    """Test sets by name, and the name of the data that they come from."""

    name: str
    parts: Parts


def held_out(models: Sequence[str], choice: DataChoice, split: str, limit: int | None) -> HeldOut:
    """The test sets that the options name, or else those of the data the models were trained on.

    Raises:
        click.UsageError: neither says what to translate.
        ValueError: the models were trained on different data, or the data has changed.
    """
    if choice.test_source is not None:
        return HeldOut(Path(choice.test_source).name, _cut({"test": choice.load_test()}, limit))
    recorded = _recorded_data(models)
    if recorded is None:
        if not choice.names_pairs:
            raise click.UsageError(
                "not every MODEL says what it was trained on: name the test set by --test-source "
                "and --test-target, or the data by --data."
            )
        data = choice.load()
    else:
        data = _load_again(models[0], recorded, choice)
        _check_unchanged(models[0], recorded, data, bool(choice.names_pairs))
    parts: Parts = data.tests if split == "test" else {split: data.validation}
    return HeldOut(str(data.description["name"]), _cut(parts, limit))


def _cut(parts: Parts, limit: int | None) -> Parts:
    return {name: entries[:limit] for name, entries in parts.items()}


def _recorded_data(models: Sequence[str]) -> dict[str, Any] | None:
    """The data that all models were trained on, as recorded; None where one does not say."""
    from attention_zoo.commands.export import record_of

    found = [(record_of(model) or {}).get("data") or {} for model in models]
    if not all("spec" in data for data in found):
        return None
    for model, data in zip(models, found, strict=True):
        if _identity(data) != _identity(found[0]):
            raise ValueError(
                f"{models[0]} and {model} were trained on different data, or on different splits "
                "of it: what one has not seen the other may have. Fix: name a test set of its own "
                "by --test-source and --test-target."
            )
    return found[0]


def _load_again(model: str, recorded: Mapping[str, Any], choice: DataChoice) -> TranslationData:
    try:
        return choice.load_again(recorded["spec"])
    except (ValueError, OSError) as error:
        if choice.names_pairs:
            raise
        raise ValueError(
            f"{error} ({model} was trained on {recorded.get('name')}: say where that lies by "
            "--data or --manual-dir, or name a test set by --test-source and --test-target.)"
        ) from error


def _identity(data: Mapping[str, Any]) -> tuple[Any, ...]:
    """What decides which sentences are in which part: the bytes of the files, and the split."""
    spec, default = data["spec"], DataChoice()
    split = (spec.get(name, getattr(default, name)) for name in (*SPLIT, *COLUMNS))
    return (_hashes(data) or [str(data.get("name"))], *split)


def _hashes(data: Mapping[str, Any]) -> list[str]:
    hashes = data.get("sha256") or {}
    return sorted(hashes.values() if isinstance(hashes, Mapping) else [str(hashes)])


def _check_unchanged(
    model: str, recorded: Mapping[str, Any], data: TranslationData, is_named: bool
) -> None:
    """Other bytes make another split: an error for the recorded data, a note for data named."""
    if _hashes(recorded) == _hashes(data.description):
        return
    if is_named:
        click.echo(
            f"Note: not the bytes that {model} was trained on; its training may have seen "
            "sentences of this test set.",
            err=True,
        )
        return
    raise ValueError(
        f"{model}: the data that it was trained on has changed: expected sha256 "
        f"{', '.join(_hashes(recorded))}, got {', '.join(_hashes(data.description))}. The test "
        "set may now hold sentences of the training. Fix: restore the files, or name other data."
    )
