"""The lesson in docs/attention.md: what it computes, shows and says is so."""

import doctest
import re
import shlex
from pathlib import Path

import pytest

from attention_zoo.cli import COMMANDS, cli
from attention_zoo.layers.attention_axes import PARAMETERS, TENSORS

CHECKOUT = Path(__file__).resolve().parents[1]
PAGE = CHECKOUT / "docs" / "attention.md"
TEXT = PAGE.read_text(encoding="utf-8")
PICTURES = re.findall(r"!\[.*?\]\((.*?)\)", TEXT)
LINES = re.findall(r"^\$ (.*)$", TEXT, re.MULTILINE)


def table(head):
    """The rows of the table whose first row begins so, without its head."""
    lines = TEXT[TEXT.index(head) :].split("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def axes_of(cell):
    """`(batch, d_s)` -> its axes."""
    return tuple(axis.strip() for axis in cell.strip("()").split(",") if axis.strip())


def test_the_sessions_give_what_they_show():
    parser = doctest.DocTestParser()
    session = parser.get_doctest(TEXT, {}, PAGE.name, str(PAGE), 0)
    assert len(session.examples) > 15
    told = []
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    runner.run(session, out=told.append)
    assert runner.failures == 0, "".join(told)


def test_the_weights_have_the_axes_of_the_code():
    shown = {}
    for mechanism, _, weights in table("| mechanism | score |"):
        found = re.findall(r"(\w+) (\(.*?\))", weights)
        shown[mechanism.strip("`")] = {name: axes_of(cell) for name, cell in found}
    without_readout = {
        mechanism: {name: axes for name, axes in found.items() if name != "W_c"}
        for mechanism, found in PARAMETERS.items()
    }
    assert shown == without_readout


def test_the_tensors_have_the_axes_of_the_code():
    for name, cell in table("| tensor | axes |"):
        for tensors in TENSORS.values():
            assert tensors[name.strip("`")] == axes_of(cell)


def test_the_figures_are_those_of_the_readme():
    readme = (CHECKOUT / "README.md").read_text(encoding="utf-8")
    rows = [line for line in TEXT.splitlines() if re.match(r"\| `\w+\.fr_en` \|", line)]
    assert len(rows) == 3
    for row in rows:
        assert row in readme


@pytest.mark.parametrize("picture", PICTURES)
def test_every_picture_is_there_and_a_command_makes_it(picture):
    path = PAGE.parent / picture
    assert path.read_bytes().startswith(b"\x89PNG")
    folder = str(path.parent.relative_to(CHECKOUT))
    made = [line for line in LINES if path.name in line or f"-o {folder}" in line]
    # the study names its files itself
    assert made or any(path.stem in line.replace("-", "_") for line in LINES)


@pytest.mark.parametrize("line", LINES)
def test_every_command_exists(line):
    words = shlex.split(line)
    assert words[0] == "attention-zoo"
    assert words[1] in COMMANDS
    command, context = cli, cli.make_context("attention-zoo", words[1:], obj=None)
    while hasattr(command, "resolve_command"):
        rest = [*context._protected_args, *context.args]
        name, command, rest = command.resolve_command(context, rest)
        context = command.make_context(name, rest, parent=context, resilient_parsing=False)


def test_links_to_files_lead_somewhere():
    for link in re.findall(r"\]\((\.\./.*?)\)", TEXT):
        assert (PAGE.parent / link).resolve().is_file(), link
