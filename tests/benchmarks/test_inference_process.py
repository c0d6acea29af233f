"""A contender in a process of its own."""

import json
import os
import subprocess
import sys

import inference_process
import numpy as np
import pytest
from inference_process import Turn, Worker, WorkerError, save_sources

SOURCES = [np.array([[7, 5, 2]], np.int32), np.array([[11, 2, 0, 0], [3, 3, 3, 2]], np.int32)]


@pytest.fixture
def sources(tmp_path):
    return save_sources(tmp_path / "sources.npz", SOURCES)


@pytest.fixture
def worker(counting_file, sources, tmp_path):
    with Worker("onnx", counting_file, 1, 9, sources, tmp_path / "log") as found:
        yield found


def test_a_turn_times_every_source_and_counts_its_tokens(worker, sources):
    turn = worker.turn(sources)
    assert turn.tokens == (3, 6)
    assert len(turn.seconds) == 2
    assert min(turn.seconds) > 0
    assert turn.peak >= worker.cold.peak


def test_the_tokens_come_back_in_order(worker, sources):
    found = worker.tokens(sources)
    assert all(np.array_equal(one, other) for one, other in zip(found, SOURCES, strict=True))


def test_a_cold_start_is_longer_than_its_phases(worker):
    phases = worker.cold.phases
    assert set(phases) == {"import", "load", "first"}
    assert min(phases.values()) > 0
    assert sum(phases.values()) < worker.cold.seconds


def test_the_peak_is_that_of_the_process_and_not_of_the_one_that_started_it(worker):
    """A process that is started inherits the ru_maxrss of its parent; this one is larger."""
    held = np.ones(2**28, np.uint8)
    assert worker.cold.peak < held.nbytes


def test_the_time_a_token_is_of_all_calls():
    assert Turn((0.5, 1.0), (2, 4), 0).seconds_a_token == 0.25
    assert Turn((0.5,), (0,), 0).seconds_a_token == 0.5


def test_the_process_ends_with_the_block(counting_file, sources, tmp_path):
    with Worker("onnx", counting_file, 1, 9, sources, tmp_path / "log") as worker:
        number = worker._process.pid
        os.kill(number, 0)
    with pytest.raises(ProcessLookupError):
        os.kill(number, 0)


def test_a_file_that_does_not_load_is_told_with_its_reason(sources, tmp_path):
    broken = tmp_path / "broken.onnx"
    broken.write_bytes(b"no graph")
    with pytest.raises(WorkerError, match=r"broken\.onnx, 2 threads.*exit code 1.*FileLoadError"):
        Worker("onnx", broken, 2, 9, sources, tmp_path / "log")


def test_a_process_that_is_killed_is_an_error(worker, sources):
    worker._process.kill()
    with pytest.raises(WorkerError, match=r"1 thread: expected an answer.*exit code -9"):
        worker.turn(sources)


def test_what_a_library_prints_does_not_stand_between_the_answers(counting_file, sources):
    """On stdout, at the import: it goes to stderr, and the first line is still an answer."""
    program = (
        "import runpy, sys; import onnxruntime as o; s = o.InferenceSession; "
        "o.InferenceSession = lambda *a, **k: (print('hello'), s(*a, **k))[1]; "
        "sys.argv = sys.argv[1:]; sys.path.insert(0, sys.argv.pop(0)); "
        "runpy.run_path(sys.argv[0], run_name='__main__')"
    )
    script = inference_process._PROGRAM
    words = [script.parent, script, "onnx", counting_file, 1, 9, sources]
    ran = subprocess.run(
        [sys.executable, "-c", program, *map(str, words)],
        input="",
        capture_output=True,
        text=True,
        check=True,
    )
    assert "peak" in json.loads(ran.stdout)
    assert ran.stderr.startswith("hello")
