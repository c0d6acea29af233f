"""Rows of results in CSV and Markdown."""

import csv

import pytest
from result_table import ResultTable, markdown_table

COLUMNS = ("pair", "seed", "bleu")


@pytest.fixture
def table(tmp_path):
    return ResultTable(tmp_path / "folder" / "results.csv", COLUMNS, ("pair", "seed"))


def test_rows_of_other_keys_stay_and_those_of_the_same_are_replaced(table):
    table.merge([{"pair": "en-fr", "seed": 0, "bleu": "59.01"}])
    table.merge(
        [{"pair": "en-de", "seed": 1, "bleu": 38.5}, {"pair": "en-de", "seed": 0, "bleu": 39.0}]
    )
    merged = table.merge([{"pair": "en-fr", "seed": 0, "bleu": "60.20"}])
    expected = [
        {"pair": "en-de", "seed": "0", "bleu": "39"},
        {"pair": "en-de", "seed": "1", "bleu": "38.5"},
        {"pair": "en-fr", "seed": "0", "bleu": "60.20"},
    ]
    assert merged == expected
    assert table.rows() == expected
    with table.path.open(newline="") as file:
        assert next(csv.reader(file)) == list(COLUMNS)


def test_a_file_with_other_columns_is_an_error_and_stays(table):
    table.path.parent.mkdir()
    table.path.write_text("pair,seed\nen-de,0\n")
    with pytest.raises(
        ValueError, match=r"expected the columns .*bleu.*, got .*Fix: move the file"
    ):
        table.merge([{"pair": "en-fr", "seed": 0, "bleu": "59.01"}])
    assert table.path.read_text() == "pair,seed\nen-de,0\n"


def test_a_row_lacks_no_column(table):
    with pytest.raises(KeyError, match="bleu"):
        table.merge([{"pair": "en-fr", "seed": 0}])
    assert not table.path.exists()


def test_markdown_puts_numbers_to_the_right():
    text = markdown_table(["what", "ms", "ratio"], [["a|b", 1.5, "1.20x"], ["c", 12, "-"]])
    assert text.splitlines() == [
        "| what | ms | ratio |",
        "| --- | ---: | ---: |",
        "| a\\|b | 1.5 | 1.20x |",
        "| c | 12 | - |",
    ]
