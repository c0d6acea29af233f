"""The command: what it prints, what it refuses, how it ends."""

import errno
import json
import os
import signal
import subprocess
import sys
import time

import pytest

from attention_zoo import create_model, list_models
from attention_zoo.cli import COMMANDS, cli, main
from attention_zoo.commands import demo
from attention_zoo.commands.export import refuse_to_overwrite
from attention_zoo.commands.lengths import default_lengths
from attention_zoo.commands.sequence_ids import parse_ids, with_eos, without_eos
from attention_zoo.training.recipe import RECIPES, Recipe
from attention_zoo.training.stage import Stage

TINY = Recipe(
    n_symbols=7,
    model={"d_emb": 5, "units": 11, "max_length": 13},
    stages=(Stage({3: 1.0}, steps=4),),
    lengths=(2, 3),
    batch_size=5,
    steps_per_round=2,
    n_evaluation=3,
    jit_compile=False,
)


@pytest.fixture(scope="module", autouse=True)
def tiny_recipe():
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(RECIPES, "tiny", TINY)
        yield


@pytest.fixture(scope="module")
def model_file(tmp_path_factory):
    """A model with random weights, saved as .keras; ids 0 to 10, at most 13 tokens."""
    path = tmp_path_factory.mktemp("model") / "model.keras"
    create_model(
        "bahdanau_gru", vocab_source=11, vocab_target=11, d_emb=5, units=7, max_length=13
    ).save(path)
    return str(path)


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory):
    """A run that `attention-zoo train` finished."""
    folder = tmp_path_factory.mktemp("runs") / "run"
    arguments = ["train", "copy", "--model", "luong_general_gru", "--recipe", "tiny"]
    assert main([*arguments, "--set", "d_attn=3", "--quiet", "-o", str(folder)]) == 0
    return folder


def command(*arguments, **options):
    """The command in a process of its own."""
    line = [sys.executable, "-m", "attention_zoo", *arguments]
    return subprocess.run(line, capture_output=True, text=True, timeout=120, check=False, **options)


def all_commands(group, prefix=()):
    context = None
    for name in group.list_commands(context):
        found = group.get_command(context, name)
        yield (*prefix, name)
        if hasattr(found, "list_commands"):
            yield from all_commands(found, (*prefix, name))


# --- help, list, start ---------------------------------------------------------------------------


def test_the_commands_are_those_of_the_readme_and_no_others():
    names = [
        "list",
        "train",
        "evaluate",
        "score",
        "translate",
        "predict",
        "explain",
        "align",
        "export",
        "validate",
        "study",
        "doctor",
        "demo",
    ]
    assert list(COMMANDS) == names


@pytest.mark.parametrize("path", [(), *all_commands(cli)], ids=" ".join)
def test_help_of_every_command_shows_an_example_that_it_understands(path, capsys):
    assert main([*path, "--help"]) == 0
    shown = capsys.readouterr().out
    examples = shown[shown.index("Example") : shown.index("Options:")].splitlines()
    lines = [line.split() for line in examples if line.strip().startswith("attention-zoo ")]
    assert lines
    for line in lines:
        assert tuple(line[1 : 1 + len(path)]) == path


@pytest.mark.parametrize("arguments", [["--help"], ["list"], ["--version"], ["predict", "-h"]])
def test_answers_at_once(arguments):
    seconds = []
    for _ in range(3):
        start = time.perf_counter()
        assert command(*arguments).returncode == 0
        seconds.append(time.perf_counter() - start)
    assert min(seconds) < 0.5


@pytest.mark.parametrize("arguments", [["--help"], ["list"], ["train", "copy", "--help"]])
def test_imports_nothing_heavy_to_answer(arguments, run_python):
    code = (
        "import sys; from attention_zoo.cli import main; main(sys.argv[1:]); "
        "print([n for n in ('tensorflow', 'keras', 'matplotlib', 'onnx') if n in sys.modules])"
    )
    done = run_python(code, *arguments)
    assert done.stdout.splitlines()[-1] == "[]", done.stderr


def test_list_names_every_model(capsys):
    assert main(["list"]) == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in list_models())


def test_list_by_pattern_and_as_json(capsys):
    assert main(["list", "luong_*_gru", "--models", "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert content == {"models": list_models("luong_*_gru"), "presets": []}
    assert 0 < len(content["models"]) < len(list_models())


# --- errors --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["list", "nothing"], "no model and no preset is called 'nothing'"),
        (["trian"], "No such command 'trian'"),
        (["predict"], "Missing argument 'MODEL'"),
        (["predict", "no.such", "5"], "'no.such': no preset has this name, and no such file"),
        (["predict", "x", "5", "five"], "IDS: expected ids, whole numbers"),
        (["predict", "x", "5", "--file", "no.onnx"], "neither x/no.onnx nor no.onnx"),
        (["evaluate", "x", "--lengths", "3,x"], "expected lengths such as 5,10,20"),
        (["evaluate", "x", "--lengths", "0,3"], "expected lengths from 1"),
        (["validate", "no_folder"], "no_folder/manifest.json: no manifest here"),
        (["export", "x", "-o", "y", "--format", "pdf"], "'pdf' is not one of"),
        (["train", "copy", "--model", "bahdanau_gru", "-o", "r", "--set", "units"], "NAME=VALUE"),
        (["train", "copy", "--model", "bahdanau_gr", "-o", "r"], "did you mean bahdanau_gru"),
        (["train", "copy", "--model", "x", "-o", "r", "--recipe", "coppy"], "'coppy'"),
        (["train", "copy", "--model", "x", "-o", "r", "--resume", "--force"], "choose one"),
        (["train", "copy", "--model", "bahdanau_gru", "-o", "r", "--resume"], "no checkpoint"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_mistake_is_one_message_and_exit_code_2(
    arguments, message, capsys, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    shown = capsys.readouterr()
    assert message in shown.err
    assert "Error: " in shown.err
    assert "Traceback" not in shown.err
    assert shown.out == ""


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_closed_stream_is_nothing_to_read_and_nowhere_to_write(closed):
    for words, code in (("list", 0), ("list no_such_model", 2)):
        line = f"{sys.executable} -m attention_zoo {words} {closed}"
        ran = subprocess.run(["sh", "-c", line], capture_output=True, text=True, timeout=120)
        assert ran.returncode == code, ran.stderr
        assert "Traceback" not in ran.stderr


def test_debug_shows_where_an_error_came_from(capsys):
    assert main(["--debug", "predict", "x", "five"]) == 2
    shown = capsys.readouterr().err
    assert "Traceback" in shown
    assert "in parse_ids" in shown
    assert shown.splitlines()[-1].startswith("Error: IDS")


def test_an_error_of_the_project_itself_keeps_its_traceback(monkeypatch):
    def broken(*_):
        raise KeyError("a bug")

    monkeypatch.setattr("attention_zoo.commands.sequence_ids.parse_ids", broken)
    with pytest.raises(KeyError, match="a bug"):
        main(["predict", "x", "5"])


def test_a_file_of_another_kind_is_refused(tmp_path, capsys):
    path = tmp_path / "model.keras"
    path.write_text("not a zip file")
    assert main(["predict", str(path), "5"]) == 2
    assert "expected a model saved as .keras" in capsys.readouterr().err
    (tmp_path / "model.keras").unlink()
    assert main(["predict", str(tmp_path), "5"]) == 2
    assert "expected model.keras (a finished training run)" in capsys.readouterr().err


def test_a_keras_model_of_somebody_else_is_refused(tmp_path, capsys):
    import keras

    path = str(tmp_path / "other.keras")
    keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)]).save(path)
    assert main(["predict", path, "5"]) == 2
    assert "expected a model of this zoo, got a Sequential" in capsys.readouterr().err


# --- predict and evaluate ------------------------------------------------------------------------


def test_predict_says_what_the_model_says(model_file, capsys):
    import keras

    expected = keras.saving.load_model(model_file).greedy([[5, 6, 7, 2]])
    assert main(["predict", model_file, "5", "6,7", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    length = int(expected["lengths"][0])
    assert answer["source"] == [5, 6, 7, 2]
    assert answer["length"] == length
    assert answer["tokens"] == without_eos(expected["tokens"][0], length)
    assert answer["score"] == pytest.approx(float(expected["scores"][0]), abs=1e-5)
    assert len(answer["alignments"]) == length
    assert all(sum(weights) == pytest.approx(1, abs=1e-4) for weights in answer["alignments"])


def test_predict_reads_lines_and_pads_without_changing_answers(model_file, capsys, monkeypatch):
    alone = []
    for ids in (["5", "6", "7", "8", "9"], ["10"]):
        assert main(["predict", model_file, *ids]) == 0
        alone.append(capsys.readouterr().out)
    read, write = os.pipe()
    with os.fdopen(write, "w") as stream:
        stream.write("5 6 7 8 9\n\n 10 \n")
    with os.fdopen(read) as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        assert main(["predict", model_file]) == 0
    assert capsys.readouterr().out == "".join(alone)


def test_predict_names_the_line_of_a_mistake(model_file):
    done = command("predict", model_file, input="5 6\n\n5 x\n")
    assert done.returncode == 2
    assert "Error: line 3: " in done.stderr
    done = command("predict", model_file, input="\n")
    assert done.returncode == 2
    assert "no sequence to answer" in done.stderr


def test_predict_checks_the_range_of_ids(model_file, capsys):
    assert main(["predict", model_file, "5", "11"]) == 2
    assert "id 11" in capsys.readouterr().err


def test_predict_gives_the_n_best_in_order(model_file, capsys):
    assert main(["predict", model_file, "5", "6", "--n-best", "3", "--json"]) == 0
    answers = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    scores = [answer["score"] for answer in answers]
    assert len({tuple(answer["tokens"]) for answer in answers}) == 3
    assert scores == sorted(scores, reverse=True)


def test_predict_draws_the_alignment(model_file, tmp_path):
    path = tmp_path / "alignment.png"
    assert main(["predict", model_file, "5", "6", "--plot", str(path)]) == 0
    assert path.read_bytes().startswith(b"\x89PNG")


def test_evaluate_writes_what_it_shows(model_file, tmp_path, capsys):
    path = tmp_path / "numbers.json"
    arguments = ["evaluate", model_file, "--lengths", "3,2", "-n", "5", "--json", str(path)]
    assert main(arguments) == 0
    content = json.loads(path.read_text())
    assert list(content["lengths"]) == ["2", "3"]
    assert content["chance"] == pytest.approx(1 / 7)
    shown = capsys.readouterr().out
    for accuracy in content["lengths"].values():
        assert f"{accuracy['token']:.4f}" in shown


def test_evaluate_refuses_lengths_that_the_model_cannot_write(model_file, capsys):
    assert main(["evaluate", model_file, "--lengths", "13"]) == 2
    assert "max_length" in capsys.readouterr().err


# --- train ---------------------------------------------------------------------------------------


def test_train_writes_a_run_that_the_other_commands_take(run_folder, capsys):
    record = json.loads((run_folder / "training.json").read_text())
    assert record["command"].startswith("attention-zoo train copy --model luong_general_gru")
    assert record["run"]["model"]["d_attn"] == 3
    assert main(["predict", str(run_folder), "5", "6"]) == 0
    assert main(["evaluate", str(run_folder), "--lengths", "2", "-n", "3"]) == 0


def test_train_throws_no_run_away_unless_told(run_folder, capsys):
    before = (run_folder / "model.keras").read_bytes()
    other = run_folder / "notes.txt"
    other.write_text("mine")
    arguments = ["train", "copy", "--model", "seq2seq_gru", "--recipe", "tiny", "--quiet"]
    arguments += ["-o", str(run_folder)]
    assert main(arguments) == 2
    assert "--resume" in capsys.readouterr().err
    assert (run_folder / "model.keras").read_bytes() == before
    assert main([*arguments, "--force"]) == 0
    assert (run_folder / "model.keras").read_bytes() != before
    assert other.read_text() == "mine"


def test_train_resumes_only_the_same_run(tmp_path, capsys):
    arguments = ["train", "copy", "--model", "seq2seq_gru", "--recipe", "tiny", "--quiet"]
    arguments += ["-o", str(tmp_path / "run")]
    assert main(arguments) == 0
    assert main([*arguments, "--resume"]) == 0
    capsys.readouterr()
    assert main([*arguments, "--resume", "--seed", "1"]) == 2
    assert "seed" in capsys.readouterr().err


def test_a_missing_extra_is_told_with_its_cure(tmp_path, capsys, monkeypatch):
    import importlib.util

    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util,
        "find_spec",
        lambda name, *a: None if name == "tensorboard" else find(name, *a),
    )
    arguments = ["train", "copy", "--model", "seq2seq_gru", "--recipe", "tiny", "--tensorboard"]
    assert main([*arguments, "-o", str(tmp_path / "run")]) == 2
    assert 'pip install "attention-zoo[tensorboard]"' in capsys.readouterr().err


def test_ctrl_c_during_the_export_of_the_demo_keeps_the_run(tmp_path, capsys, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(demo, "RECIPE", "tiny")
    monkeypatch.setattr("attention_zoo.export.saved_model.write_saved_model", interrupted)
    output = tmp_path / "demo"
    assert main(["demo", "--output", str(output)]) == 130
    assert f"attention-zoo export {output / 'run'}" in capsys.readouterr().err
    assert (output / "run" / "model.keras").exists()
    assert sorted(path.name for path in output.iterdir()) == ["run"]


def test_ctrl_c_elsewhere_says_that_nothing_was_kept(monkeypatch, capsys):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("attention_zoo.commands.sequence_ids.parse_ids", interrupted)
    assert main(["predict", "x", "5"]) == 130
    assert "Interrupted: nothing was kept" in capsys.readouterr().err


def test_ctrl_c_ends_with_130_and_says_what_was_kept(tmp_path):
    run = tmp_path / "run"
    arguments = ["--model", "seq2seq_gru", "--set", "units=8", "--set", "d_emb=8", "-o", str(run)]
    line = [sys.executable, "-m", "attention_zoo", "train", "copy", *arguments]
    with subprocess.Popen(
        line, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        deadline = time.monotonic() + 120
        while not (run / "last.keras").exists() and time.monotonic() < deadline:
            assert process.poll() is None, process.stdout.read()
            time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        shown, _ = process.communicate(timeout=60)
    assert process.returncode == 130, shown
    assert "Traceback" not in shown
    assert str(run) in shown
    assert "--resume" in shown
    assert (run / "best.keras").exists()


# --- the whole line ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def demo_folder(tmp_path_factory):
    """What `attention-zoo demo` leaves, with a model that learned nothing, and what it printed."""
    folder = tmp_path_factory.mktemp("demo") / "demo"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(demo, "RECIPE", "tiny")
        patch.setattr(demo, "SEQUENCE", "7 4 10 5")
        code = main(["demo", "--output", str(folder)])
    assert code == 0
    return folder


def test_demo_leaves_a_run_an_export_and_a_picture(demo_folder):
    assert (demo_folder / "run" / "model.keras").is_file()
    assert (demo_folder / "alignment.png").read_bytes().startswith(b"\x89PNG")
    manifest = json.loads((demo_folder / "exported" / "manifest.json").read_text())
    assert set(demo.FILES) <= set(manifest["parity"]["files"])
    assert manifest["seed"] == 0
    assert manifest["command"].startswith("attention-zoo export ")


def test_demo_does_not_overwrite_unless_told(demo_folder, capsys):
    assert main(["demo", "--output", str(demo_folder)]) == 2
    assert "--force" in capsys.readouterr().err


@pytest.mark.parametrize("beam", [[], ["--beam"]], ids=["greedy", "beam"])
@pytest.mark.parametrize("file", ["model.onnx", "model.tflite", "saved_model", "saved_model/1"])
def test_files_answer_as_keras_does(demo_folder, file, beam, capsys):
    exported = str(demo_folder / "exported")
    arguments = ["predict", exported, "7", "4", "10", "--json", *beam]
    assert main(arguments) == 0
    expected = json.loads(capsys.readouterr().out)
    assert main([*arguments, "--file", file]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["tokens"] == expected["tokens"]
    assert answer["score"] == pytest.approx(expected["score"], abs=1e-4)


def test_what_is_fixed_in_a_file_cannot_be_asked_for(demo_folder, capsys):
    arguments = ["predict", str(demo_folder / "exported"), "7", "--file", "model.onnx"]
    assert main([*arguments, "--beam-width", "2"]) == 2
    assert "fixed in an exported file" in capsys.readouterr().err
    assert main([*arguments, "--n-best", "99"]) == 2
    assert "--n-best of at most 4" in capsys.readouterr().err


def test_validate_passes_and_fails_on_a_changed_byte(demo_folder, capsys):
    exported = demo_folder / "exported"
    assert main(["validate", str(exported)]) == 0
    assert "model.tflite" in capsys.readouterr().out
    path = exported / "model.onnx"
    good = path.read_bytes()
    try:
        path.write_bytes(good[:-1] + bytes([good[-1] ^ 1]))
        assert main(["validate", str(exported)]) == 2
        assert "model.onnx" in capsys.readouterr().err
    finally:
        path.write_bytes(good)


def test_an_export_knows_the_training_it_comes_from(demo_folder, tmp_path):
    # a second export, from the exported folder, of the format that is written fastest
    output = tmp_path / "again"
    arguments = [
        "export",
        str(demo_folder / "exported"),
        "--format",
        "savedmodel",
        "-o",
        str(output),
    ]
    assert main([*arguments, "--name", "mine.copy", "--max-length", "5"]) == 0
    first = json.loads((demo_folder / "exported" / "manifest.json").read_text())
    again = json.loads((output / "manifest.json").read_text())
    assert again["preset"] == "mine.copy"
    assert again["decoding"]["max_length"] == 5
    assert again["metrics"] == first["metrics"] != {}
    assert again["data"] == first["data"]
    assert not (output / "model.tflite").exists()


# --- parts ---------------------------------------------------------------------------------------


def test_force_replaces_nothing_but_an_export(tmp_path):
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "thesis.txt").write_text("years of work")
    for force in (False, True):
        with pytest.raises(FileExistsError, match="mine"):
            refuse_to_overwrite(mine, force)
    (mine / "manifest.json").write_text("{}")
    with pytest.raises(FileExistsError, match="--force"):
        refuse_to_overwrite(mine, force=False)
    refuse_to_overwrite(mine, force=True)
    refuse_to_overwrite(tmp_path / "new", force=False)
    (tmp_path / "empty").mkdir()
    refuse_to_overwrite(tmp_path / "empty", force=False)
    assert (mine / "thesis.txt").exists()


@pytest.mark.parametrize("text", ["", " , ", "-1", "1.5", "1_0", "x", "٣"])
def test_only_whole_numbers_are_ids(text):
    with pytest.raises(ValueError, match=r"^here: expected ids"):
        parse_ids(text, "here")


def test_ids_and_their_eos():
    assert parse_ids(" 7,4  9, ", "here") == [7, 4, 9]
    assert with_eos([7, 4]) == [7, 4, 2]
    assert with_eos([7, 2]) == [7, 2]
    assert with_eos([]) == [2]
    assert without_eos([7, 4, 2, 0, 0], 3) == [7, 4]
    assert without_eos([7, 4, 5], 3) == [7, 4, 5]
    assert without_eos([0, 0], 0) == []


def test_default_lengths_leave_room_for_eos():
    assert default_lengths(96) == (5, 10, 20, 40, 80)
    assert default_lengths(80) == (5, 10, 20, 40)
    assert default_lengths(4) == (3,)


def test_a_byte_order_mark_is_passed_over():
    assert parse_ids("\ufeff7 4", "standard input") == [7, 4]


@pytest.mark.parametrize("option", ["", " --force", " --resume"])
def test_the_command_to_go_on_is_one_that_is_taken(option):
    from attention_zoo.commands.training_command import how_to_resume

    typed = f"attention-zoo train copy --model bahdanau_gru{option} -o 'my runs/a'"
    wanted = "attention-zoo train copy --model bahdanau_gru -o 'my runs/a' --resume"
    assert how_to_resume(typed) == wanted


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (OSError(errno.ENOSPC, "No space left on device", "a.keras"), "a.keras: No space"),
        (OSError(errno.EROFS, "Read-only file system", "a.txt"), "Fix: choose a place that can"),
        (OSError(errno.EPERM, "Operation not permitted", "a"), "Fix: choose a place that you may"),
        (OSError(errno.EISDIR, "Is a directory", "a"), "a: Is a directory. Fix: name a file"),
        (OSError(errno.ENOENT, "No such file or directory", "a/b"), "Fix: check the path"),
        (OSError(errno.ENAMETOOLONG, "File name too long", "a"), "Fix: choose a shorter name"),
        (
            OSError(errno.ENAMETOOLONG, "File name too long", "/x/.a.b.unfinished.q0_e81qb"),
            "Error: /x/a.b: File name too long",
        ),
        (
            OSError(errno.EPERM, "Operation not permitted", ".a.unfinished.q0_e81qb/model.onnx"),
            "Error: a/model.onnx: Operation",
        ),
        (MemoryError("of 9 TB"), "not enough memory: of 9 TB. Fix: a smaller model"),
    ],
)
def test_an_error_of_the_system_has_a_name_and_a_fix(error, told, monkeypatch, capsys):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr(cli, "main", fail)
    assert main(["list"]) == 2
    assert told in capsys.readouterr().err
