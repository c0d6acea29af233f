"""Every model of the zoo, exported once a session in all formats."""

import dataclasses
import subprocess
import sys
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest

from attention_zoo import create_model, list_models
from attention_zoo.export import export_model
from attention_zoo.export.cases import ending_cases, random_sources, standard_cases
from attention_zoo.manifest import Manifest
from attention_zoo.source_batch import source_batch
from attention_zoo.vocabulary import BOS, EOS, PAD

# different primes, so that no two axes can be taken for each other
SIZES = {"vocab_source": 23, "vocab_target": 19, "d_emb": 5, "units": 7, "max_length": 11}
BEAM_WIDTH = 3
LENGTH_PENALTY = 0.7
# two candidates that are closer may change places where sums are rounded otherwise, which they are
# on another processor; float32 brings the scores of these models about 1e-6 apart
LEAST_GAP = 1e-3
# seeds of weights under which all that is compared is decided by more; 0 for the rest
SEEDS = {
    "bahdanau_conditional_gru": 2,
    "bahdanau_gru": 2,
    "luong_concat_gru": 8,
    "luong_dot_gru": 5,
    "luong_general_gru": 16,
    "luong_general_lstm": 2,
    "luong_multihead_gru": 3,
    "seq2seq_gru": 8,
    "seq2seq_lstm": 5,
    "uniform_gru": 1,
}
RECORD = {
    "task": "copy",
    "data": "drawn for a test",
    "data_licence": "none needed",
    "data_sha256": "00ff",
    "metrics": {"token_accuracy": 0.25},
    "seed": 3,
    "steps": 17,
}

# the options that add states and loops to a graph, all on one model
VARIANTS = {
    "luong_feeding_stacked": (
        "luong_general_lstm",
        {
            "bidirectional": True,
            "decoder_layers": 2,
            "d_s": 13,
            "input_feeding": True,
            "tied_embeddings": "target",
            "dropout": 0.3,
        },
    ),
}


@dataclasses.dataclass(frozen=True)
class Exported:
    """A Keras model, the folder it was exported to, and the manifest that came back."""

    model: Any
    folder: Path
    manifest: Manifest


def small_model(name: str, seed: int = 0) -> Any:
    """A model whose weights are large enough that different sources get different answers."""
    keras.utils.set_random_seed(seed)
    name, changes = VARIANTS.get(name, (name, {}))
    if name == "luong_multihead_gru":
        changes = {"units": 8, "n_heads": 4}
    model = create_model(name, **{**SIZES, **changes})
    generator = np.random.default_rng(seed)
    for weight in model.trainable_variables:
        weight.assign(generator.normal(0.0, 0.9, weight.shape))
    return model


def let_some_end(model: Any) -> Any:
    """Shift the bias of eos until some random sources end early and some never do."""
    sizes = model.config.vocab_source, model.config.max_length
    bias = model.output_layer.b
    drawn = bias.numpy()
    for shift in np.linspace(-6.0, 6.0, 25):
        bias.assign(drawn + shift * (np.arange(len(drawn)) == EOS))
        if len(ending_cases(model.greedy, *sizes)) == 2:
            return model
    raise AssertionError("no shift of eos gives both kinds of sequence: change the seed")


def rows_of_other_lengths() -> np.ndarray:
    """Five rows of other lengths than the export used, one of them padding alone."""
    rows = random_sources(np.random.default_rng(41), SIZES["vocab_source"], (13, 2, 8, 1, 5))
    rows[3] = PAD
    return rows


def all_sources(model: Any) -> list[np.ndarray]:
    """What the export compares this model's files on, and `source`."""
    sizes = model.config.vocab_source, model.config.max_length
    cases = [*standard_cases(sizes[0]), *ending_cases(model.greedy, *sizes).values()]
    return [rows_of_other_lengths(), *(case.source for case in cases)]


def search_gap(model: Any, source: np.ndarray, max_length: int, k: int, penalty: float) -> float:
    """What separates the candidates that a search of k beams decides between, at the least.

    At each step the last that is kept from the first that is not; at the end each answer from the
    next. One beam is greedy search.
    """
    states, prepared = model.start(keras.ops.convert_to_tensor(source))
    prepared = {name: keras.ops.repeat(x, k, axis=0) for name, x in prepared.items()}
    states = [keras.ops.repeat(x, k, axis=0) for x in states]
    rows, vocab = np.arange(len(source))[:, None], model.config.vocab_target
    tokens, ended = np.full((len(source), k), BOS), np.zeros((len(source), k), bool)
    log_p = np.where(np.arange(k) == 0, 0.0, -np.inf) + np.zeros((len(source), k))
    lengths, gap = np.zeros((len(source), k)), np.inf
    for _ in range(max_length):
        last = keras.ops.convert_to_tensor(tokens.reshape(-1).astype(np.int32))
        logits, _, states = model.decode_step(last, states, prepared)
        more = np.array(keras.ops.log_softmax(logits)).reshape(len(source), k, vocab)
        more[..., [PAD, BOS]] = -np.inf
        only_pad = np.where(np.arange(vocab) == PAD, 0.0, -np.inf)
        total = log_p[..., None] + np.where(ended[..., None], only_pad, more)
        lengths = lengths + ~ended
        ranks = (total / ((5 + lengths[..., None]) / 6) ** penalty).reshape(len(source), -1)
        order = np.argsort(-ranks, axis=1)[:, : k + 1]
        best = np.take_along_axis(ranks, order, axis=1)  # (batch, k + 1)
        gap = min(gap, _least_difference(best[:, k - 1 :]))
        parents, tokens = order[:, :k] // vocab, order[:, :k] % vocab
        log_p, lengths = total[rows, parents, tokens], lengths[rows, parents]
        ended = ended[rows, parents] | (tokens == EOS)
        states = [keras.ops.take(x, (rows * k + parents).reshape(-1), axis=0) for x in states]
    return min(gap, _least_difference(best[:, :k]))


def _least_difference(falling: np.ndarray) -> float:
    """The least step down in any row; what is impossible (-inf) is not compared."""
    steps = falling[:, :-1] - np.where(np.isfinite(falling[:, 1:]), falling[:, 1:], -np.inf)
    return float(np.nanmin(steps, initial=np.inf))


def refuse_near_ties(
    model: Any, *sources: Any, beam_width: int = 1, length_penalty: float = LENGTH_PENALTY
) -> None:
    """Fail if rounding may decide what greedy search, or a beam of this width, answers."""
    batches = [source_batch(source, None, "a test") for source in sources]
    width = max(batch.shape[1] for batch in batches)
    padded = [np.pad(batch, ((0, 0), (0, width - batch.shape[1]))) for batch in batches]
    for k in {1, beam_width}:
        penalty = 0.0 if k == 1 else length_penalty
        gap = search_gap(model, np.concatenate(padded), model.config.max_length, k, penalty)
        assert gap > LEAST_GAP, (
            f"{model.name}: two candidates of a search with {k} beams are {gap:.1e} apart; "
            f"expected more than {LEAST_GAP:g}, or another processor may exchange them. Fix: other "
            "sources, or another seed of the weights (SEEDS)."
        )


@pytest.fixture(scope="session")
def assert_decided():
    """(model, *sources, beam_width=1) -> an assertion that no rounding decides the answers."""
    return refuse_near_ties


@pytest.fixture(scope="session")
def source():
    """Sources on which the files are compared with Keras; see `exported`."""
    return rows_of_other_lengths()


@pytest.fixture(scope="session")
def exported(tmp_path_factory):
    """name -> `Exported`; made the first time that a name is asked for."""
    made = {}

    def get(name: str) -> Exported:
        if name not in made:
            model = let_some_end(small_model(name, SEEDS.get(name, 0)))
            refuse_near_ties(model, *all_sources(model), beam_width=BEAM_WIDTH)
            folder = tmp_path_factory.mktemp("exported") / name
            manifest = export_model(
                model,
                folder,
                beam_width=BEAM_WIDTH,
                length_penalty=LENGTH_PENALTY,
                record=RECORD,
                preset_name=f"{name}.test",
                command="attention-zoo export",
            )
            made[name] = Exported(model, folder, manifest)
        return made[name]

    return get


@pytest.fixture(scope="session")
def both_endings():
    """Changes a model until some random sources end early and some never do; returns it."""
    return let_some_end


@pytest.fixture
def new_model():
    """name -> a small model with drawn weights, the caller's own."""
    return small_model


@pytest.fixture(scope="session")
def fresh_process():
    """Run Python code in a process of its own, in which some packages cannot be imported."""

    def run(code: str, *arguments: str, blocked: tuple[str, ...] = ()) -> str:
        block = (
            "import sys\n"
            "class Block:\n"
            "    def find_spec(self, name, path=None, target=None):\n"
            f"        if name.split('.')[0] in {blocked!r}:\n"
            "            raise ModuleNotFoundError(name + ' is blocked', name=name)\n"
            "sys.meta_path.insert(0, Block())\n"
        )
        child = subprocess.run(
            [sys.executable, "-c", block + code, *arguments], capture_output=True, text=True
        )
        assert child.returncode == 0, child.stderr[-3000:]
        return child.stdout

    return run


def pytest_generate_tests(metafunc):
    if "name" in metafunc.fixturenames:
        metafunc.parametrize("name", [*list_models(), *VARIANTS])


@pytest.fixture(scope="session")
def flex_file() -> bytes:
    """A TFLite file with an op that is not built in."""
    import tensorflow as tf

    @tf.function(input_signature=[tf.TensorSpec((2, 2), tf.float32)])
    def invert(x):
        return tf.linalg.inv(x) + x

    converter = tf.lite.TFLiteConverter.from_concrete_functions([invert.get_concrete_function()])
    converter.target_spec.supported_ops = [
        tf.lite.OpsSet.TFLITE_BUILTINS,
        tf.lite.OpsSet.SELECT_TF_OPS,
    ]
    return converter.convert()
