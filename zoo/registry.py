"""The models by name."""

from collections.abc import Callable
from fnmatch import fnmatchcase
from importlib import import_module
from typing import TYPE_CHECKING, Any

from attention_zoo.model_config import check_names

if TYPE_CHECKING:
    from attention_zoo.seq2seq import Seq2Seq

_MODELS: dict[str, "Callable[..., Seq2Seq]"] = {}


def register_model(constructor: "Callable[..., Seq2Seq]") -> "Callable[..., Seq2Seq]":
    """Decorator: make a constructor known under its own name, ``<attention>_<cell>``.

    The constructor takes the fields of `ModelConfig` as keyword arguments. What is registered is
    listed, tested, trained and exported like the rest.
    """
    name = constructor.__name__
    if name in _MODELS:
        raise ValueError(
            f"register_model: {name!r} is registered already; expected a new name. "
            "Fix: rename the constructor."
        )
    _MODELS[name] = constructor
    return constructor


def list_models(pattern: str = "*") -> list[str]:
    """Names of the registered models that match a pattern such as ``"luong_*"``, sorted."""
    return sorted(name for name in _models() if fnmatchcase(name, pattern))


def create_model(name: str, /, **overrides: Any) -> "Seq2Seq":
    """A new model with random weights.

    Args:
        name: one of `list_models`.
        overrides: fields of `ModelConfig`.

    Raises:
        ValueError: an unknown name (with the nearest known ones), or a bad field.
    """
    models = _models()
    check_names("model", [name], sorted(models))
    return models[name](**overrides)


def model_summary(name: str) -> str:
    """The first line of a model's docstring."""
    models = _models()
    check_names("model", [name], sorted(models))
    return (models[name].__doc__ or "").strip().split("\n")[0]


def _models() -> "dict[str, Callable[..., Seq2Seq]]":
    import_module("attention_zoo.models")  # registers the zoo's own
    return _MODELS
