"""The CSV log of a run."""

import pytest

from attention_zoo.training.run_log import RunLog


@pytest.fixture
def log(tmp_path):
    log = RunLog(tmp_path / "log.csv")
    for step in (2, 4, 6):
        log.add({"step": step, "loss": 1.0 / step})
    return log


def test_rows_are_read_as_written(log):
    assert [row["step"] for row in log.rows()] == [2, 4, 6]
    assert log.rows()[1]["loss"] == 0.25
    assert log.path.read_text().splitlines()[0] == "step,loss"


def test_cut(log):
    log.cut_after(4)
    assert [row["step"] for row in log.rows()] == [2, 4]
    log.add({"step": 6, "loss": 7.0})
    assert log.rows()[-1] == {"step": 6, "loss": 7.0}


def test_cut_drops_half_a_row(log):
    with log.path.open("a") as file:
        file.write("8")
    log.cut_after(99)
    assert [row["step"] for row in log.rows()] == [2, 4, 6]


def test_other_columns_are_refused(log):
    with pytest.raises(ValueError, match=r"must hold \['step', 'loss'\]"):
        log.add({"step": 8, "accuracy": 1.0})


def test_no_file(tmp_path):
    log = RunLog(tmp_path / "none.csv")
    log.cut_after(3)
    assert log.rows() == []


@pytest.mark.parametrize("content", ["", "\n", "st", "step,loss\n", "step,loss\n8,0.5\n"])
def test_a_log_of_which_no_row_counts_begins_anew(tmp_path, content):
    log = RunLog(tmp_path / "log.csv")
    log.path.write_text(content)
    log.cut_after(4)
    assert not log.path.exists()
    log.add({"step": 6, "accuracy": 0.5})
    assert log.rows() == [{"step": 6, "accuracy": 0.5}]


def test_an_empty_log_gets_its_header(tmp_path):
    log = RunLog(tmp_path / "log.csv")
    log.path.touch()
    log.add({"step": 6, "accuracy": 0.5})
    assert log.rows() == [{"step": 6, "accuracy": 0.5}]


def test_a_file_of_another_kind_is_left_alone(tmp_path):
    log = RunLog(tmp_path / "log.csv")
    log.path.write_text("date,weather\nmonday,rain\n")
    with pytest.raises(ValueError, match=r"log.csv: expected the log of a run.*weather.*Fix"):
        log.cut_after(0)
    assert "rain" in log.path.read_text()
