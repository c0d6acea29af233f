"""First check: do the weights matter to the output at all?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from attention_zoo.explain.check_distances import total_variation
from attention_zoo.explain.check_replay import Replay


@dataclass(frozen=True)
class Permutation:
    """Change of each step's output when its weights are permuted at random.

    Attributes:
        count: permutations of each step.
        median: total variation, the median over permutations, a number for each step.
        low: first decile.
        high: ninth decile.
    """

    count: int
    median: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]


def check_permutation(replay: Replay, count: int = 100, seed: int = 0) -> Permutation:
    """Permute the weights of each step over the source tokens (Jain and Wallace 2019, 4.2.1).

    One step is changed at a time. Where the median change is near 0, any of those tokens might
    have had any of those weights. Differs from the paper, whose model has one output, in doing so
    for each step of a decoder.

    Args:
        replay: what is checked.
        count: permutations of each step.
        seed: of the permutations.
    """
    generator = np.random.default_rng([seed, 1])
    repeated = np.repeat(replay.weights, count, axis=0)  # (T_dec x count, T_enc)
    steps = np.repeat(np.arange(replay.n_steps), count)
    outputs = replay.outputs_with(steps, generator.permuted(repeated, axis=1))
    change = total_variation(outputs, replay.outputs[steps]).reshape(replay.n_steps, count)
    low, median, high = np.quantile(change, [0.1, 0.5, 0.9], axis=1)
    return Permutation(count, tuple(median.tolist()), tuple(low.tolist()), tuple(high.tolist()))
