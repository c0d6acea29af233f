"""Weights rounded to float16: half the bytes in every file, the same numbers everywhere."""

import shutil
import time

import h5py
import keras
import numpy as np
import pytest

from attention_zoo import create_model
from attention_zoo.export import export_model, validate_directory
from attention_zoo.export.half_weights import exact_float16, halve_weights_file, rounded_copy
from attention_zoo.export.runtime import LiteRTModel, OnnxModel
from attention_zoo.presets import load_folder

# sizes at which weights outweigh graphs; primes, so that no two axes can be taken for each other
SIZES = {"vocab_source": 1013, "vocab_target": 1013, "d_emb": 61, "units": 67, "max_length": 7}


@pytest.fixture(scope="module")
def model():
    keras.utils.set_random_seed(5)
    made = create_model("bahdanau_gru", **SIZES, bidirectional=True, tied_embeddings="all")
    generator = np.random.default_rng(5)
    for weight in made.trainable_variables:
        weight.assign(generator.normal(0.0, 0.3, weight.shape))
    return made


@pytest.fixture(scope="module")
def folder(model, tmp_path_factory):
    path = tmp_path_factory.mktemp("half") / "out"
    export_model(model, path, formats=("tflite", "onnx"), storage="float16", beam_width=2)
    return path


def test_rounding_is_numpys(model):
    rounded = rounded_copy(model)
    assert (rounded.name, rounded.config) == (model.name, model.config)
    changed = 0
    for new, old in zip(rounded.weights, model.weights, strict=True):
        expected = old.numpy().astype(np.float16).astype(np.float32)
        assert new.dtype == "float32"
        np.testing.assert_array_equal(new.numpy(), expected)
        changed += int(np.sum(expected != old.numpy()))
    assert changed > 0.9 * model.count_params()


def test_a_weight_beyond_float16_is_named():
    model = create_model("luong_dot_gru", **SIZES)
    values = model.output_layer.b.numpy()
    values[11] = -7e4
    model.output_layer.b.assign(values)
    with pytest.raises(ValueError, match=r"weight output/b holds -70000; expected values between"):
        rounded_copy(model)


def test_exact_float16_refuses_what_would_change():
    many = np.linspace(-2, 2, 2053, dtype=np.float32)
    assert exact_float16(many) is None
    rounded = many.astype(np.float16)
    np.testing.assert_array_equal(exact_float16(rounded.astype(np.float32)), rounded)
    assert exact_float16(rounded[:1023].astype(np.float32)) is None
    assert exact_float16(np.full(2053, -1e9, np.float32)) is None
    assert exact_float16(np.full(2053, np.nan, np.float32)) is None
    assert exact_float16(np.arange(2053, dtype=np.int32)) is None


def test_a_weights_file_that_was_not_rounded_stays_as_it_is(model, tmp_path):
    path = tmp_path / "model.weights.h5"
    model.save_weights(path)
    before = path.read_bytes()
    with pytest.raises(ValueError, match=r"holds values that float16 does not.*rounded_copy"):
        halve_weights_file(path)
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == [path.name]


def test_packing_loses_nothing_and_takes_fewer_bytes(model, tmp_path):
    rounded = rounded_copy(model)
    path = tmp_path / "w.weights.h5"
    rounded.save_weights(path)
    halve_weights_file(path)
    assert path.stat().st_size < 2 * rounded.count_params()
    again = create_model("bahdanau_gru", **SIZES, bidirectional=True, tied_embeddings="all")
    again.load_weights(path)
    for new, old in zip(again.weights, rounded.weights, strict=True):
        np.testing.assert_array_equal(new.numpy(), old.numpy())


def test_the_same_weights_give_the_same_bytes(model, tmp_path):
    path = tmp_path / "w.weights.h5"
    rounded_copy(model).save_weights(path)
    written = []
    for _ in range(2):
        copy = tmp_path / f"{len(written)}.weights.h5"
        shutil.copy(path, copy)
        halve_weights_file(copy)
        written.append(copy.read_bytes())
        time.sleep(1.1)  # HDF5 counts in seconds
    assert written[0] == written[1]


def test_every_file_has_two_bytes_a_parameter(model, folder):
    parameters = model.count_params()
    for name in ("model.weights.h5", "model.onnx", "model.tflite"):
        size = (folder / name).stat().st_size
        packed = name.endswith("h5")
        least, graph = (0.7, 20_000) if packed else (1.0, 170_000)
        assert least * 2 * parameters <= size < 2 * parameters + graph < 4 * parameters, name


def test_keras_loads_the_rounded_weights_as_float32(model, folder):
    with h5py.File(folder / "model.weights.h5") as file:
        kinds = []
        file.visititems(lambda _, item: kinds.append(getattr(item, "dtype", None)))
    assert {str(kind) for kind in kinds if kind is not None} == {"float16"}
    loaded = load_folder(folder)
    for new, old in zip(loaded.weights, model.weights, strict=True):
        assert new.dtype == "float32"
        np.testing.assert_array_equal(new.numpy(), old.numpy().astype(np.float16))


def test_what_was_loaded_can_be_trained(folder):
    loaded = load_folder(folder)
    loaded.compile("adam", loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    batch = np.array([[5, 9, 1001, 2]], np.int32)
    losses = loaded.fit({"source": batch, "target": batch}, epochs=5, verbose=0).history["loss"]
    assert losses[-1] < losses[0]


@pytest.mark.parametrize("runtime", [OnnxModel, LiteRTModel])
def test_files_answer_as_the_rounded_model_at_growing_lengths(
    model, folder, runtime, assert_decided
):
    rounded, file = rounded_copy(model), runtime(folder)
    generator = np.random.default_rng(7)
    sources = [
        generator.integers(4, 1013, (1, length)).astype(np.int32)
        for length in (1, 2, 3, 5, 11, 13, 17, 4)
    ]
    assert_decided(rounded, *sources, beam_width=2, length_penalty=1.0)
    for source in sources:
        for got, expected in (
            (file.predict(source), rounded.greedy(source)),
            (file.beam_search(source), rounded.beam_search(source, beam_width=2, n_best=2)),
        ):
            np.testing.assert_array_equal(got["tokens"], expected["tokens"])
            for name in ("scores", "alignments"):
                np.testing.assert_allclose(got[name], expected[name], rtol=0, atol=1e-4)


def test_the_folder_says_so_and_is_proved_again(folder):
    report = validate_directory(folder)
    assert {one.file for one in report.comparisons} == {"model.tflite", "model.onnx"}
    assert "weights were rounded to float16" in (folder / "README.md").read_text()


def test_unknown_storage_is_refused(model, tmp_path):
    with pytest.raises(ValueError, match="expected one of float32, float16, got 'int8'"):
        export_model(model, tmp_path / "out", storage="int8")
    assert list(tmp_path.iterdir()) == []
