"""The rows of the inference benchmark, from made-up rounds."""

import csv

import pytest
from inference_contenders import CONTENDERS, KERAS, ONNX, TFLITE_INT8, Files
from inference_process import ColdStart, Turn
from inference_rounds import Mode, Samples
from inference_table import TWO, Answers, table_rows, write_csv
from inference_targets import ONE

BATCH = Mode(7, 1)


@pytest.fixture
def rows(tmp_path):
    folder = tmp_path / "float32"
    folder.mkdir()
    for name, size in (("config.json", 30), ("model.weights.h5", 200), ("model.onnx", 270)):
        (folder / name).write_bytes(bytes(size))
    turns = {
        ONE: [Turn((0.001, 0.005, 0.003), (1, 3, 2), 0), Turn((0.005, 0.005, 0.002), (1, 3, 2), 0)],
        TWO: [Turn((0.002,), (1,), 0), Turn((0.002,), (1,), 0)],
        BATCH: [Turn((0.1, 0.1), (30, 40), 0), Turn((0.05, 0.05), (30, 40), 0)],
    }
    phases = {"import": 0.25, "load": 0.5, "first": 1.0}
    cold = [ColdStart(2.0, phases, 3000), ColdStart(4.0, phases, 5000)]
    samples = Samples(
        {(one.key, mode): found for one in (KERAS, ONNX) for mode, found in turns.items()},
        {one.key: cold for one in (KERAS, ONNX)},
        [1e6, 3e6],
    )
    answers = {KERAS.key: Answers(100.0, 40.5), ONNX.key: Answers(100.0)}
    sizes = {"float32": 400, "int8": 100}
    return table_rows([KERAS, ONNX], samples, Files(tmp_path), answers, sizes, BATCH)


def test_figures_are_medians_with_quartiles(rows):
    keras, onnx = rows
    assert (keras["bytes"], onnx["bytes"]) == (230, 270)
    assert keras["ms"] == pytest.approx((3 + 5) / 2)
    assert (keras["ms_q1"], keras["ms_q3"]) == pytest.approx((3.5, 4.5))
    assert keras["ms_two_threads"] == pytest.approx(2)
    assert keras["sentences_per_second"] == pytest.approx((7 * 2 / 0.2 + 7 * 2 / 0.1) / 2)
    assert keras["tokens_per_second"] == pytest.approx((70 / 0.2 + 70 / 0.1) / 2)
    assert keras["us_per_token"] == pytest.approx((9e3 / 6 + 12e3 / 6) / 2)
    assert (keras["cold_s"], keras["load_s"], keras["peak_bytes"]) == (3.0, 0.5, 4000)
    assert (keras["quality"], onnx["quality"]) == (40.5, None)


def test_the_floor_is_the_bytes_of_a_step_over_the_bandwidth(rows):
    row = rows[0]
    assert row["floor_us"] == pytest.approx(400 / 2e6 * 1e6)
    assert row["times_floor"] == pytest.approx(row["us_per_token"] / row["floor_us"])


def test_the_csv_file_holds_every_figure(rows, tmp_path):
    write_csv(tmp_path / "table.csv", rows)
    with (tmp_path / "table.csv").open(newline="") as file:
        read = list(csv.DictReader(file))
    assert [row["contender"] for row in read] == [KERAS.key, ONNX.key]
    assert list(read[0]) == list(rows[0])
    assert read[1]["quality"] == ""
    assert float(read[0]["us_per_token"]) == pytest.approx(rows[0]["us_per_token"], rel=1e-5)


def test_a_saved_model_is_its_folder_and_a_file_is_itself(tmp_path):
    files = Files(tmp_path)
    inner = tmp_path / "float32" / "saved_model" / "1" / "variables"
    inner.mkdir(parents=True)
    (inner / "a").write_bytes(bytes(11))
    (inner.parent / "saved_model.pb").write_bytes(bytes(13))
    (tmp_path / TFLITE_INT8.path).write_bytes(bytes(17))
    (saved,) = (one for one in CONTENDERS if one.kind == "savedmodel")
    assert (files.bytes(saved), files.bytes(TFLITE_INT8)) == (24, 17)
