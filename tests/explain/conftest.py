"""Small models with drawn weights, and the trained ones whose answers are known."""

import keras
import numpy as np
import pytest

from attention_zoo import create_model, list_models, load_pretrained
from attention_zoo.vocabulary import EOS

# different primes, so that no two axes can be taken for each other
SMALL = {"vocab_source": 13, "vocab_target": 11, "d_emb": 5, "units": 7, "max_length": 17}

# what adds states, layers or shared matrices to a step
VARIANTS = {
    "bidirectional_tied": (
        "bahdanau_gru",
        {"bidirectional": True, "tied_embeddings": "all", "vocab_source": 11, "layer_norm": True},
    ),
    "stack": ("bahdanau_lstm", {"decoder_layers": 3, "encoder_layers": 2, "d_s": 3}),
    "feeding": ("luong_general_lstm", {"input_feeding": True, "decoder_layers": 2, "d_s": 3}),
}
COPIERS = ("bahdanau_gru.copy", "luong_general_gru.copy")


def small_model(name, scale=1.0):
    """A model that attends with one head, with drawn weights, so that its context counts."""
    name, changes = VARIANTS.get(name, (name, {}))
    keras.utils.set_random_seed(3)
    model = create_model(name, **{**SMALL, **changes})
    generator = np.random.default_rng(5)
    for weight in model.trainable_variables:
        weight.assign(generator.normal(0.0, scale, weight.shape))
    return model


def ignore_context(model):
    """Zero the weights that read the context, so that no attention can change any output."""
    cell, d_h = model.decoder.cell, model.config.d_h
    if model.config.attends_first:
        kernel, readout = cell.cells[0].kernel, model.readout.kernel
        if model.config.conditional:
            cell.second.kernel.assign(np.zeros(cell.second.kernel.shape))  # c_t alone
        else:
            after = np.arange(kernel.shape[0])[:, None] >= model.config.d_emb  # [y_{t-1}; c_t]
            kernel.assign(np.where(after, 0.0, kernel))
        place = np.arange(readout.shape[0])[:, None] - cell.output_width  # [s_t; c_t; y_{t-1}]
        readout.assign(np.where((place >= 0) & (place < d_h), 0.0, readout))
    else:
        W_c = cell.W_c  # [c_t; s_t]
        W_c.assign(np.where(np.arange(W_c.shape[0])[:, None] < d_h, 0.0, W_c))
    return model


@pytest.fixture(scope="session")
def new_small_model():
    """(name, scale of the weights) -> a model of the caller's own."""
    return small_model


@pytest.fixture(scope="session")
def shared_small_model():
    """name -> one model for the whole session: do not change it."""
    made = {}

    def get(name):
        if name not in made:
            made[name] = small_model(name)
        return made[name]

    return get


@pytest.fixture(scope="session")
def without_context():
    """model -> the model, made to ignore its context."""
    return ignore_context


@pytest.fixture(scope="session")
def sentence():
    """Ids of a source and a target, eos at the end of both."""
    return {"source": [7, 4, 10, 5, EOS], "target": [6, 9, 4, 10, 8, 3, EOS]}


@pytest.fixture(scope="session")
def copy_sources():
    """Sequences of symbols that differ, so that each has one place in the source."""
    generator = np.random.default_rng(11)
    return [[*(4 + generator.permutation(16)[:n]).tolist(), EOS] for n in (7, 8, 11)]


@pytest.fixture
def copier():
    """preset -> a trained copy model, the caller's own."""
    return load_pretrained


def pytest_generate_tests(metafunc):
    if "checked_name" in metafunc.fixturenames:
        names = [n for n in list_models() if n.split("_")[0] != "seq2seq" and "multihead" not in n]
        metafunc.parametrize("checked_name", [*names, *VARIANTS])
    if "copy_preset" in metafunc.fixturenames:
        metafunc.parametrize("copy_preset", COPIERS)
