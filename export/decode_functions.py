"""The functions of a model that an exported file holds, traced and described.

    greedy  source -> tokens, lengths, scores, alignments
    beam    the same with a beam axis after batch, best first
    encode  source -> what the decoder starts from (state_0, state_1, ..., keys, memory, mask)
    step    tokens and all that `encode` gave -> logits, alignments, the next states

`greedy` and `beam` hold the whole loop. `encode` and `step` are for hosts that drive it themselves;
a model without attention has no keys, memory and mask.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from attention_zoo.beam import beam_decode
from attention_zoo.greedy import greedy_decode

GREEDY, BEAM, ENCODE, STEP = "greedy", "beam", "encode", "step"
OUTPUTS = ("tokens", "lengths", "scores", "alignments")

_AXES = {
    "source": ("batch", "T_enc"),
    "tokens": ("batch", "T_dec"),
    "lengths": ("batch",),
    "scores": ("batch",),
    "alignments": ("batch", "T_dec", "T_enc"),
}
_STEP_AXES = {
    "source": ("batch", "T_enc"),
    "tokens": ("batch",),
    "logits": ("batch", "vocab_target"),
    "alignments": ("batch", "T_enc"),
    "keys": ("batch", "T_enc", "d_attn"),
    "memory": ("batch", "T_enc", "d_h"),
    "mask": ("batch", "T_enc"),
}


@dataclasses.dataclass(frozen=True)
class DecodeSettings:
    """What is fixed in a file: decode steps (T_dec), beams kept, and the length penalty."""

    max_length: int
    beam_width: int = 4
    length_penalty: float = 1.0


@dataclasses.dataclass(frozen=True)
class DecodeFunction:
    """One function of a model: its name, `function(**inputs) -> dict`, and its input specs."""

    name: str
    function: Callable[..., dict[str, Any]]
    inputs: dict[str, tf.TensorSpec]

    def concrete(self) -> Any:
        """The traced function; its outputs carry the names of the dictionary."""

        def traced(**inputs: Any) -> dict[str, Any]:
            return self.function(**inputs)

        return tf.function(traced, autograph=False).get_concrete_function(**self.inputs)


def greedy_function(model: Any, settings: DecodeSettings, batch: int | None) -> DecodeFunction:
    """Greedy decoding of `source` (batch, T_enc); `batch` None leaves that axis open."""

    def greedy(source: tf.Tensor) -> dict[str, tf.Tensor]:
        return _named(greedy_decode(model, source, settings.max_length))

    return DecodeFunction(GREEDY, greedy, _source(batch))


def beam_function(model: Any, settings: DecodeSettings, batch: int | None) -> DecodeFunction:
    """Beam search that returns all its beams, best first."""

    def beam(source: tf.Tensor) -> dict[str, tf.Tensor]:
        return _named(
            beam_decode(
                model,
                source,
                settings.max_length,
                settings.beam_width,
                settings.length_penalty,
                settings.beam_width,
            )
        )

    return DecodeFunction(BEAM, beam, _source(batch))


def encode_function(model: Any, batch: int | None) -> DecodeFunction:
    """The encoder: state_0, state_1, ..., and what attention needs under its own names."""

    def encode(source: tf.Tensor) -> dict[str, tf.Tensor]:
        states, prepared = model.start(source)
        return _named({**_state_names(states), **prepared})

    return DecodeFunction(ENCODE, encode, _source(batch))


def step_function(model: Any, encode: DecodeFunction, batch: int | None) -> DecodeFunction:
    """One decode step over what `encode` returns."""
    encoded = encode.concrete().structured_outputs
    specs = {
        name: tf.TensorSpec(tensor.shape, tensor.dtype, name=name)
        for name, tensor in encoded.items()
    }
    specs["tokens"] = tf.TensorSpec((batch,), tf.int32, name="tokens")
    count = sum(name.startswith("state_") for name in encoded)

    def step(tokens: tf.Tensor, **encoded: tf.Tensor) -> dict[str, tf.Tensor]:
        states = [encoded.pop(f"state_{index}") for index in range(count)]
        logits, alignments, states = model.decode_step(tokens, states, encoded)
        return _named({"logits": logits, "alignments": alignments, **_state_names(states)})

    return DecodeFunction(STEP, step, specs)


def describe(model: Any, name: str, concrete: Any) -> dict[str, list[dict[str, Any]]]:
    """The manifest's words for a traced function: name, axes, shape and dtype of every tensor."""

    def entry(tensor_name: str, tensor: Any) -> dict[str, Any]:
        shape = [-1 if size is None else int(size) for size in tensor.shape]
        return {
            "name": tensor_name,
            "axes": axes_of(model.config, name, tensor_name, shape),
            "shape": shape,
            "dtype": tensor.dtype.name,
        }

    inputs, outputs = concrete.structured_input_signature[1], concrete.structured_outputs
    return {
        "inputs": [entry(key, inputs[key]) for key in sorted(inputs)],
        "outputs": [entry(key, outputs[key]) for key in sorted(outputs)],
    }


def axes_of(config: Any, function: str, tensor: str, shape: list[int]) -> list[str]:
    """The names of the axes of a tensor of `greedy`, `beam`, `encode` or `step`."""
    if function == BEAM and tensor != "source":
        return ["batch", "beam", *_AXES[tensor][1:]]
    if function in (GREEDY, BEAM):
        return list(_AXES[tensor])
    if tensor.startswith("state_"):
        # a mechanism that looks back carries weights of the last step
        return ["batch", "T_enc" if shape[1] == -1 else "d_s"]
    if tensor in ("keys", "memory") and len(shape) == 4:
        return ["batch", "n_heads", "T_enc", "d_h / n_heads"]
    if tensor == "keys" and config.attention == "luong" and config.score != "concat":
        return ["batch", "T_enc", "d_h"]
    return list(_STEP_AXES[tensor])


def _source(batch: int | None) -> dict[str, tf.TensorSpec]:
    return {"source": tf.TensorSpec((batch, None), tf.int32, name="source")}


def _state_names(states: list[tf.Tensor]) -> dict[str, tf.Tensor]:
    return {f"state_{index}": state for index, state in enumerate(states)}


def _named(outputs: dict[str, Any]) -> dict[str, tf.Tensor]:
    # two outputs that are one tensor (keys and memory of a dot score) would share one name
    return {name: tf.identity(tensor, name=name) for name, tensor in outputs.items()}
