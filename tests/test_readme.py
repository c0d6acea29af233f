"""The README: its sessions give what they show, and its commands exist."""

import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from attention_zoo import list_models, list_presets, preset_folder
from attention_zoo.cli import Session, cli
from attention_zoo.commands.preset_tables import preset_tables
from attention_zoo.manifest import read_manifest

CHECKOUT = Path(__file__).resolve().parents[1]
README = (CHECKOUT / "README.md").read_text(encoding="utf-8")


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def console_lines():
    """(command line, output shown) of every `$ ` line in a console block, in order."""
    for block in blocks("console"):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            line, _, output = part.partition("\n")
            yield line, output


COMMANDS = [line for line, _ in console_lines()]
SHOWN = [(line, output) for line, output in console_lines() if output]


def attention_zoo_options(words):
    """Parse the words of a command as the command itself does; returns its parameters."""
    command, context = cli, cli.make_context("attention-zoo", words[1:], obj=Session(""))
    while hasattr(command, "resolve_command"):
        rest = [*context._protected_args, *context.args]
        name, command, rest = command.resolve_command(context, rest)
        context = command.make_context(name, rest, parent=context)
    return context.params


def test_there_is_something_to_check():
    assert len(SHOWN) >= 4
    assert len(COMMANDS) > len(SHOWN)
    assert all(">>> " in block for block in blocks("python"))


@pytest.mark.parametrize("line", COMMANDS)
def test_every_command_exists(line):
    words = shlex.split(line.partition("&&")[0])
    if words[0] == "attention-zoo":
        assert attention_zoo_options(words)
    elif words[0] == "make":
        makefile = (CHECKOUT / "Makefile").read_text()
        assert re.search(rf"^{words[1]}:", makefile, re.MULTILINE)
    elif words[0].startswith(".ci/"):
        assert (CHECKOUT / words[0]).stat().st_mode & 0o111
    else:
        # what the rest does is done by the set-up and by .ci/run, in these very words
        assert words[:3] in (
            ["python3", "-m", "venv"],
            ["python", "-m", "pip"],
            ["python", "-m", "pytest"],
            ["ruff", "check", "."],
            ["ruff", "format", "--check"],
        )


def test_a_command_with_a_wrong_option_would_be_noticed():
    import click

    with pytest.raises(click.NoSuchOption):
        attention_zoo_options(["attention-zoo", "predict", "x", "7", "--fyle", "model.onnx"])


def test_ci_runs_what_the_readme_says():
    script = (CHECKOUT / ".ci" / "run").read_text()
    for words in (
        '-m pip install --quiet -e ".[dev]"',
        '-m pytest -n auto --dist loadfile -m "not slow"',
        "-m pytest -n auto --dist loadfile -m slow",
        "ruff",
        ".ci/types",
    ):
        assert words in script
    assert 'pip install -e ".[dev]"' in README
    assert '-m pytest -n auto --dist loadfile -m "not slow"' in README


@pytest.mark.parametrize(("line", "output"), SHOWN)
def test_a_command_prints_what_the_readme_shows(line, output, tmp_path):
    words = shlex.split(line)
    assert words[0] == "attention-zoo"
    done = subprocess.run(
        [sys.executable, "-m", "attention_zoo", *words[1:]],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == output


def test_the_python_sessions_give_what_they_show(tmp_path):
    # in a process of its own: it registers a model
    path = tmp_path / "README.txt"
    path.write_text("\n".join(blocks("python")), encoding="utf-8")
    options = ["-o", "ELLIPSIS", "-o", "NORMALIZE_WHITESPACE"]
    done = subprocess.run(
        [sys.executable, "-m", "doctest", *options, str(path)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout


def test_the_table_of_models_is_complete():
    rows = re.findall(r"^\| `(\w+)` \| (.*?) \|", README, re.MULTILINE)
    assert sorted(name for name, _ in rows) == list_models()


def test_the_table_of_folders_is_complete():
    rows = re.findall(r"^\| `(\w+)/` \| (`.*?`)? ?\|", README, re.MULTILINE)
    with (CHECKOUT / "pyproject.toml").open("rb") as file:
        mapping = tomllib.load(file)["tool"]["setuptools"]["package-dir"]
    expected = {folder: f"`{name}`" for name, folder in mapping.items() if "/" not in folder}
    assert dict(rows) == {**expected, "hosts": "", "tests": ""}


def test_the_table_of_presets_is_what_the_manifests_give():
    manifests = {name: read_manifest(preset_folder(name)) for name in list_presets()}
    shown = re.findall(r"^<!-- written by: (.*?) -->\n(.*?)^<!-- end -->", README, re.M | re.S)
    assert [command for command, _ in shown] == ["attention-zoo list --presets --markdown"]
    assert attention_zoo_options(shlex.split(shown[0][0]))["as_markdown"]
    assert shown[0][1] == preset_tables(manifests)
    # by one row each that has the number of parameters
    rows = dict(re.findall(r"^\| `([\w.]+)` \| ([\d,]+) \|", shown[0][1], re.M))
    assert list(rows) == list_presets()
