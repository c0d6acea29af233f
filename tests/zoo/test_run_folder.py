"""The folder of a run: locked, and replaced only by a run that trains."""

import pytest

from attention_zoo.commands.run_folder import locked, refuse_to_restart, replaced


@pytest.fixture
def used(tmp_path):
    for name in ("last.keras", "model.keras", "training.json", "thesis.txt"):
        (tmp_path / name).write_text(f"old {name}")
    (tmp_path / "tensorboard").mkdir()
    (tmp_path / "tensorboard" / "events").write_text("old events")
    return tmp_path


def contents(folder):
    return {
        str(path.relative_to(folder)): path.read_text()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_a_second_run_in_a_folder_is_refused_while_the_first_goes_on(tmp_path):
    with (
        locked(tmp_path / "run"),
        pytest.raises(FileExistsError, match=r"run: another process trains .* Fix: wait"),
        locked(tmp_path / "run"),
    ):
        pass
    with locked(tmp_path / "run"), locked(tmp_path / "other"):
        pass
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_run_that_fails_at_once_leaves_the_old_one(used, error):
    before = contents(used)

    def fail():
        with replaced(used, force=True):
            assert set(contents(used)) >= {"thesis.txt"}
            assert not (used / "last.keras").exists()
            (used / "tokenizer.model").write_text("new")
            raise error

    with pytest.raises(error):
        fail()
    assert contents(used) == before


def test_a_run_that_has_a_checkpoint_takes_the_place_of_the_old_one(used):
    def fail():
        with replaced(used, force=True):
            (used / "last.keras").write_text("new")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert contents(used) == {"last.keras": "new", "thesis.txt": "old thesis.txt"}


def test_a_run_that_ends_takes_the_place_of_the_old_one(used):
    with replaced(used, force=True):
        (used / "model.keras").write_text("new")
    assert contents(used) == {"model.keras": "new", "thesis.txt": "old thesis.txt"}


def test_without_force_nothing_moves(used):
    before = contents(used)
    with replaced(used, force=False):
        assert contents(used) == before
    assert contents(used) == before


@pytest.mark.parametrize("left", ["log.csv", "tokenizer.model"])
def test_what_a_kill_in_the_first_round_leaves_is_no_run(tmp_path, left):
    (tmp_path / left).write_text("")
    refuse_to_restart(tmp_path)
    (tmp_path / "last.keras").write_text("")
    with pytest.raises(FileExistsError, match="Go on with it by --resume"):
        refuse_to_restart(tmp_path)
