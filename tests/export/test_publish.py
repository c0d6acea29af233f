"""A folder appears whole or not at all."""

import errno
import os
import stat
import time

import pytest

from attention_zoo.export import publish
from attention_zoo.export.publish import publish_folder


def left_in(folder):
    return sorted(path.name for path in folder.iterdir())


def test_folder_takes_its_name_at_the_end(tmp_path):
    target = tmp_path / "deep" / "out"
    with publish_folder(target) as folder:
        (folder / "file").write_text("new")
        assert not target.exists()
        assert folder.parent == target.parent
    assert (target / "file").read_text() == "new"
    assert left_in(target.parent) == ["out"]
    assert stat.S_IMODE(target.stat().st_mode) & 0o700 == 0o700


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("force", [False, True])
def test_nothing_is_left_when_the_block_fails(tmp_path, error, force):
    target = tmp_path / "out"
    if force:
        target.mkdir()
        (target / "file").write_text("old")

    def write():
        with publish_folder(target, force) as folder:
            (folder / "file").write_text("half")
            raise error

    with pytest.raises(error):
        write()
    assert left_in(tmp_path) == (["out"] if force else [])
    if force:
        assert (target / "file").read_text() == "old"


def test_existing_folder_is_refused_before_any_work(tmp_path):
    target = tmp_path / "out"
    target.mkdir()
    (target / "file").write_text("old")
    with pytest.raises(FileExistsError, match="force=True"), publish_folder(target):
        pytest.fail("the block should not have been entered")
    assert (target / "file").read_text() == "old"


def test_existing_folder_is_replaced_on_request(tmp_path):
    target = tmp_path / "out"
    target.mkdir()
    (target / "stale").write_text("old")
    with publish_folder(target, force=True) as folder:
        (folder / "file").write_text("new")
        assert (target / "stale").exists()
    assert left_in(target) == ["file"]
    assert left_in(tmp_path) == ["out"]


def test_empty_folder_needs_no_force(tmp_path):
    target = tmp_path / "out"
    target.mkdir()
    with publish_folder(target) as folder:
        (folder / "file").write_text("new")
    assert left_in(target) == ["file"]


@pytest.mark.parametrize("force", [False, True])
def test_a_file_is_never_replaced(tmp_path, force):
    target = tmp_path / "out"
    target.write_text("a file")
    with pytest.raises(FileExistsError, match="never replaced"), publish_folder(target, force):
        pytest.fail("the block should not have been entered")
    assert target.read_text() == "a file"


def test_folder_that_appeared_meanwhile_is_kept(tmp_path):
    target = tmp_path / "out"

    def write():
        with publish_folder(target) as folder:
            (folder / "file").write_text("mine")
            target.mkdir()
            (target / "file").write_text("theirs")

    with pytest.raises(FileExistsError):
        write()
    assert (target / "file").read_text() == "theirs"
    assert left_in(tmp_path) == ["out"]


def test_old_folder_comes_back_if_the_rename_fails(tmp_path, monkeypatch):
    target = tmp_path / "out"
    target.mkdir()
    (target / "file").write_text("old")
    rename = publish.Path.rename

    def fail_on_new(self, to):
        if self.name.startswith(".out.") and to == target:
            raise OSError("disk full")
        return rename(self, to)

    monkeypatch.setattr(publish.Path, "rename", fail_on_new)
    with pytest.raises(OSError, match="disk full"), publish_folder(target, force=True) as folder:
        (folder / "file").write_text("new")
    assert (target / "file").read_text() == "old"
    assert left_in(tmp_path) == ["out"]


def test_a_full_disk_names_the_path(tmp_path):
    target = tmp_path / "out"
    with (
        pytest.raises(OSError, match=r"No space left on device: '.*out'") as caught,
        publish_folder(target),
    ):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert caught.value.filename == str(target)
    assert left_in(tmp_path) == []


def test_other_errors_stay_as_they_are(tmp_path):
    error = OSError(errno.EIO, "Input/output error")
    with pytest.raises(OSError, match="Input/output") as caught, publish_folder(tmp_path / "out"):
        raise error
    assert caught.value is error


def make_old(folder, hours):
    """A folder with a file, untouched for some hours."""
    folder.mkdir()
    (folder / "file").write_text("half")
    then = time.time() - hours * 3600
    for path in (folder / "file", folder):
        os.utime(path, (then, then))


def test_what_a_killed_export_left_is_swept(tmp_path):
    make_old(tmp_path / ".out.unfinished.ab12_xyz", hours=25)
    kept = {
        ".out.unfinished.ab12_new": 1,  # an export that may be running
        ".out.settings": 25,  # somebody's own
        ".out.old.ab12_xyz": 25,  # the folder that was there before
        ".out.unfinished.ab12_xy": 25,
        ".out.unfinished.AB12_xyz": 25,
        ".other.unfinished.ab12_xyz": 25,
        "out.unfinished.ab12_xyz": 25,
    }
    for name, hours in kept.items():
        make_old(tmp_path / name, hours)
    make_old(tmp_path / ".out.unfinished.ab12_abc", hours=25)
    (tmp_path / ".out.unfinished.ab12_abc" / "file").write_text("still written")
    then = time.time() - 25 * 3600
    os.utime(tmp_path / ".out.unfinished.ab12_abc", (then, then))
    (tmp_path / ".out.unfinished.ab12_lnk").symlink_to(tmp_path / "out.unfinished.ab12_xyz")
    with publish_folder(tmp_path / "out"):
        pass
    assert left_in(tmp_path) == sorted(
        [*kept, ".out.unfinished.ab12_abc", ".out.unfinished.ab12_lnk", "out"]
    )


def test_what_appeared_meanwhile_is_checked_also_with_force(tmp_path):
    target = tmp_path / "out"

    def only_ours(folder):
        if folder.is_dir() and not (folder / "ours").exists():
            raise FileExistsError(f"{folder}: not ours")

    def write():
        with publish_folder(target, True, only_ours) as folder:
            (folder / "ours").write_text("mine")
            target.mkdir()
            (target / "notes").write_text("theirs")

    with pytest.raises(FileExistsError, match="not ours"):
        write()
    assert left_in(tmp_path) == ["out"]
    assert left_in(target) == ["notes"]


@pytest.mark.parametrize("number", [errno.ENOTEMPTY, errno.EEXIST, errno.ENOENT])
@pytest.mark.parametrize("exists", [True, False])
def test_somebody_else_at_the_same_time_is_named(tmp_path, monkeypatch, number, exists):
    target = tmp_path / "out"
    if exists:
        target.mkdir()

    def fail(self, to):
        raise OSError(number, os.strerror(number), str(self))

    monkeypatch.setattr(publish.Path, "rename", fail)
    with (
        pytest.raises(FileExistsError, match=r"/out: somebody else wrote .* Fix: run it again"),
        publish_folder(target, force=True),
    ):
        pass
    assert left_in(tmp_path) == (["out"] if exists else [])


def test_what_stood_there_is_kept_if_somebody_takes_its_place(tmp_path, monkeypatch):
    target = tmp_path / "out"
    target.mkdir()
    (target / "file").write_text("old")
    rename = publish.Path.rename

    def overtaken(self, to):
        rename(self, to)
        if self == target:
            target.mkdir()
            (target / "file").write_text("theirs")

    monkeypatch.setattr(publish.Path, "rename", overtaken)
    with pytest.raises(FileExistsError, match=r"\.out\.old\.\*"), publish_folder(target, True):
        pass
    assert (target / "file").read_text() == "theirs"
    (aside,) = tmp_path.glob(".out.old.*")
    assert (aside / "out" / "file").read_text() == "old"
    assert not list(tmp_path.glob(".out.unfinished.*"))


def test_an_interrupt_after_the_exchange_leaves_the_new_folder_alone(tmp_path, monkeypatch):
    target = tmp_path / "out"
    target.mkdir()
    (target / "file").write_text("old")
    rename = publish.Path.rename

    def interrupted(self, to):
        rename(self, to)
        if to == target:
            raise KeyboardInterrupt

    monkeypatch.setattr(publish.Path, "rename", interrupted)
    with pytest.raises(KeyboardInterrupt), publish_folder(target, force=True) as folder:
        (folder / "file").write_text("new")
    assert (target / "file").read_text() == "new"
    assert left_in(tmp_path) == ["out"]
