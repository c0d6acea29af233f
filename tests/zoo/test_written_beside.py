import errno

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


@pytest.mark.parametrize("named", [False, True])
def test_an_error_of_the_system_names_the_file_that_was_asked_for(tmp_path, named):
    path = tmp_path / "table.csv"

    def fail():
        with written_beside(path) as beside:
            names = [str(beside)] if named else []
            raise OSError(errno.ENOSPC, "No space left on device", *names)

    with pytest.raises(OSError, match=r"No space left on device: '.*/table\.csv'") as caught:
        fail()
    assert caught.value.errno == errno.ENOSPC
    assert list(tmp_path.iterdir()) == []
