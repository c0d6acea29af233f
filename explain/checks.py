"""Is the attention an explanation? The checks of one model on one sentence, and their verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from attention_zoo.explain.check_adversarial import Adversarial, check_adversarial
from attention_zoo.explain.check_agreement import Agreement
from attention_zoo.explain.check_gradient import gradient_times_embedding
from attention_zoo.explain.check_leave_one_out import drop_from_attention, leave_one_out
from attention_zoo.explain.check_permutation import Permutation, check_permutation
from attention_zoo.explain.check_replay import Replay, replay
from attention_zoo.explain.check_seeds import SeedSpread, spread_of
from attention_zoo.explain.check_uniform import Uniform, check_uniform
from attention_zoo.explain.check_verdict import Verdict, judge

if TYPE_CHECKING:
    from attention_zoo.seq2seq import Seq2Seq


@dataclass(frozen=True, eq=False)
class CheckReport:
    """What the checks found; T_dec steps, T_enc source tokens, eos counted in both.

    Attributes:
        name: of the model.
        source: a label for each source token.
        target: a label for each target token.
        weights: (T_dec, T_enc), the model's own.
        permutation: change of the output by permuted weights.
        leave_one_out: weights against the change by each token masked in the source.
        drop_from_attention: weights against the change by each token taken out of the attention
            alone.
        gradient: weights against gradient times embedding.
        adversarial: the furthest weights that give the same output.
        uniform: change of the output by uniform weights.
        seeds: how far models of other seeds disagree; None if there were none.
        seed: of the permutations and the adversarial starts.
        judgement: the verdict with its criteria.
    """

    name: str
    source: tuple[str, ...]
    target: tuple[str, ...]
    weights: np.ndarray
    permutation: Permutation
    leave_one_out: Agreement
    drop_from_attention: Agreement
    gradient: Agreement
    adversarial: Adversarial
    uniform: Uniform
    seeds: SeedSpread | None
    seed: int
    judgement: Verdict

    @property
    def verdict(self) -> str:
        """The verdict in a sentence."""
        return self.judgement.words

    def to_dict(self) -> dict[str, Any]:
        """The report in plain data, as JSON takes it; numbers to 6 digits after the point."""
        named = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return {name: _plain(value) for name, value in named.items()}


def check_sentence(
    model: Seq2Seq,
    source: Sequence[int],
    target: Sequence[int] | None = None,
    *,
    source_labels: Sequence[str] | None = None,
    target_labels: Sequence[str] | None = None,
    name: str | None = None,
    others: Sequence[Seq2Seq] = (),
    permutations: int = 100,
    seed: int = 0,
) -> CheckReport:
    """Check whether the attention weights of a model on one sentence are evidence.

    The five checks of Jain and Wallace (2019) and Wiegreffe and Pinter (2019), for a decoder: at
    each target step the tokens before it are given, the output is the distribution over the next
    token, and outputs are compared by total variation. See `check_permutation`, `leave_one_out`,
    `gradient_times_embedding`, `check_adversarial` and `check_uniform` for each, and `judge` for
    the rule of the verdict, which is this project's own.

    Args:
        model: a `Seq2Seq` that attends, one head.
        source: ids with eos, no padding.
        target: ids with eos; the model's own greedy output if None.
        source_labels: text of each source token; its id if None.
        target_labels: likewise of each target token.
        name: of the model in the report; its own name if None.
        others: models trained alike with other seeds, for the scale of a divergence.
        permutations: of each step.
        seed: of permutations and starts; one seed gives one report.

    Raises:
        ValueError: a model without attention or with several heads, ids that are not the model's,
            labels of another number than tokens, or no permutation.
    """
    if permutations < 1:
        raise ValueError(
            f"check_sentence: permutations is {permutations}; expected at least 1. "
            "Fix: leave permutations out for 100."
        )
    own = replay(model, source, target)
    labels = (
        _labels("source_labels", source_labels, own.source[0]),
        _labels("target_labels", target_labels, own.target[0]),
    )
    permutation, left_out = check_permutation(own, permutations, seed), leave_one_out(own)
    adversarial, uniform = check_adversarial(own, seed), check_uniform(own)
    name = name or model.name
    return CheckReport(
        name=name,
        source=labels[0],
        target=labels[1],
        weights=own.weights,
        permutation=permutation,
        leave_one_out=left_out,
        drop_from_attention=drop_from_attention(own),
        gradient=gradient_times_embedding(own),
        adversarial=adversarial,
        uniform=uniform,
        seeds=_seeds(own, others),
        seed=seed,
        judgement=judge(name, own.n_tokens, permutation, left_out, adversarial, uniform),
    )


def _seeds(own: Replay, others: Sequence[Seq2Seq]) -> SeedSpread | None:
    if not others:
        return None
    source, target = own.source[0].tolist(), own.target[0].tolist()
    return spread_of([own, *(replay(model, source, target) for model in others)])


def _labels(argument: str, given: Sequence[str] | None, ids: np.ndarray) -> tuple[str, ...]:
    if given is None:
        return tuple(str(token) for token in ids.tolist())
    if len(given) != len(ids):
        raise ValueError(
            f"check_sentence: {argument} has {len(given)} labels; expected {len(ids)}, one a "
            "token, eos counted. Fix: pass the pieces of the same ids."
        )
    return tuple(given)


def _plain(value: Any) -> Any:
    """Data that JSON takes: arrays and tuples as lists, dataclasses as dicts with their means."""
    if isinstance(value, np.ndarray):
        return np.round(value, 6).tolist()
    if isinstance(value, float):
        return round(value, 6)
    if isinstance(value, (tuple, list)):
        return [_plain(item) for item in value]
    if hasattr(value, "__dataclass_fields__"):
        fields = {name: getattr(value, name) for name in value.__dataclass_fields__}
        derived = {
            name: getattr(value, name)
            for name, member in vars(type(value)).items()
            if isinstance(member, property)
        }
        return {name: _plain(item) for name, item in (fields | derived).items()}
    return value
