import pytest

from attention_zoo.written_beside import written_beside


def test_the_new_content_replaces_the_old(tmp_path):
    path = tmp_path / "made" / "table.csv"
    for text in ("old", "new"):
        with written_beside(path) as beside:
            beside.write_text(text)
    assert path.read_text() == "new"
    assert [file.name for file in path.parent.iterdir()] == ["table.csv"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_failure_leaves_the_old_content_and_nothing_else(tmp_path, error):
    path = tmp_path / "table.csv"
    path.write_text("old")

    def fail():
        with written_beside(path) as beside:
            beside.write_text("half")
            raise error

    with pytest.raises(error):
        fail()
    assert path.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["table.csv"]


def test_the_suffix_is_kept(tmp_path):
    with written_beside(tmp_path / "model.keras") as beside:
        beside.touch()
        assert beside.suffix == ".keras"
