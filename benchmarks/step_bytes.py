"""How many bytes of weights one decode step has to read, at least."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from attention_zoo.export.half_weights import LEAST_VALUES

BYTES_OF = {"float32": 4, "float16": 2, "int8": 1}


@dataclass(frozen=True)
class StepWeight:
    """Values of one weight that a step reads, and whether they are a matrix's."""

    name: str
    count: int
    is_matrix: bool


def step_weights(model: Any) -> list[StepWeight]:
    """What a decode step of a `Seq2Seq` reads: every weight of the step once.

    Of the target embedding one row, but the whole matrix where it is the output layer's too. Not
    what is read once a sentence: encoder, bridge, and what projects the keys (Bahdanau's U_a, the
    lower rows of W_a of the score "concat"). Nor keys and memory, which are no weights.
    """
    config, cell = model.config, model.decoder.cell
    weights = [_whole(weight) for weight in cell.weights if _is_read_in_step(weight)]
    if config.attention == "luong" and config.score == "concat":
        d_s, width = cell.d_s, cell.mechanism.W_a.shape[1]
        weights = [one for one in weights if one.name != "W_a"]
        weights.append(StepWeight("W_a, rows of s_t", d_s * width, True))
    if hasattr(model, "readout"):
        weights += [_whole(weight) for weight in model.readout.weights]
    weights.append(StepWeight("embedding, one row", config.d_emb, True))
    if config.tied_embeddings != "none":
        weights.append(_whole(model.target_embedding.embeddings))
    return weights + [_whole(weight) for weight in model.output_layer.weights]


def step_bytes(model: Any, dtype: str) -> int:
    """Bytes that a step reads from a file with weights of this type.

    With "float16" small tensors stay float32, with "int8" all but matrices do; scales and zero
    points are not counted.
    """
    return sum(one.count * _bytes_of(one, dtype) for one in step_weights(model))


def _bytes_of(weight: StepWeight, dtype: str) -> int:
    if dtype == "int8" and not weight.is_matrix:
        return BYTES_OF["float32"]
    if dtype == "float16" and weight.is_matrix is False and weight.count < LEAST_VALUES:
        return BYTES_OF["float32"]
    return BYTES_OF[dtype]


def _is_read_in_step(weight: Any) -> bool:
    return weight.name != "U_a"


def _whole(weight: Any) -> StepWeight:
    count = 1
    for size in weight.shape:
        count *= size
    # a GRU's bias has two rows
    return StepWeight(weight.name, count, len(weight.shape) == 2 and weight.name != "bias")
