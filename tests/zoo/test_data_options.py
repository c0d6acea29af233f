"""The options that name a translation data set, and the data that they load."""

import json

import click
import pytest
from click.testing import CliRunner

from attention_zoo.commands.data_options import DataChoice, data_options
from attention_zoo.training.translation_data import Referenced


@click.command()
@click.option("--other", default=3)
@data_options
def command(other, data_choice):
    """Hands its choice to the test."""
    click.get_current_context().obj.append((other, data_choice))


def choice(*arguments):
    """What a command with the options gets."""
    seen = []
    done = CliRunner().invoke(command, arguments, obj=seen)
    if done.exit_code:
        raise click.UsageError(done.output)
    assert seen[0][0] == 3
    return seen[0][1]


@pytest.fixture
def pairs(tmp_path):
    """A file of 30 pairs; pair i is "s<i>" and "t<i>", with a third column."""
    path = tmp_path / "pairs.tsv"
    path.write_text("".join(f"s{i}\tt{i}\tby x\n" for i in range(30)))
    return str(path)


def write(path, lines):
    path.write_text("".join(line + "\n" for line in lines))
    return str(path)


def sources(entries):
    return {entry.source for entry in entries}


def test_defaults_and_what_is_typed():
    plain = choice("--data", "x.tsv")
    assert plain == DataChoice(data="x.tsv")
    assert plain.typed == {"data"}
    typed = choice("--data", "x.tsv", "--split-seed", "0", "--no-reverse")
    assert typed == plain
    assert typed.typed == {"data", "split_seed", "reverse"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--source-file", "a"], "--source-file and --target-file go together"),
        (["--test-target", "a"], "--test-source and --test-target go together"),
        (
            ["--data", "x", "--source-file", "a", "--target-file", "b"],
            "--data and --source-file both name the data",
        ),
        (
            ["--data", "x", "--validation-source", "a", "--validation-target", "b"],
            "--validation-source goes with --source-file",
        ),
        (["--split-seed", "-1"], "-1 is not in the range"),
    ],
)
def test_options_that_do_not_go_together(arguments, message):
    with pytest.raises(click.UsageError, match=message):
        choice(*arguments)


def test_load_splits_a_file_of_pairs(pairs):
    arguments = ("--data", pairs, "--n-test", "5", "--n-validation", "4")
    data = choice(*arguments).load()
    assert len(data.test) == 5
    assert len(data.validation) == 4
    assert {entry.source[0] for entry in data.test} == {"s"}
    assert sources(choice(*arguments, "--split-seed", "1").load().test) != sources(data.test)
    back = choice(*arguments, "--reverse").load()
    assert {entry.source[0] for entry in back.test} == {"t"}
    columns = choice(*arguments, "--source-column", "2", "--target-column", "0")
    assert (columns.source_column, columns.target_column) == (2, 0)


def test_load_takes_parts_in_files_of_their_own(tmp_path):
    def two(name, lines):
        return (
            f"--{name}-source" if name != "source" else "--source-file",
            write(tmp_path / f"{name}.s", [f"s{line}" for line in lines]),
            f"--{name}-target" if name != "source" else "--target-file",
            write(tmp_path / f"{name}.t", [f"t{line}" for line in lines]),
        )

    parts = (two("source", range(4)), two("validation", [5, 6]), two("test", [8]))
    data = choice(*parts[0], *parts[1], *parts[2]).load()
    assert [pair.target for pair in data.train] == ["t0", "t1", "t2", "t3"]
    assert data.validation == [Referenced("s5", ("t5",)), Referenced("s6", ("t6",))]
    assert data.test == [Referenced("s8", ("t8",))]
    again = choice().load_again(json.loads(json.dumps(data.description["spec"])))
    assert (again.train, again.test) == (data.train, data.test)
    with pytest.raises(click.UsageError, match="go together when a model is trained"):
        choice(*parts[0], *parts[1]).load()
    with pytest.raises(click.UsageError, match="takes one --test-target"):
        choice(*parts[0], *parts[1], *parts[2], "--test-target", "more").load()


def test_load_without_data():
    with pytest.raises(click.UsageError, match="no data: name it by --data"):
        choice("--reverse").load()
    with pytest.raises(click.UsageError, match="name it by --test-source"):
        choice().load_test()


def test_load_again_keeps_what_was_recorded(pairs, tmp_path):
    arguments = ("--n-test", "5", "--n-validation", "4", "--split-seed", "7", "--reverse")
    first = choice("--data", pairs, *arguments).load()
    spec = json.loads(json.dumps(first.description["spec"]))
    assert choice().load_again(spec).test == first.test
    moved = tmp_path / "elsewhere.txt"
    moved.write_bytes((tmp_path / "pairs.tsv").read_bytes())
    (tmp_path / "pairs.tsv").unlink()
    assert choice("--data", str(moved)).load_again(spec).test == first.test
    two = (
        *("--source-file", write(tmp_path / "s", [f"s{i}" for i in range(30)])),
        *("--target-file", write(tmp_path / "t", [f"t{i}" for i in range(30)])),
    )
    assert choice(*two).load_again(spec).test == first.test
    other = choice("--data", str(moved), "--split-seed", "0").load_again(spec)
    assert sources(other.test) != sources(first.test)
    forth = choice("--data", str(moved), "--no-reverse").load_again(spec)
    assert {entry.source[0] for entry in forth.test} == {"s"}


def test_a_test_set_with_several_references(tmp_path):
    source = write(tmp_path / "s", ["un", "deux", "un"])
    targets = [
        write(tmp_path / "a", ["one", "two", "1"]),
        write(tmp_path / "b", ["a", "b", "c"]),
    ]
    options = ["--test-source", source, "--test-target", targets[0]]
    assert choice(*options).load_test() == [
        Referenced("un", ("one",)),
        Referenced("deux", ("two",)),
        Referenced("un", ("1",)),
    ]
    assert choice(*options, "--test-target", targets[1]).load_test()[2].references == ("1", "c")
    assert choice(*options, "--reverse").load_test()[1] == Referenced("two", ("deux",))
    with pytest.raises(ValueError, match="reverse needs one file of references, got 2"):
        choice(*options, "--test-target", targets[1], "--reverse").load_test()
    short = write(tmp_path / "short", ["one"])
    with pytest.raises(ValueError, match=r":2: expected as many lines"):
        choice("--test-source", source, "--test-target", short).load_test()
