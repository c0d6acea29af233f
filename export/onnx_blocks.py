"""The ids of a vocabulary in blocks, so that two short looks find the largest logit.

TopK looks at one number after the other, ReduceMax at many at a time: the largest of each block
first, then the largest inside one block. For that the logits come out of their product in blocks:

    block 0: nothing, ..., nothing, pad, bos
    block 1: eos, unk, ...
    the last: ..., nothing

where the logit of nothing is -1e30, whose exponential is exactly 0. What may not be written stands
in block 0 alone.
"""

from __future__ import annotations

import math

import numpy as np

from attention_zoo.export.onnx_graph import Graph, ints
from attention_zoo.greedy import IMPOSSIBLE
from attention_zoo.vocabulary import EOS

FIRST_WRITTEN = EOS
"""The ids below it, pad and bos, are never written."""
# so many ids TopK goes through as quickly
_FEW = 1024
# the exponential of what is so far below the others is exactly 0
_CLOSED = -1e30


class Blocks:
    """Where the ids of a vocabulary stand.

    Args:
        size: of the vocabulary.
    """

    def __init__(self, size: int):
        n_ids = size - FIRST_WRITTEN
        self.width = math.isqrt(n_ids)
        self.count = 1 + -(-n_ids // self.width)
        front = self.width - FIRST_WRITTEN
        self.around = front, self.count * self.width - front - size
        """How many places of nothing stand before the ids and after them."""

    @classmethod
    def of(cls, size: int) -> Blocks | None:
        """None for a vocabulary that is searched as quickly in one piece."""
        return None if size - FIRST_WRITTEN < _FEW else cls(size)

    def spread(self, values: np.ndarray, closed: bool = False) -> np.ndarray:
        """(..., vocabulary) -> (..., count * width); in between 0, or -1e30 if `closed`."""
        pads = [(0, 0)] * (values.ndim - 1) + [self.around]
        return np.pad(values, pads, constant_values=_CLOSED if closed else 0)

    def best(self, graph: Graph, log_p: str) -> tuple[str, str]:
        """(N, count * width) -> the largest that may be written, and its id, (N, 1) each."""
        blocks = graph.op("Reshape", log_p, ints(0, self.count, self.width))
        largest = graph.op("ReduceMax", blocks, ints(2), keepdims=0)  # (N, count)
        never = np.zeros(self.count, np.float32)
        never[0] = IMPOSSIBLE
        value, block = graph.ops("TopK", 2, graph.op("Add", largest, never), ints(1), axis=-1)
        inside = graph.op("GatherND", blocks, block, batch_dims=1)  # (N, width)
        _, index = graph.ops("TopK", 2, inside, ints(1), axis=-1)
        first = FIRST_WRITTEN + self.width * np.arange(-1, self.count - 1)
        return value, graph.op("Add", graph.op("Gather", first, block), index)
