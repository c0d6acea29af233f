"""A model small enough to train in a test: it copies position by position."""

from collections.abc import Callable
from types import SimpleNamespace

import keras
import pytest

from attention_zoo.training import (
    CopyTask,
    MaskedCrossEntropy,
    Recipe,
    SequenceAccuracy,
    Stage,
    TokenAccuracy,
    load_translation_data,
)
from attention_zoo.training.translation_recipe import TranslationRecipe


def _build(n_symbols: int = 5, dropout: float = 0.0, seed: int = 0) -> keras.Model:
    keras.utils.set_random_seed(seed)
    vocab = 4 + n_symbols
    model = keras.Sequential(
        [
            keras.Input((None,), dtype="int32"),
            keras.layers.Embedding(vocab, 7),
            keras.layers.Dropout(dropout, seed=11),
            keras.layers.Dense(vocab),
        ]
    )
    model.compile(
        keras.optimizers.Adam(0.01),
        loss=MaskedCrossEntropy(),
        metrics=[TokenAccuracy(), SequenceAccuracy()],
    )
    return model


@pytest.fixture
def build_model() -> Callable[..., keras.Model]:
    """A function that gives a new compiled model, the same for the same arguments."""
    return _build


@pytest.fixture
def copy_batches():
    """A function (stage, start, stop) -> batches, as TrainingRun asks for them."""
    task = CopyTask(n_symbols=5)

    def batches(stage: Stage, start: int, stop: int):
        data = task.dataset(3, 1, stage.max_length, 7, stop, bands=stage.bands, start=start)
        return data.map(lambda batch: (batch["source"], batch["target"]))

    return batches


@pytest.fixture(scope="session")
def tiny_recipe() -> Recipe:
    """Copies three symbols of five; seconds of training."""
    return Recipe(
        n_symbols=5,
        model={"d_emb": 11, "units": 13, "max_length": 7},
        stages=(Stage({3: 1.0}, steps=150, learning_rate=0.01),),
        lengths=(2, 3),
        batch_size=17,
        steps_per_round=50,
        n_evaluation=23,
    )


@pytest.fixture(scope="session")
def tiny_translation_recipe() -> TranslationRecipe:
    """Some steps on small batches with all that a recipe can switch on; learns a little."""
    return TranslationRecipe(
        model={
            "d_emb": 7,
            "units": 5,
            "dropout": 0.2,
            "dropout_memory": 0.1,
            "layer_norm": True,
            "tied_embeddings": "all",
            "max_length": 9,
        },
        vocab_size=330,
        batch_size=16,
        buckets=(12, 40),
        epochs=3,
        learning_rate=0.02,
        warmup_steps=4,
        ema_momentum=0.8,
        n_measured=5,
        subword_dropout=0.1,
        scheduled_sampling=0.3,
        precision="float32",
        beam_width=2,
    )


@pytest.fixture(scope="session")
def translation_data(pairs_file):
    """The pairs of the tests, split."""
    return load_translation_data(pairs_file, n_validation=13, n_test=17)


class WordTokenizer:
    """Stands in for a SentencePiece tokenizer: each word is an id."""

    def __init__(self, vocab_size: int) -> None:
        self.vocab_size = vocab_size

    def encode_batch(self, texts: list[str]) -> list[list[int]]:
        return [[*map(int, text.split()), 2] for text in texts]

    def decode(self, ids: list[int]) -> str:
        kept = ids[: ids.index(2)] if 2 in ids else ids
        return " ".join(str(number) for number in kept if number)


@pytest.fixture
def word_tokenizers() -> Callable[[int, int], SimpleNamespace]:
    """A function (vocab_source, vocab_target) -> tokenizers of text that is ids in words."""
    return lambda source, target: SimpleNamespace(
        source=WordTokenizer(source), target=WordTokenizer(target)
    )
