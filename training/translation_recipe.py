"""How a translation model is trained, as data."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

from attention_zoo.model_config import check_names
from attention_zoo.training.bleu import TOKENIZERS
from attention_zoo.training.sentence_batches import BUCKETS

PRECISIONS = {"float32": "float32", "bfloat16": "mixed_bfloat16"}
"""Name -> Keras dtype policy. Weights are float32 in both; bfloat16 multiplies matrices in it."""

MONITORS = ("loss", "bleu")


@dataclass(frozen=True)
class TranslationRecipe:
    """Everything about a training but the data, the name of the model and the seed.

    Attributes:
        model: options of `create_model` for every model.
        models: name of a model -> options of that one besides.
        vocab_size: pieces of the tokenizer, of each where they are not joint.
        joint: one tokenizer for both sides.
        batch_size: sentence pairs a step.
        buckets: widths that batches are padded to, in pieces; longer pairs are left out.
        epochs: passes over the data at most.
        rounds_per_epoch: how often an epoch is validated, logged and saved.
        learning_rate: the highest, after the warm-up.
        warmup_steps: over which it rises from 0.
        final_learning_rate: at the last step, down a half cosine.
        clip_norm: largest norm of all gradients together.
        label_smoothing: share of each target's probability spread over the vocabulary.
        ema_momentum: of the average of the weights that is validated and kept; 0 = none.
        patience: rounds without a better one that end the training; None never does.
        monitor: what "better" means: "loss" (on the validation set) or "bleu" (greedy, on it).
        n_measured: validation sentences for BLEU after each round; 0 = no BLEU.
        tokenize, lowercase: how BLEU reads the text; "none" if it is tokenised already.
        subword_dropout: share of the merges that each epoch leaves out anew when it splits words
            (BPE-dropout, Provilkov et al. 2020); 0 = none.
        scheduled_sampling: share of the target's inputs that are the model's own guesses at the
            end of the training, rising in proportion to the steps (Bengio et al. 2015); 0 = none.
        precision: "float32" or "bfloat16", which is faster where the processor has it.
        jit_compile: whether XLA compiles the step, once for each width of batch.
        beam_width, length_penalty: of the search that measures the trained model.

    Raises:
        ValueError: a field outside its range.
    """

    model: Mapping[str, Any] = field(default_factory=dict)
    models: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    vocab_size: int = 6000
    joint: bool = True
    batch_size: int = 64
    buckets: tuple[int, ...] = BUCKETS
    epochs: int = 15
    rounds_per_epoch: int = 1
    learning_rate: float = 1.5e-3
    warmup_steps: int = 500
    final_learning_rate: float = 3e-5
    clip_norm: float = 1.0
    label_smoothing: float = 0.1
    ema_momentum: float = 0.999
    patience: int | None = None
    monitor: str = "loss"
    n_measured: int = 500
    tokenize: str = "13a"
    lowercase: bool = False
    subword_dropout: float = 0.0
    scheduled_sampling: float = 0.0
    precision: str = "bfloat16"
    jit_compile: bool = False
    beam_width: int = 4
    length_penalty: float = 1.0

    def __post_init__(self) -> None:
        for name in ("batch_size", "epochs", "rounds_per_epoch", "vocab_size", "beam_width"):
            self._check(name, self._is_whole(name, 1), "a whole number of at least 1")
        for name in ("warmup_steps", "n_measured"):
            self._check(name, self._is_whole(name, 0), "a whole number of at least 0")
        for name in ("learning_rate", "final_learning_rate", "clip_norm"):
            self._check(name, self._is_number(name, 0.0) and getattr(self, name) > 0, "above 0")
        for name in ("label_smoothing", "ema_momentum", "subword_dropout", "scheduled_sampling"):
            self._check(name, self._is_number(name, 0.0) and getattr(self, name) < 1, "in [0, 1)")
        self._check("length_penalty", self._is_number("length_penalty", 0.0), "at least 0")
        for name in ("joint", "lowercase", "jit_compile"):
            self._check(name, isinstance(getattr(self, name), bool), "true or false")
        self._check(
            "patience",
            self.patience is None or self._is_whole("patience", 1),
            "a whole number of at least 1, or None",
        )
        for name, known in (
            ("precision", PRECISIONS),
            ("monitor", MONITORS),
            ("tokenize", TOKENIZERS),
        ):
            value = getattr(self, name)
            is_known = isinstance(value, str) and value in known
            self._check(name, is_known, f"one of {', '.join(known)}")
        self._check_together()

    def _check_together(self) -> None:
        falls = self.final_learning_rate <= self.learning_rate
        self._check("final_learning_rate", falls, "at most the learning rate")
        if self.monitor == "bleu":
            self._check("n_measured", self.n_measured > 0, "above 0 where BLEU is the monitor")
        widths = self.buckets
        are_widths = isinstance(widths, Sequence) and not isinstance(widths, str)
        are_whole = are_widths and all(type(width) is int for width in widths)
        self._check("buckets", are_whole, "a list of whole numbers")
        object.__setattr__(self, "buckets", tuple(widths))
        for name in ("model", "models"):
            self._check(name, isinstance(getattr(self, name), Mapping), "options by their names")
        nested = all(isinstance(options, Mapping) for options in self.models.values())
        self._check("models", nested, "options by the names of models")

    def _is_whole(self, name: str, least: int) -> bool:
        value = getattr(self, name)
        return isinstance(value, int) and not isinstance(value, bool) and value >= least

    def _is_number(self, name: str, least: float) -> bool:
        value = getattr(self, name)
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        return is_number and math.isfinite(value) and value >= least

    def _check(self, name: str, is_right: bool, expected: str) -> None:
        if not is_right:
            raise ValueError(
                f"TranslationRecipe: {name} is {getattr(self, name)!r}; expected {expected}."
            )

    def model_options(self, name: str) -> dict[str, Any]:
        """Options of `create_model` for the model of this name."""
        return {**self.model, **self.models.get(name, {})}

    def replace(self, **changes: Any) -> TranslationRecipe:
        """The recipe with other values; those that are None are left as they are."""
        given = {name: value for name, value in changes.items() if value is not None}
        check_names("field of a recipe", given, [entry.name for entry in fields(self)])
        return replace(self, **given)

    def to_dict(self) -> dict[str, Any]:
        """The fields as they come back from JSON."""
        return {**asdict(self), "buckets": list(self.buckets)}


# Of one size, 2.3 million weights, so that what differs between them is the attention.
_MODELS = {
    "bahdanau_gru": {"units": 256, "d_attn": 192, "bidirectional": True, "layer_norm": True},
    "luong_general_gru": {"units": 256, "d_s": 352, "bidirectional": True, "layer_norm": True},
    "seq2seq_gru": {"d_emb": 256, "units": 256},
}

TRANSLATION_RECIPES: dict[str, TranslationRecipe] = {
    # Short sentences of daily life, some hundred thousand pairs: Tatoeba.
    "tatoeba": TranslationRecipe(
        model={
            "d_emb": 128,
            "dropout": 0.2,
            "tied_embeddings": "all",
            "max_length": 64,
        },
        models=_MODELS,
        batch_size=128,
        epochs=10,
    ),
    # Longer sentences, few of them, so that what keeps a model from learning them by heart decides:
    # Multi30k, 29,000 pairs of lower-cased, tokenised captions.
    "multi30k": TranslationRecipe(
        model={
            "d_emb": 160,
            "units": 256,
            "bidirectional": True,
            "layer_norm": True,
            "dropout_embedding": 0.3,
            "dropout_memory": 0.4,
            "dropout_readout": 0.4,
            "tied_embeddings": "all",
            "max_length": 64,
        },
        vocab_size=8000,
        batch_size=64,
        epochs=45,
        warmup_steps=400,
        ema_momentum=0.9985,
        n_measured=400,
        tokenize="none",
        beam_width=8,
    ),
}


def get_translation_recipe(name: str) -> TranslationRecipe:
    """The recipe of this name.

    Raises:
        ValueError: there is none; names those there are and the nearest.
    """
    check_names("recipe", [name], sorted(TRANSLATION_RECIPES))
    return TRANSLATION_RECIPES[name]
