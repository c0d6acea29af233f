"""What `train` says to a folder that a run has left."""

import pytest

from attention_zoo.commands.run_folder import refuse_to_restart


def test_a_log_alone_is_no_run(tmp_path):
    (tmp_path / "log.csv").touch()
    assert refuse_to_restart(tmp_path) is None


@pytest.mark.parametrize(
    ("name", "can_resume"), [("last.keras", True), ("best.keras", True), ("model.keras", False)]
)
def test_resume_is_advised_where_it_works(tmp_path, name, can_resume):
    (tmp_path / name).touch()
    with pytest.raises(FileExistsError, match=r"holds a run already.*--force") as caught:
        refuse_to_restart(tmp_path)
    assert ("--resume" in str(caught.value)) == can_resume
