"""The training benchmark at sizes of a few numbers: what it counts and what it writes."""

import csv
import importlib.util
import sys

import numpy as np
import pytest
from click.testing import CliRunner
from contender_process import KERAS, OURS, ContenderProcess
from loss_curves import CURVES, REFERENCE
from peer_contender import PEER, PeerContender
from step_size import StepSize

SIZE = StepSize(batch=3, length=4, vocab=11, width=5)
PEER_SCRIPT = """
import sys
given = dict(zip(sys.argv[1::2], map(int, sys.argv[2::2])))
assert set(given) == {"--batch", "--length", "--vocab", "--width", "--steps"}, given
print(f"torch 9.9 {given['--batch'] + given['--length'] / 10:.1f} ms/step 7 tokens/s")
"""


@pytest.fixture(scope="module")
def benchmark(checkout):
    """The script, by its path: `training` is the name of a folder of the checkout too."""
    path = checkout / "benchmarks" / "training.py"
    spec = importlib.util.spec_from_file_location("training_benchmark", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["training_benchmark"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def peer(tmp_path):
    path = tmp_path / "peer.py"
    path.write_text(PEER_SCRIPT)
    return path


def test_rows_are_medians_ratios_and_shares(benchmark):
    ours = "ours, mixed bfloat16, graph"
    seconds = {ours: [0.1, 0.2, 0.4], PEER: [0.3, 0.4, 0.4]}
    peak = {"float32": 1e6, "bfloat16": 2e6}
    own, peer = benchmark.rows_of(SIZE, seconds, peak, {ours: 7.5, PEER: float("nan")})
    work = SIZE.step_multiply_adds()
    assert own["ms"] == pytest.approx(200)
    assert (own["ms_q1"], own["ms_q3"]) == pytest.approx((150, 300))
    assert own["tokens_per_second"] == pytest.approx(12 / 0.2)
    assert own["times_peer"] == pytest.approx(np.median([3, 2, 1]))
    assert own["share_of_peak"] == pytest.approx(work / 0.2 / 2e6)
    assert peer["share_of_peak"] == pytest.approx(work / 0.4 / 1e6)
    assert peer["times_peer"] == 1.0
    (alone,) = benchmark.rows_of(SIZE, {ours: [0.1]}, peak, {ours: 1.0})
    assert alone["times_peer"] is None


def test_the_peer_is_a_script_that_prints_a_line(peer):
    contender = PeerContender(peer, SIZE)
    assert contender.name == PEER
    assert contender.round(2) == pytest.approx(0.0034)
    peer.write_text("print('no torch here'); raise SystemExit(3)")
    with pytest.raises(ValueError, match=r"exit code 3 and 'no torch here'\. Fix: the script"):
        contender.round(2)


def test_a_worker_that_ends_is_told_of(capfd):
    with pytest.raises(ValueError, match=r"no such contender: .* its worker, .* exit code 1"):
        ContenderProcess("no such contender", SIZE)
    assert "KeyError: 'no such contender'" in capfd.readouterr().err


def test_without_a_peer_the_reason_is_told(benchmark, peer, monkeypatch):
    assert "no script was given" in benchmark.missing_peer(None)
    monkeypatch.setattr(benchmark.importlib.util, "find_spec", lambda name: None)
    assert "torch is not installed" in benchmark.missing_peer(peer)
    monkeypatch.setattr(benchmark.importlib.util, "find_spec", lambda name: name)
    assert benchmark.missing_peer(peer) == ""


def test_a_bad_size_is_a_usage_error(benchmark, tmp_path):
    result = CliRunner().invoke(benchmark.main, ["--size", "64,20", "-o", str(tmp_path / "out")])
    assert result.exit_code == 2
    assert "BATCH,LENGTH,VOCAB,WIDTH, got '64,20'" in " ".join(result.output.split())
    assert not (tmp_path / "out").exists()


@pytest.fixture(scope="module")
def run(benchmark, tmp_path_factory):
    """(what it printed, folder) of a whole run with a made-up peer."""
    folder = tmp_path_factory.mktemp("benchmark")
    script = folder / "peer.py"
    script.write_text(PEER_SCRIPT)
    patch = pytest.MonkeyPatch()
    patch.setattr(benchmark, "missing_peer", lambda peer: "")
    options = ["--peer", script, "--rounds", 2, "--steps", 2, "--size", "3,4,11,5"]
    options += ["--curve-steps", 6, "-o", folder / "out"]
    result = CliRunner().invoke(benchmark.main, [str(word) for word in options])
    patch.undo()
    assert result.exit_code == 0, result.output
    return result.output, folder / "out"


@pytest.mark.slow
def test_every_contender_has_a_row(run):
    _, folder = run
    with (folder / "training.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["contender"] for row in rows] == [*OURS, KERAS, PEER]
    assert all(float(row["ms_q1"]) <= float(row["ms"]) <= float(row["ms_q3"]) for row in rows)
    assert {row["gmac_per_step"] for row in rows} == {f"{SIZE.step_multiply_adds() / 1e9:.6g}"}
    assert float(rows[-1]["ms"]) == pytest.approx(3.4)
    assert rows[-1]["first_step_seconds"] == ""
    for row in rows:
        assert float(row["tokens_per_second"]) == pytest.approx(12e3 / float(row["ms"]), rel=1e-4)


@pytest.mark.slow
def test_the_report_holds_the_table_and_the_picture(run):
    told, folder = run
    text = (folder / "training.md").read_text()
    assert text in told
    assert "## Batch 3, length 4, vocabulary 11, width 5" in text
    assert "| PyTorch peer, float32, eager | 3.4 |" in text
    assert "training.png" in text
    assert (folder / "training.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_the_losses_are_those_of_keras(run):
    told, _ = run
    lines = {name: line for line in told.splitlines() for name in CURVES if f"| {name} |" in line}
    assert lines[REFERENCE].endswith("| - |")
    difference = {
        name: float(line.split("|")[-2]) for name, line in lines.items() if name != REFERENCE
    }
    assert difference["ours, float32"] < 1e-5
    assert difference["ours, mixed bfloat16"] < 2e-2
