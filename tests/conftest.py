"""What every test may use."""

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[1]
FOLDERS = {
    "attention_zoo": "zoo",
    "attention_zoo.layers": "layers",
    "attention_zoo.training": "training",
    "attention_zoo.explain": "explain",
    "attention_zoo.export": "export",
    "attention_zoo.saved_models": "saved_models",
}

# A shell starts what it puts in the background with Ctrl-C ignored, and so would be every process
# that the tests start; those that press Ctrl-C would wait for nothing.
signal.signal(signal.SIGINT, signal.default_int_handler)


def library_modules() -> Iterator[tuple[str, Path]]:
    """Import name and path of every module of the library, found in the checkout's folders."""
    for package, folder in FOLDERS.items():
        for path in sorted((CHECKOUT / folder).rglob("*.py")):
            parts = path.relative_to(CHECKOUT / folder).with_suffix("").parts
            name = ".".join((package, *parts))
            yield name.removesuffix(".__init__"), path


@pytest.fixture(scope="session")
def checkout() -> Path:
    """The root of the checkout."""
    return CHECKOUT


@pytest.fixture(scope="session")
def modules() -> dict[str, Path]:
    """Import name -> path of every module of the library."""
    return dict(library_modules())


@pytest.fixture(scope="session")
def pairs_file() -> Path:
    """French and English sentence pairs, tab-separated."""
    return CHECKOUT / "tests" / "data" / "pairs.fr-en.tsv"


@pytest.fixture(scope="session")
def pairs(pairs_file):
    """The pairs of `pairs_file`."""
    from attention_zoo.training.sentence_pairs import read_tsv

    return read_tsv(pairs_file).pairs


@pytest.fixture(scope="session")
def tokenizers(pairs, tmp_path_factory):
    """A joint tokenizer of 400 ids, trained on `pairs` in a folder of its own."""
    from attention_zoo.training.tokenizer_training import train_tokenizers

    return train_tokenizers(pairs, tmp_path_factory.mktemp("tokenizers"), 400)


@pytest.fixture(scope="session")
def translation_model(tokenizers):
    """A model over those ids, with drawn weights: other sources get other answers, of no sense."""
    import keras
    import numpy as np

    from attention_zoo import create_model

    keras.utils.set_random_seed(11)
    model = create_model(
        "bahdanau_gru", vocab_source=400, vocab_target=400, d_emb=17, units=19, max_length=23
    )
    generator = np.random.default_rng(11)
    for weight in model.trainable_variables:
        weight.assign(generator.normal(0.0, 0.5, weight.shape))
    model.output_layer.b.assign(model.output_layer.b + 3.0 * (np.arange(400) == 2))
    return model


@pytest.fixture(scope="session")
def translation_folder(translation_model, tokenizers, tmp_path_factory) -> Path:
    """That model as an exported folder, with its tokenizer; not to be changed."""
    from attention_zoo.export import export_model

    folder = tmp_path_factory.mktemp("translation") / "bahdanau_gru.fr_en"
    export_model(
        translation_model,
        folder,
        formats=("tflite", "onnx"),
        beam_width=3,
        quantize=("float16", "int8"),
        tokenizers=tokenizers,
    )
    return folder


@pytest.fixture
def run_python(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """A function that runs Python code in a fresh process, outside the checkout."""

    def run(code: str, *arguments: str, cwd: Path = tmp_path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", code, *arguments],
            cwd=cwd,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    return run


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test with the argument `module_name` runs once for every module of the library."""
    if "module_name" in metafunc.fixturenames:
        metafunc.parametrize("module_name", [name for name, _ in library_modules()])
