"""What every layer of the list must do, whatever it computes."""

import inspect
import json

import keras
import numpy as np
import pytest
import tensorflow as tf

from attention_zoo import layers

TOLERANCE = 1e-5


def built(case, seed=0):
    """The layer with its weights, and the inputs it was built on."""
    layer = case.make()
    drawn = case.draw(seed)
    case.run(layer, drawn)
    return layer, drawn


def assert_equal(got, expected, tolerance=TOLERANCE):
    assert got.keys() == expected.keys()
    for name in expected:
        assert got[name].shape == expected[name].shape, name
        np.testing.assert_allclose(
            np.asarray(got[name], "float32"),
            np.asarray(expected[name], "float32"),
            atol=tolerance,
            rtol=0,
            err_msg=name,
        )


def classes_of(case):
    layer, _ = built(case)
    found = set()
    for part in layer._flatten_layers():
        found.update(type(part).__mro__)
    return found


def test_every_exported_layer_is_in_the_list(all_cases):
    exported = [getattr(layers, name) for name in dir(layers) if not name.startswith("_")]
    wanted = {x for x in exported if inspect.isclass(x) and issubclass(x, keras.layers.Layer)}
    assert wanted, "attention_zoo.layers exports no layer at all"
    covered = set().union(*(classes_of(case) for case in all_cases))
    assert wanted - covered == set()


def test_static_shape_and_dtype_are_the_eager_ones(case):
    layer, drawn = built(case)
    eager = case.run(layer, drawn)
    exact = case.call(case.make(), case.symbols(static=True))
    assert {name: x.shape for name, x in exact.items()} == {
        name: x.shape for name, x in eager.items()
    }
    loose = case.call(case.make(), case.symbols())
    assert loose.keys() == eager.keys()
    for name, x in loose.items():
        assert len(x.shape) == eager[name].ndim, name
        for symbolic, size in zip(x.shape, eager[name].shape, strict=True):
            assert symbolic in (None, size), name
        assert x.shape[-1] == exact[name].shape[-1] or name in ("weights", "alignments"), name
        assert keras.backend.standardize_dtype(x.dtype) == str(eager[name].dtype), name


def test_keras_file_round_trip_without_custom_objects(case, tmp_path):
    layer = case.make()
    symbols = case.symbols()
    model = keras.Model(symbols, case.call(layer, symbols))
    drawn = case.draw()
    expected = case.run(layer, drawn)
    model.save(tmp_path / "model.keras")
    again = keras.saving.load_model(tmp_path / "model.keras")
    assert_equal({k: np.asarray(x) for k, x in again(drawn).items()}, expected, 0)
    assert [w.shape for w in again.weights] == [w.shape for w in model.weights]


def test_config_round_trip(case):
    layer, drawn = built(case)
    for part in layer._flatten_layers():
        if not type(part).__module__.startswith("attention_zoo"):
            continue
        config = part.get_config()
        again = type(part).from_config(config)
        # the serialised form, in which nested layers are plain data
        text = json.dumps(keras.saving.serialize_keras_object(part)["config"], sort_keys=True)
        other = json.dumps(keras.saving.serialize_keras_object(again)["config"], sort_keys=True)
        assert text == other
        arguments = set(inspect.signature(type(part).__init__).parameters)
        assert arguments - {"self", "args", "kwargs"} <= config.keys()
    again = type(layer).from_config(layer.get_config())
    shapes = {name: x.shape for name, x in case.run(again, drawn).items()}
    assert shapes == {name: x.shape for name, x in case.run(layer, drawn).items()}


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
def test_dtype_policies(case, policy):
    layer, drawn = built(case)
    expected = case.run(layer, drawn)
    before = keras.config.dtype_policy()
    try:
        keras.config.set_dtype_policy(policy)
        low = case.make()
        case.run(low, drawn)
    finally:
        keras.config.set_dtype_policy(before)
    low.set_weights(layer.get_weights())
    got = case.run(low, drawn)
    assert all(keras.backend.standardize_dtype(w.dtype) == "float32" for w in low.weights)
    compute = policy.removeprefix("mixed_")
    assert {name: str(x.dtype) for name, x in got.items()} == dict.fromkeys(expected, compute)
    assert_equal(got, expected, 0.02 if compute == "float16" else 0.15)


@pytest.mark.parametrize("policy", ["float32", "mixed_float16", "mixed_bfloat16"])
def test_rows_of_padding_alone_are_zero_and_have_finite_gradients(case, policy):
    if not case.zero_rows:
        pytest.skip("has no memory")
    before = keras.config.dtype_policy()
    try:
        keras.config.set_dtype_policy(policy)
        layer, drawn = built(case)
    finally:
        keras.config.set_dtype_policy(before)
    drawn["memory_mask"][1] = False
    # what padding holds must not matter either, however large
    drawn["memory"][1] *= 1e3
    tensors = {name: tf.convert_to_tensor(x) for name, x in drawn.items()}
    floats = {name: x for name, x in tensors.items() if x.dtype.is_floating}
    with tf.GradientTape() as tape:
        tape.watch(list(floats.values()))
        outputs = case.call(layer, tensors, True)
        loss = sum(tf.reduce_sum(tf.cast(x, "float32") ** 2) for x in outputs.values())
    for name in case.zero_rows:
        assert not np.asarray(outputs[name][1], "float32").any(), name
    variables = layer.trainable_variables
    gradients = tape.gradient(loss, [*floats.values(), *variables])
    # where a mechanism has no use for them
    unread = {"keys", "query"} if case.name.startswith("uniform") else {"keys"}
    for source, gradient in zip([*floats, *(v.path for v in variables)], gradients, strict=True):
        if gradient is None:
            assert source in unread, source
            continue
        assert np.isfinite(np.asarray(gradient, "float32")).all(), source
    assert np.isfinite(float(loss))
    memory = gradients[list(floats).index("memory")]
    assert not np.asarray(memory[1], "float32").any(), "padding has a gradient"


def test_batch_of_one_is_a_row_of_the_batch(case):
    layer, drawn = built(case)
    rows = case.run(layer, drawn)
    for i in range(len(drawn[next(iter(drawn))])):
        one = case.run(layer, {name: x[i : i + 1] for name, x in drawn.items()})
        assert_equal(one, {name: x[i : i + 1] for name, x in rows.items()})


def test_one_encoder_step(case):
    if not case.zero_rows:
        pytest.skip("has no memory")
    layer, _ = built(case)
    outputs = case.run(layer, case.draw(T_enc=1))
    for name in ("weights", "alignments"):
        if name in outputs:
            assert outputs[name].shape[-1] == 1
            np.testing.assert_array_equal(outputs[name], 1.0)


def test_xla_equals_eager(case):
    layer, drawn = built(case)
    expected = case.run(layer, drawn)

    @tf.function(jit_compile=True)
    def compiled(x):
        return case.call(layer, x)

    got = compiled({name: tf.convert_to_tensor(x) for name, x in drawn.items()})
    assert_equal({name: x.numpy() for name, x in got.items()}, expected)


def test_graph_of_unknown_sizes_equals_eager(case):
    layer, drawn = built(case)
    signature = {
        name: tf.TensorSpec([None, *([None] * (x.ndim - 2)), x.shape[-1]], x.dtype)
        if not name.endswith("mask")
        else tf.TensorSpec([None, None], "bool")
        for name, x in drawn.items()
    }
    compiled = tf.function(lambda x: case.call(layer, x), input_signature=[signature])
    for sizes in ({}, {"batch": 2, "T_enc": 3, "T_dec": 2}, {"batch": 1, "T_enc": 1, "T_dec": 1}):
        drawn = case.draw(1, **sizes)
        got = compiled({name: tf.convert_to_tensor(x) for name, x in drawn.items()})
        assert_equal({name: x.numpy() for name, x in got.items()}, case.run(layer, drawn))


def test_no_tensor_is_kept_between_calls(case):
    layer, drawn = built(case)
    expected = case.run(layer, drawn)
    case.run(layer, case.draw(seed=5, batch=2, T_enc=2))
    assert_equal(case.run(layer, drawn), expected, 0)
    kept = [
        (type(part).__name__, name)
        for part in layer._flatten_layers()
        if type(part).__module__.startswith("attention_zoo")
        for name, value in vars(part).items()
        if isinstance(value, (tf.Tensor, keras.KerasTensor))
    ]
    assert kept == []
