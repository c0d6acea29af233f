"""`attention-zoo train translation`."""

import json

import pytest

from attention_zoo.cli import main
from attention_zoo.training.run_log import RunLog

SMALL = {"units": 5, "d_emb": 7, "max_length": 9, "tied_embeddings": "none"}
RECIPE = {"n_measured": 3, "warmup_steps": 2, "beam_width": 2, "joint": "false"}


@pytest.fixture(scope="module")
def arguments(pairs_file):
    given = ["train", "translation", "--model", "luong_dot_gru", "--data", str(pairs_file)]
    given += ["--n-validation", "11", "--n-test", "13", "--epochs", "1", "--quiet"]
    given += ["--vocab-size", "330", "--batch-size", "16", "--precision", "float32"]
    given += [word for item in SMALL.items() for word in ("--set", "{}={}".format(*item))]
    return given + [w for item in RECIPE.items() for w in ("--recipe-set", "{}={}".format(*item))]


@pytest.fixture(scope="module")
def run(arguments, tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "run"
    assert main([*arguments, "-o", str(folder)]) == 0
    return folder


def record_of(folder):
    return json.loads((folder / "training.json").read_text())


def test_the_options_are_obeyed_and_recorded(run, pairs_file):
    record = record_of(run)
    assert record["command"].startswith("attention-zoo train translation --model luong_dot_gru")
    assert record["data"]["spec"]["data"] == str(pairs_file)
    assert record["data"]["sizes"]["test"]["references"] == 13
    recipe = record["run"]["recipe"]
    assert (recipe["epochs"], recipe["batch_size"], recipe["precision"]) == (1, 16, "float32")
    assert (recipe["n_measured"], recipe["joint"]) == (3, False)
    assert {name: record["run"]["model"][name] for name in SMALL} == SMALL
    assert record["run"]["model"]["vocab_source"] == 330
    names = {path.name for path in run.iterdir()}
    assert {"tokenizer.source.model", "tokenizer.target.model", "curves.png"} <= names


def test_other_commands_take_the_run(run, tmp_path, capsys):
    numbers = tmp_path / "numbers.json"
    assert main(["evaluate", str(run), "--beam-width", "2", "--json", str(numbers)]) == 0
    found = json.loads(numbers.read_text())["models"][str(run)]["test"]
    metrics = record_of(run)["metrics"]
    assert {name: found[name] for name in ("n", "bleu", "chrf", "bleu_signature")} == {
        name: metrics[name] for name in ("n", "bleu", "chrf", "bleu_signature")
    }


def test_no_run_is_thrown_away_unless_told(run, arguments, capsys):
    before = {path.name: path.read_bytes() for path in run.iterdir()}
    assert main([*arguments, "-o", str(run)]) == 2
    assert "--resume" in capsys.readouterr().err
    assert {path.name: path.read_bytes() for path in run.iterdir()} == before


def test_a_resume_with_another_seed_is_refused(run, arguments, capsys):
    steps = RunLog(run / "log.csv").rows()[-1]["step"]
    assert main([*arguments, "-o", str(run), "--resume", "--seed", "5"]) == 2
    assert "seed = 0, resumed with 5" in capsys.readouterr().err
    assert RunLog(run / "log.csv").rows()[-1]["step"] == steps


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (["--model", "bahdanau_gr"], "did you mean bahdanau_gru"),
        (["--recipe", "tatoba"], "did you mean tatoeba"),
        (["--recipe-set", "epoch=3"], "did you mean epochs"),
        (["--recipe-set", "monitor=chrf"], "monitor is 'chrf'; expected one of loss, bleu"),
        (["--recipe-set", "patience"], "NAME=VALUE"),
        (["--set", "unit=3"], "did you mean units"),
        (["--set", "units=0"], "units is 0; expected a whole number of at least 1"),
        (["--precision", "float16"], "'float16' is not one of"),
        (["--vocab-size", "9000"], "vocab_size is 9000, but the sentences give at most"),
        (["--batch-size", "9000"], "at least batch_size = 9000 pairs"),
        (["--resume", "--force"], "choose one"),
        (["--resume"], "no checkpoint there"),
        (["--data", "no/such.tsv"], "no/such.tsv"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_mistake_is_one_message_and_leaves_no_run(
    arguments, changes, message, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    assert main([*arguments, "-o", "run", *changes]) == 2
    shown = capsys.readouterr()
    assert message in " ".join(shown.err.split())
    assert "Traceback" not in shown.err
    assert not (tmp_path / "run" / "last.keras").exists()


def test_bad_lines_are_named_or_counted(arguments, pairs_file, tmp_path, capsys):
    path = tmp_path / "pairs.tsv"
    path.write_text(pairs_file.read_text(encoding="utf-8") + "no tab here\n", encoding="utf-8")
    lines = len(path.read_text(encoding="utf-8").splitlines())
    assert main([*arguments, "--data", str(path), "-o", str(tmp_path / "run")]) == 2
    assert f"{path}:{lines}" in capsys.readouterr().err
