"""The report of the checks as files: markdown to read, JSON to compute with, and a picture."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from attention_zoo.explain.check_adversarial import SAME_OUTPUT
from attention_zoo.explain.check_agreement import Agreement
from attention_zoo.explain.check_distances import LARGEST_DIVERGENCE
from attention_zoo.explain.check_verdict import CLEAR_CHANGE, OTHER_WEIGHTS, Criterion
from attention_zoo.explain.checks import CheckReport
from attention_zoo.written_beside import written_beside

MARKDOWN_FILE, JSON_FILE, PICTURE_FILE = "check.md", "check.json", "check.png"

_HEADINGS = (
    "output",
    "looks at",
    "permuted",
    "uniform",
    "other weights",
    "tau, left out",
    "tau, gradient",
    "holds",
)
_MARKS = {True: "yes", False: "no", None: "not known"}


def write_check(report: CheckReport, directory: str | Path) -> list[Path]:
    """Write `check.md`, `check.json` and `check.png` into a folder, and return their paths."""
    from attention_zoo.explain.check_picture import plot_check  # matplotlib is slow to import

    folder = Path(directory)
    data = json.dumps(report.to_dict(), ensure_ascii=False, indent=1)
    texts = {MARKDOWN_FILE: markdown(report), JSON_FILE: data + "\n"}
    for name, text in texts.items():
        with written_beside(folder / name) as beside:
            beside.write_text(text, encoding="utf-8")
    plot_check(report, folder / PICTURE_FILE)
    return [folder / name for name in (MARKDOWN_FILE, JSON_FILE, PICTURE_FILE)]


def markdown(report: CheckReport) -> str:
    """The report as text: verdict, criteria, every step, and what the numbers mean."""
    sections = [
        f"# Is the attention an explanation? {_cell(report.name)}",
        f"Source: {_tokens(report.source)}\n\nOutput: {_tokens(report.target)}",
        f"**{report.judgement.outcome.capitalize()}.** {_cell(report.verdict)}",
        _criteria(report.judgement.criteria),
        "## Step by step",
        _steps(report),
        _held(report),
        "## In all",
        "\n".join(f"- {line}" for line in _totals(report)),
        "## How to read this",
        _reading(report),
    ]
    return "\n\n".join(sections) + "\n"


def _criteria(criteria: Iterable[Criterion]) -> str:
    rows = [(it.name, it.asks, it.found, _MARKS[it.met]) for it in criteria]
    return _table(("check", "asked", "found", "met"), rows)


def _steps(report: CheckReport) -> str:
    rows = []
    for t, token in enumerate(report.target):
        top = int(report.weights[t].argmax())
        spread = f"{report.permutation.low[t]:.2f} to {report.permutation.high[t]:.2f}"
        kept = "" if report.uniform.kept[t] else ", another token"
        rows.append(
            (
                _code(token),
                f"{_code(report.source[top])} {report.weights[t, top]:.2f}",
                f"{report.permutation.median[t]:.2f} ({spread})",
                f"{report.uniform.change[t]:.2f}{kept}",
                f"{report.adversarial.divergence[t]:.2f}",
                _number(report.leave_one_out.taus[t]),
                _number(report.gradient.taus[t]),
                _MARKS[report.judgement.steps[t]],
            )
        )
    return _table(_HEADINGS, rows)


def _held(report: CheckReport) -> str:
    steps = zip(report.target, report.judgement.steps, strict=True)
    held = [_code(token) for token, holds in steps if holds]
    if not held:
        return "At no step do the weights meet the thresholds by themselves."
    return (
        f"At {len(held)} of {len(report.target)} steps the weights meet the thresholds by "
        f"themselves: {' '.join(held)}."
    )


def _totals(report: CheckReport) -> Iterable[str]:
    yield f"Leave one out, token masked in the source: {_of(report.leave_one_out)}."
    yield f"Token taken out of the attention alone: {_of(report.drop_from_attention)}."
    yield f"Gradient times embedding, attention held fixed: {_of(report.gradient)}."
    yield (
        f"Adversarial weights: largest divergence {report.adversarial.largest:.2f} of at most "
        f"{max(report.adversarial.limit):.2f}, with the output within {SAME_OUTPUT:g}; above "
        f"{OTHER_WEIGHTS:g} at {report.adversarial.share_above(OTHER_WEIGHTS):.0%} of the steps."
    )
    yield (
        "Uniform weights at decode time: the likeliest token is another at "
        f"{report.uniform.share_of_changed_tokens:.0%} of the steps."
    )
    if report.seeds is not None:
        yield (
            f"Between {report.seeds.n_models} models that differ in their seed alone the weights "
            f"of a step lie {report.seeds.median_divergence:.2f} apart (median divergence): no "
            "adversarial divergence below that is news."
        )


def _of(found: Agreement) -> str:
    steps = len(found.taus)
    missing = f"; {found.without_tau} of {steps} steps have no tau" if found.without_tau else ""
    top = found.share_of_same_top
    same = "" if top is None else f"; same top token at {top:.0%} of the steps"
    return (
        f"mean tau {_number(found.mean_tau)} ({_number(found.mean_fine_tau)} without rounding)"
        f"{same}{missing}"
    )


def _reading(report: CheckReport) -> str:
    return (
        "At each step the output tokens before it are given; the output is the distribution over "
        "the next token. *Permuted* is the median change of the output when the weights of that "
        f"step are shuffled over the source tokens {report.permutation.count} times (first to "
        "ninth decile in brackets), *uniform* the change when all weights of all steps are equal. "
        "Changes are total variation: 0 is the same output, 1 another one altogether; from "
        f"{CLEAR_CHANGE:g} on a change counts as clear. *Other weights* is the largest "
        "Jensen-Shannon divergence from the model's own weights that was found among weights which "
        f"change the output by {SAME_OUTPUT:g} at most; {LARGEST_DIVERGENCE:.2f} is all there is. "
        "*Tau* is Kendall's tau-b between the weights and the change of the output when each "
        "source token is left out, or gradient times embedding; 1 is the same order, 0 none in "
        "common. Weights and changes are rounded to 0.01 first, so that no order is read into "
        "what is next to nothing. A dash stands where a step has no tau.\n\n"
        "The checks are those of Jain and Wallace (2019, https://arxiv.org/abs/1902.10186) and "
        "Wiegreffe and Pinter (2019, https://arxiv.org/abs/1908.04626); the rule of the verdict is "
        "this project's. It speaks of this model on this sentence, and of no other."
    )


def _table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _tokens(tokens: Iterable[str]) -> str:
    return " ".join(_code(token) for token in tokens)


def _code(token: str) -> str:
    """A token as code, whatever is in it; a bar would end a cell of a table even there."""
    token = " ".join(token.split()) or " "
    fence = "``" if "`" in token else "`"
    space = " " if "`" in token else ""
    return f"{fence}{space}{token}{space}{fence}".replace("|", "\\|")


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
