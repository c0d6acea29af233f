"""Small models with drawn weights, made once and shared by the tests of a session."""

import numpy as np
import pytest

from attention_zoo import create_model, list_models
from attention_zoo.vocabulary import EOS, FIRST_SYMBOL

# different primes, so that no two axes can be taken for each other
SMALL = {"vocab_source": 13, "vocab_target": 11, "d_emb": 5, "units": 7, "max_length": 6}

# option by option what a config can change, each on a model that shows it
VARIANTS = {
    "bidirectional": ("bahdanau_gru", {"bidirectional": True}),
    "stack": ("bahdanau_lstm", {"decoder_layers": 3, "encoder_layers": 2, "d_s": 3}),
    "feeding": ("luong_general_gru", {"input_feeding": True, "d_s": 3}),
    "feeding_stack": (
        "luong_general_lstm",
        {"input_feeding": True, "decoder_layers": 2, "encoder_layers": 2, "bidirectional": True},
    ),
    "deep_encoder": ("seq2seq_gru", {"encoder_layers": 3, "decoder_layers": 2}),
    "baseline_stack": ("seq2seq_lstm", {"bidirectional": True, "decoder_layers": 2}),
    "tied_target": ("luong_general_gru", {"tied_embeddings": "target"}),
    "tied_all": ("bahdanau_gru", {"tied_embeddings": "all", "vocab_source": 11}),
    "tied_baseline": ("seq2seq_gru", {"tied_embeddings": "target", "d_s": 5}),
    "dot_bidirectional": ("luong_dot_gru", {"bidirectional": True, "d_s": 14}),
    "dropout": ("luong_concat_gru", {"dropout": 0.5, "d_attn": 3}),
}


def small_model(name, **overrides):
    """A model of the zoo, or a variant of one, at small sizes."""
    options = dict(SMALL)
    if name in VARIANTS:
        name, changes = VARIANTS[name]
        options |= changes
    if name == "luong_multihead_gru":
        options |= {"units": 8}
    return create_model(name, **options | overrides)


def draw_weights(model, seed=0):
    """Large random matrices, so that every step decides clearly; no bias is zero."""
    rng = np.random.default_rng(seed)
    for weight in model.weights:
        if "seed" not in weight.name:
            scale = 0.2 if weight.name in ("b", "bias") else 1.7
            weight.assign(scale * rng.normal(size=weight.shape))
    return model


@pytest.fixture(scope="session")
def shared_model():
    """name -> one model with drawn weights that answers different sources differently.

    The same model in all tests of a session: do not change it.
    """
    made = {}

    def get(name):
        if name not in made:
            made[name] = model = small_model(name)
            source = draw_batch()["source"]
            for seed in range(20):
                draw_weights(model, seed)
                if len(np.unique(model.greedy(source)["tokens"], axis=0)) > 2:
                    break
        return made[name]

    return get


@pytest.fixture(scope="session")
def new_model():
    """(name, **overrides) -> a new model with the weights it begins with."""
    return small_model


@pytest.fixture(scope="session")
def with_drawn_weights():
    return draw_weights


def draw_batch(n=7, T_enc=5, T_dec=6, seed=0, vocab=11):
    """Symbols, eos, padding: {"source", "target"} with rows of different lengths."""
    rng = np.random.default_rng(seed)

    def rows(width):
        ids = rng.integers(FIRST_SYMBOL, vocab, size=(n, width)).astype("int32")
        lengths = rng.integers(0, width, size=n)
        lengths[0] = width - 1
        places = np.arange(width)
        ids[places == lengths[:, None]] = EOS
        return np.where(places <= lengths[:, None], ids, 0).astype("int32")

    return {"source": rows(T_enc), "target": rows(T_dec)}


@pytest.fixture(scope="session")
def batch():
    return draw_batch


def pytest_generate_tests(metafunc):
    if "model_name" in metafunc.fixturenames:
        metafunc.parametrize("model_name", list_models())
    if "any_name" in metafunc.fixturenames:
        metafunc.parametrize("any_name", [*list_models(), *VARIANTS])
    if "variant" in metafunc.fixturenames:
        metafunc.parametrize("variant", list(VARIANTS))
