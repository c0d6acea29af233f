"""The one list of layers that every conformance test loops over, and their inputs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import keras
import numpy as np
import pytest

from attention_zoo import layers
from attention_zoo.layers import reference

# different primes, so that no two axes can be taken for each other
SIZES = {"batch": 3, "T_enc": 5, "T_dec": 7, "d_emb": 11, "d_s": 13, "d_h": 17, "d_attn": 19}


@dataclass(frozen=True, eq=False)
class Case:
    """One way of using a layer.

    make: builds the layer, always with the same initial weights.
    inputs: name -> axes; a name that ends in "mask" is bool.
    call: (layer, {name: tensor}, training) -> {name: tensor}.
    sizes: what differs from SIZES.
    zero_rows: outputs that are exactly 0 where all of memory_mask is false.
    """

    name: str
    make: Callable[[], keras.layers.Layer]
    inputs: Mapping[str, tuple[str, ...]]
    call: Callable[..., dict]
    sizes: Mapping[str, int] = field(default_factory=dict)
    zero_rows: tuple[str, ...] = ()

    def draw(self, seed=0, **sizes):
        """NumPy inputs; each row of a mask has its own length, at least 1."""
        sizes = SIZES | dict(self.sizes) | sizes
        rng = np.random.default_rng(seed)
        drawn = {}
        for name, axes in self.inputs.items():
            shape = tuple(sizes[axis] for axis in axes)
            if name.endswith("mask"):
                lengths = rng.integers(1, shape[1] + 1, size=shape[0])
                drawn[name] = np.arange(shape[1]) < lengths[:, None]
            else:
                drawn[name] = rng.normal(size=shape).astype("float32")
        return drawn

    def symbols(self, static=False):
        """keras.Input for each input; batch and times unknown unless static."""
        sizes = SIZES | dict(self.sizes)
        return {
            name: keras.Input(
                batch_shape=tuple(
                    sizes[axis] if static or axis.startswith("d_") else None for axis in axes
                ),
                dtype="bool" if name.endswith("mask") else None,
                name=name,
            )
            for name, axes in self.inputs.items()
        }

    def run(self, layer, drawn, training=False):
        """{name: NumPy array} of an eager call."""
        tensors = {name: keras.ops.convert_to_tensor(x) for name, x in drawn.items()}
        outputs = self.call(layer, tensors, training)
        return {name: keras.ops.convert_to_numpy(x) for name, x in outputs.items()}


def _attend(layer, x, training=False):
    context, weights = layer(
        [x["query"], x["memory"], *([x["keys"]] if "keys" in x else [])],
        mask=[None, x.get("memory_mask")],
        training=training,
        return_attention_scores=True,
    )
    return {"context": context, "weights": weights}


def mechanisms():
    """name -> (how it is made, sizes that differ)."""
    d_attn = SIZES["d_attn"]
    return {
        "bahdanau": (lambda **k: layers.BahdanauAttention(d_attn, seed=1, **k), {}),
        "dot": (lambda **k: layers.LuongAttention("dot", seed=1, **k), {"d_s": SIZES["d_h"]}),
        "general": (lambda **k: layers.LuongAttention("general", seed=1, **k), {}),
        "concat": (lambda **k: layers.LuongAttention("concat", units=d_attn, seed=1, **k), {}),
        "multihead": (
            lambda **k: layers.LuongAttention("general", n_heads=2, seed=1, **k),
            {"d_h": 2 * 23},
        ),
        "multihead_dot": (
            lambda **k: layers.LuongAttention("dot", n_heads=2, seed=1, **k),
            {"d_h": 2 * 23, "d_s": 2 * 23},
        ),
        "uniform": (lambda **k: layers.UniformAttention(seed=1, **k), {}),
    }


def _mechanism_cases():
    memory = {"memory": ("batch", "T_enc", "d_h"), "memory_mask": ("batch", "T_enc")}
    for name, (make, sizes) in mechanisms().items():
        if name == "multihead_dot":
            continue  # nothing that dot and multihead do not have
        one, many = ("batch", "d_s"), ("batch", "T_dec", "d_s")
        zero = ("context", "weights")
        yield Case(f"{name}-one_query", make, {"query": one, **memory}, _attend, sizes, zero)
        yield Case(f"{name}-queries", make, {"query": many, **memory}, _attend, sizes, zero)
    # with keys of their own, the values may have another width
    other = {"memory": ("batch", "T_enc", "d_v"), "memory_mask": ("batch", "T_enc")}
    other["keys"] = ("batch", "T_enc", "d_h")
    for name in ("bahdanau", "multihead"):
        make, sizes = mechanisms()[name]
        sizes = sizes | {"d_v": 2 * 31}
        yield Case(f"{name}-keys", make, {"query": many, **other}, _attend, sizes, zero)


def _stack():
    return keras.layers.StackedRNNCells(
        [keras.layers.GRUCell(2), keras.layers.LSTMCell(SIZES["d_s"])]
    )


def _cells():
    """name -> Keras cell; those without a fast path among them."""
    d_s = SIZES["d_s"]
    return {
        "gru": lambda: keras.layers.GRUCell(d_s),
        "lstm": lambda: keras.layers.LSTMCell(d_s),
        "simple": lambda: keras.layers.SimpleRNNCell(d_s),
        "gru_no_bias": lambda: keras.layers.GRUCell(d_s, use_bias=False),
        "gru_reset_before": lambda: keras.layers.GRUCell(d_s, reset_after=False),
        "stack": _stack,
    }


def _orders():
    """name -> (decoder cell around a Keras cell)."""
    general = mechanisms()["general"][0]
    return {
        "plain": layers.PlainCell,
        "bahdanau": lambda cell: layers.BahdanauCell(cell, mechanisms()["bahdanau"][0]()),
        "conditional": lambda cell: layers.ConditionalCell(
            cell, type(cell).from_config(cell.get_config()), mechanisms()["bahdanau"][0]()
        ),
        "luong": lambda cell: layers.LuongCell(cell, general(), units=29),
        "luong_feeding": lambda cell: layers.LuongCell(
            cell, general(), units=29, input_feeding=True
        ),
        "bahdanau_multihead": lambda cell: layers.BahdanauCell(
            cell, layers.LuongAttention("general", n_heads=17)
        ),
        "luong_dot": lambda cell: layers.LuongCell(cell, layers.LuongAttention("dot")),
    }


def decoder_cell(order, cell):
    """The decoder cell of one order around one Keras cell, both by name."""
    return _orders()[order](_cells()[cell]())


def _decode(layer, x, training=False):
    states = [x[name] for name in sorted(x) if name.startswith("state")]
    result = layer(
        x["inputs"],
        memory=x.get("memory"),
        initial_state=states or None,
        memory_mask=x.get("memory_mask"),
        training=training,
        return_alignments=True,
    )
    flat = {name: y for name, y in result.items() if name != "states"}
    return flat | {f"state_{i}": y for i, y in enumerate(result["states"])}


def _decode_one(cell, x, training=False):
    states = [x[name] for name in sorted(x) if name.startswith("state")]
    result = cell(x["inputs"], states, x.get("memory"), x.get("memory_mask"), training=training)
    flat = {name: y for name, y in result.items() if name != "states"}
    return flat | {f"state_{i}": y for i, y in enumerate(result["states"])}


def _decoder_cases():
    memory = {"memory": ("batch", "T_enc", "d_h"), "memory_mask": ("batch", "T_enc")}
    zero = ("contexts", "alignments")
    for order, cell in [
        ("plain", "gru"),
        ("bahdanau", "gru"),
        ("bahdanau", "stack"),
        ("bahdanau", "gru_reset_before"),
        ("bahdanau_multihead", "simple"),
        ("conditional", "gru"),
        ("conditional", "lstm"),
        ("luong", "lstm"),
        ("luong", "stack"),
        ("luong_feeding", "gru_no_bias"),
    ]:
        states = {"gru": 1, "lstm": 2, "stack": 3}.get(cell.split("_")[0], 1)
        widths = ["d_2", "d_s", "d_s"] if cell == "stack" else ["d_s"] * states
        inputs = {"inputs": ("batch", "T_dec", "d_emb")} | ({} if order == "plain" else memory)
        inputs |= {f"state_{i}": ("batch", width) for i, width in enumerate(widths)}
        yield Case(
            f"decoder-{order}-{cell}",
            lambda o=order, c=cell: layers.AttentionDecoder(decoder_cell(o, c)),
            inputs,
            _decode,
            {"d_2": 2},
            () if order == "plain" else zero,
        )
    one = {"inputs": ("batch", "d_emb"), "state_0": ("batch", "d_s")}
    one_zero = ("context", "alignments")
    yield Case("cell-plain", lambda: decoder_cell("plain", "gru"), one, _decode_one)
    for order in ("bahdanau", "conditional", "luong"):
        yield Case(
            f"cell-{order}",
            lambda o=order: decoder_cell(o, "gru"),
            one | memory,
            _decode_one,
            zero_rows=one_zero,
        )


def _encode(layer, x, training=False):
    result = layer(x["inputs"], mask=x.get("mask"), training=training)
    flat = {f"state_{i}_{j}": y for i, ys in enumerate(result["states"]) for j, y in enumerate(ys)}
    return {"memory": result["memory"], **flat}


def _encoder_cases():
    inputs = {"inputs": ("batch", "T_enc", "d_emb"), "mask": ("batch", "T_enc")}
    for cell, n_layers, bidirectional in [("lstm", 2, True), ("gru", 1, False)]:
        yield Case(
            f"encoder-{cell}-{n_layers}-{'both' if bidirectional else 'one'}",
            lambda c=cell, n=n_layers, b=bidirectional: layers.RecurrentEncoder(
                SIZES["d_s"], c, n_layers=n, bidirectional=b
            ),
            inputs,
            _encode,
        )


CASES = [*_mechanism_cases(), *_decoder_cases(), *_encoder_cases()]


def pytest_generate_tests(metafunc):
    if "case" in metafunc.fixturenames:
        metafunc.parametrize("case", CASES, ids=[case.name for case in CASES])
    if "mechanism" in metafunc.fixturenames:
        # (how to make it, the sizes it is made for), and its name where a test asks for that
        values = {name: (make, SIZES | sizes) for name, (make, sizes) in mechanisms().items()}
        if "mechanism_name" in metafunc.fixturenames:
            metafunc.parametrize(("mechanism_name", "mechanism"), list(values.items()), ids=values)
        else:
            metafunc.parametrize("mechanism", list(values.values()), ids=values)


@pytest.fixture
def all_cases():
    return CASES


@pytest.fixture
def sizes():
    return dict(SIZES)


@pytest.fixture(autouse=True)
def _same_weights_in_every_run():
    keras.utils.set_random_seed(7)


@pytest.fixture
def numpy_attention():
    """(built mechanism, query (d_s,), values (T, d_v), keys (T, d_h)) -> context, weights.

    The formulas of `attention_zoo.layers.reference` with the weights of the layer; with heads, one
    dot product a group, weights (n_heads, T).
    """
    return _numpy_attention


def _numpy_attention(layer, query, values, keys=None):
    keys = values if keys is None else keys
    W = {weight.name: np.asarray(weight) for weight in layer.weights}
    if isinstance(layer, layers.UniformAttention):
        return reference.uniform_attention(values)
    if isinstance(layer, layers.BahdanauAttention):
        _, weights = reference.additive_attention(query, keys, W["W_a"], W["U_a"], W["v_a"])
    elif layer.get_config()["score"] == "concat":
        _, weights = reference.concat_attention(query, keys, W["W_a"], W["v_a"])
    else:
        heads = layer.get_config()["n_heads"]
        projected = query @ W["W_a"] if W else query  # (d_h,)
        groups = zip(np.split(projected, heads), np.split(keys, heads, axis=1), strict=True)
        per_head = [reference.dot_attention(q, k)[1] for q, k in groups]
        contexts = [a @ v for a, v in zip(per_head, np.split(values, heads, axis=1), strict=True)]
        return np.concatenate(contexts), np.stack(per_head) if heads > 1 else per_head[0]
    return weights @ values, weights


@pytest.fixture
def make_decoder_cell():
    return decoder_cell
