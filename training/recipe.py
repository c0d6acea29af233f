"""Recipes: what is trained and how, as data that the commands, the study and the demo share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from attention_zoo.model_config import check_names
from attention_zoo.training.stage import Stage


@dataclass(frozen=True)
class Recipe:
    """Everything about training on the copy task but the name of the model and the seed.

    Attributes:
        n_symbols: alphabet of the task.
        model: options of `create_model`, the same for every model that follows the recipe.
        stages: the curriculum.
        lengths: lengths that the trained model is measured at.
        batch_size: sequences a step.
        clip_norm: largest norm of all gradients together.
        steps_per_round: steps between two looks at the loss.
        n_evaluation: fresh sequences of each length.
        jit_compile: whether XLA compiles the training step. On two cores it halves a step of
            length 20, makes one of length 80 slower, and takes 10 to 20 s for each width of
            batch, which a run of minutes does not win back.
    """

    n_symbols: int
    model: Mapping[str, Any]
    stages: tuple[Stage, ...]
    lengths: tuple[int, ...]
    batch_size: int = 64
    clip_norm: float = 1.0
    steps_per_round: int = 25
    n_evaluation: int = 200
    jit_compile: bool = False

    def identity(self) -> dict[str, Any]:
        """The fields that decide what a run does besides its stages, for resume and manifest."""
        fields = asdict(self)
        for name in ("stages", "lengths", "n_evaluation"):
            del fields[name]
        return fields


_MODEL = {"d_emb": 32, "units": 128, "d_attn": 64, "max_length": 96}


def _climb(bands: Mapping[int, float], steps: int) -> Stage:
    """A stage that goes on to the next length as soon as it has been understood."""
    return Stage(bands, steps, until_loss=0.1, learning_rate=3e-3)


RECIPES: dict[str, Recipe] = {
    # Lengths to 80, minutes of training: the presets and the study. A model without attention
    # never gets to the losses that end a stage, and learns the shortest lengths in their share.
    "copy": Recipe(
        n_symbols=16,
        model=_MODEL,
        stages=(
            _climb({5: 1.0}, steps=300),
            _climb({5: 1.0, 10: 1.0}, steps=200),
            _climb({5: 2.0, 10: 1.0, 20: 3.0}, steps=200),
            _climb({5: 2.0, 10: 1.0, 20: 1.0, 40: 3.0}, steps=200),
            Stage(
                {5: 2.0, 10: 1.0, 20: 1.0, 40: 1.0, 80: 3.0},
                steps=400,
                learning_rate=3e-3,
                final_learning_rate=1e-4,
            ),
        ),
        lengths=(5, 10, 20, 40, 80),
    ),
    # Lengths to 10, under a minute of training: the demo.
    "copy_short": Recipe(
        n_symbols=16,
        model={**_MODEL, "max_length": 16},
        stages=(
            _climb({5: 1.0}, steps=300),
            Stage(
                {5: 1.0, 10: 1.0},
                steps=200,
                until_loss=0.01,
                learning_rate=3e-3,
                final_learning_rate=3e-4,
            ),
        ),
        lengths=(3, 5, 10),
    ),
}


def get_recipe(name: str) -> Recipe:
    """The recipe of this name.

    Raises:
        ValueError: there is none; names those there are and the nearest.
    """
    check_names("recipe", [name], sorted(RECIPES))
    return RECIPES[name]
