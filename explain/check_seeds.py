"""The spread over seeds: how far apart the weights of models are that differ in nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from attention_zoo.explain.check_distances import jensen_shannon, total_variation
from attention_zoo.explain.check_replay import Replay, replay

if TYPE_CHECKING:
    from attention_zoo.seq2seq import Seq2Seq


@dataclass(frozen=True)
class SeedSpread:
    """What models trained alike, but for the seed, disagree in on one sentence.

    Attributes:
        n_models: how many were compared, each pair of them.
        divergence: Jensen-Shannon divergence of the weights of two models, for each target step
            the mean over pairs.
        change: total variation of their outputs, likewise.
    """

    n_models: int
    divergence: tuple[float, ...]
    change: tuple[float, ...]

    @property
    def median_divergence(self) -> float:
        """Median over the steps."""
        return float(np.median(self.divergence))


def seed_spread(
    models: Sequence[Seq2Seq], source: Sequence[int], target: Sequence[int]
) -> SeedSpread:
    """Compare the weights of several trained models on one sentence, the target given.

    An adversarial divergence no larger than this one is no news: training itself might have ended
    with those weights (Wiegreffe and Pinter 2019, section 3.3).

    Args:
        models: at least two models of one vocabulary, trained alike with different seeds.
        source: ids with eos.
        target: ids with eos, which all models read.

    Raises:
        ValueError: fewer than two models, or what `replay` refuses.
    """
    if len(models) < 2:
        raise ValueError(
            f"seed_spread: models has {len(models)} of them; expected at least 2 to compare. "
            "Fix: train the same model again with another seed."
        )
    return spread_of([replay(model, source, target) for model in models])


def spread_of(replays: Sequence[Replay]) -> SeedSpread:
    """`seed_spread` of models that have been run over the sentence already."""
    pairs = list(combinations(replays, 2))
    divergence = [jensen_shannon(a.weights, b.weights) for a, b in pairs]  # each (T_dec,)
    change = [total_variation(a.outputs, b.outputs) for a, b in pairs]
    return SeedSpread(
        len(replays),
        tuple(np.mean(divergence, axis=0).tolist()),
        tuple(np.mean(change, axis=0).tolist()),
    )
