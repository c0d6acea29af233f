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
from attention_zoo.export.cases import ending_cases
from attention_zoo.manifest import Manifest
from attention_zoo.vocabulary import EOS

# different primes, so that no two axes can be taken for each other
SIZES = {"vocab_source": 23, "vocab_target": 19, "d_emb": 5, "units": 7, "max_length": 11}
BEAM_WIDTH = 3
LENGTH_PENALTY = 0.7
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


@pytest.fixture(scope="session")
def exported(tmp_path_factory):
    """name -> `Exported`; made the first time that a name is asked for."""
    made = {}

    def get(name: str) -> Exported:
        if name not in made:
            model = let_some_end(small_model(name))
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
