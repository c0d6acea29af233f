"""The inference benchmark at sizes of a few numbers: what it writes, and how it ends."""

import csv
import importlib.util
import shutil
import sys

import pytest
from click.testing import CliRunner
from inference_contenders import CONTENDERS, Files, make_files
from inference_process import Worker, WorkerError
from memory_bandwidth import MemoryBandwidth

SIZES = ("units=7", "d_emb=5", "vocab_source=23", "vocab_target=19")
SMALL = ["--rounds", 2, "--cold-rounds", 1, "-n", 3, "--batch", 2, "--max-length", 20]
# those that the quick file below can stand for
ONNX_KEYS = [one.key for one in CONTENDERS if one.kind == "onnx"]


@pytest.fixture(scope="module")
def benchmark(checkout):
    """The script, by its path, as a user runs it."""
    path = checkout / "benchmarks" / "inference.py"
    spec = importlib.util.spec_from_file_location("inference_benchmark", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["inference_benchmark"] = module
    spec.loader.exec_module(module)
    return module


def options(folder, keys, *more):
    """Those of a small model with random weights."""
    words = ["--random", "bahdanau_gru", "-o", folder, *SMALL, *more]
    words += [word for size in SIZES for word in ("--set", size)]
    words += [word for key in keys for word in ("--contender", key)]
    return [str(word) for word in words]


@pytest.fixture(scope="module")
def invoke(benchmark, counting_file):
    """A function (options) -> result, in which one quick file stands for all files."""

    def copied(_, chosen, folder, __):
        files = Files(folder)
        for one in chosen:
            files.path(one).parent.mkdir(exist_ok=True)
            shutil.copy(counting_file, files.path(one))
        return files

    patch = pytest.MonkeyPatch()
    patch.setattr(benchmark, "make_files", copied)
    patch.setattr(MemoryBandwidth.__init__, "__defaults__", (8 * 1031,))
    yield lambda words: CliRunner().invoke(benchmark.main, words)
    patch.undo()


@pytest.fixture(scope="module")
def finished(invoke, tmp_path_factory):
    """(what it printed, folder) of a whole run."""
    folder = tmp_path_factory.mktemp("inference") / "out"
    result = invoke(options(folder, ONNX_KEYS, "--lengths", "3,17", "--profile"))
    assert result.exit_code == 0, result.output
    return result.output, folder


def read(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_every_contender_has_a_row(finished):
    _, folder = finished
    rows = read(folder / "inference.random.bahdanau_gru.csv")
    assert [row["contender"] for row in rows] == ONNX_KEYS
    for row in rows:
        for name in ("ms", "ms_two_threads", "cold_s", "sentences_per_second", "us_per_token"):
            assert 0 < float(row[f"{name}_q1"]) <= float(row[name]) <= float(row[f"{name}_q3"])
        assert row["batch"] == "2"
        assert row["quality"] == ""
    assert int(rows[0]["step_bytes"]) > int(rows[-1]["step_bytes"])


def test_the_growth_has_a_row_for_each_contender_and_length(finished):
    _, folder = finished
    rows = read(folder / "inference.random.bahdanau_gru.growth.csv")
    found = [(row["length"], row["key"]) for row in rows]
    assert found == [(length, key) for length in ("3", "17") for key in ONNX_KEYS]
    assert [row["tokens"] for row in rows] == ["3"] * 3 + ["17"] * 3


def test_the_profile_has_the_operators_of_the_loop(finished):
    _, folder = finished
    rows = read(folder / "inference.random.bahdanau_gru.profile.csv")
    named = {one.name for one in CONTENDERS if one.key in ONNX_KEYS}
    assert {row["contender"] for row in rows if row["what"] == "Add"} == named


def test_the_report_is_what_was_printed(finished):
    told, folder = finished
    text = (folder / "inference.random.bahdanau_gru.md").read_text()
    assert text in told
    for heading in ("## To reach", "## Where the time goes", "## Growth with the source"):
        assert heading in text
    assert "| plain tf2onnx | float32 |" in text
    assert "| ONNX | int8 |" in text
    assert "No accuracy: the weights are random" in text
    for name in ("inference.random.bahdanau_gru.png", "inference.random.bahdanau_gru.growth.png"):
        assert name in text
        assert (folder / name).read_bytes().startswith(b"\x89PNG")


def test_nothing_half_written_stays(finished):
    _, folder = finished
    base = "inference.random.bahdanau_gru"
    ends = ("csv", "growth.csv", "growth.png", "md", "png", "profile.csv")
    assert sorted(path.name for path in folder.iterdir()) == [f"{base}.{end}" for end in ends]


def test_a_process_that_dies_is_told_and_leaves_nothing(invoke, tmp_path, monkeypatch):
    def dies(self, sources):
        self._process.kill()
        raise WorkerError("onnx, model.onnx: expected an answer")

    monkeypatch.setattr(Worker, "turn", dies)
    result = invoke(options(tmp_path / "out", ["onnx"], "--no-growth"))
    assert result.exit_code == 1
    assert "expected an answer" in result.output
    assert not (tmp_path / "out").exists()


def test_a_file_that_cannot_be_made_is_named(invoke, benchmark, tmp_path, monkeypatch):
    def none_made(_, chosen, folder, __):
        return Files(folder, {one.key: "no converter" for one in chosen})

    monkeypatch.setattr(benchmark, "make_files", none_made)
    result = invoke(options(tmp_path / "out", ["onnx"]))
    assert result.exit_code == 1
    assert "nothing to measure: {'onnx': 'no converter'}" in result.output
    assert not (tmp_path / "out").exists()


def test_ctrl_c_says_so_and_ends_with_130(invoke, benchmark, tmp_path, monkeypatch):
    def pressed(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(benchmark, "measure_turns", pressed)
    result = invoke(options(tmp_path / "out", ["onnx"], "--no-growth"))
    assert result.exit_code == 130
    assert "Interrupted" in result.output
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "name a PRESET, or a model by --random"),
        (["bahdanau_gru.copy", "--random", "bahdanau_gru"], "one of the two"),
        (["bahdanau_gru.copy", "--set", "units=3"], "--set goes with --random"),
        (["--random", "bahdanau_gru", "--limit", "3"], "--limit goes with a PRESET"),
        (["--random", "bahdanau_gr"], "bahdanau_gru"),
        (["--random", "bahdanau_gru", "--set", "units=no"], "units"),
        (["--random", "bahdanau_gru", "--set", "units"], "NAME=VALUE"),
        (["bahdanau_gru.coppy"], "Did you mean bahdanau_gru.copy"),
        (["bahdanau_gru.copy", "--sentences", __file__], "reads no sentences"),
        (["bahdanau_gru.copy", "--contender", "torch"], "torch"),
        (["bahdanau_gru.copy", "--rounds", "0"], "--rounds"),
        (["bahdanau_gru.copy", "--lengths", "0,5"], "lengths from 1"),
    ],
)
def test_a_mistake_is_exit_code_2_without_a_traceback(benchmark, tmp_path, words, told):
    result = CliRunner().invoke(benchmark.main, [*words, "-o", str(tmp_path / "out")])
    assert result.exit_code == 2, result.output
    assert told in " ".join(result.output.split())
    assert "Traceback" not in result.output
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_the_files_of_every_format_are_made_and_answer_as_keras(benchmark, tmp_path, monkeypatch):
    # what stands for it in the other tests of this file may be in its place still
    monkeypatch.setattr(benchmark, "make_files", make_files)
    keys = [one.key for one in CONTENDERS if one.weights == "float32"]
    result = CliRunner().invoke(
        benchmark.main, options(tmp_path, keys, "--no-growth", "--rounds", 1)
    )
    assert result.exit_code == 0, result.output
    rows = read(tmp_path / "inference.random.bahdanau_gru.csv")
    assert [row["contender"] for row in rows] == keys
    assert {row["equal_tokens"] for row in rows} == {"100"}
