"""`attention-zoo translate`: one line out for each line in, whatever comes in."""

import io
import json
import os
import subprocess
import sys
import time

import pytest

from attention_zoo.cli import main
from attention_zoo.export import Translator

TEXTS = ["Je suis là.", "Il pleut.", "Bonjour !"]


@pytest.fixture(scope="module")
def expected(translation_folder):
    """What the translator says to TEXTS."""
    return [answer.text for answer in Translator.from_folder(translation_folder).translate(TEXTS)]


@pytest.fixture
def translate(translation_folder, capfd, monkeypatch):
    """Run the command on some input; returns (exit code, standard output, standard error)."""

    def run(*arguments, content=b"", model=translation_folder):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
        code = main(["translate", "--model", str(model), *map(str, arguments)])
        return code, *capfd.readouterr()

    return run


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "french.txt"

    def write(content):
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def test_the_file_with_int8_weights(translate, translation_folder):
    answer = Translator.from_folder(translation_folder, quantize="int8").translate(TEXTS[0])[0]
    assert translate(TEXTS[0], "--quantize", "int8") == (0, answer.text + "\n", "")
    code, out, said = translate(TEXTS[0], "--quantize", "int8", "--through", "model.onnx")
    assert (code, out) == (2, "")
    assert "--through names the file that --quantize would choose" in said


def test_an_argument(translate, expected):
    assert translate(TEXTS[0]) == (0, expected[0] + "\n", "")
    assert translate(*TEXTS[0].split())[1] == expected[0] + "\n"
    assert translate("\n".join(TEXTS))[1].splitlines() == expected


@pytest.mark.parametrize("through", ["model.onnx", "model.tflite"])
def test_through_each_file(translate, expected, through):
    code, out, _ = translate(TEXTS[0], "--through", through)
    assert (code, out) == (0, expected[0] + "\n")


def test_standard_input_and_a_file(translate, expected, file, tmp_path):
    content = "\n".join(TEXTS).encode()
    shown = "".join(f"{line}\n" for line in expected)
    assert translate(content=content) == (0, shown, "")
    assert translate("--file", file(content)) == (0, shown, "")
    written = tmp_path / "english.txt"
    assert translate("--file", file(content), "-o", written) == (0, "", "")
    assert written.read_bytes() == shown.encode()


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_empty_lines_stay_and_line_ends_do_not_matter(translate, expected, end):
    lines = ["", TEXTS[0], "", "   ", TEXTS[1], ""]
    _, out, _ = translate(content=end.join(lines).encode() + end.encode())
    assert out.split("\n") == ["", expected[0], "", "", expected[1], "", ""]


@pytest.mark.parametrize("content", [b"", b"\n", b"\n\n"])
def test_nothing_gives_nothing(translate, content):
    assert translate(content=content) == (0, content.decode(), "")


def test_odd_lines_have_a_line_each(translate):
    lines = ["雨", "🙂", "a\x00b", "x" * 5000, "Où ?", "\u2028\x85", "\x0b\x0c"]
    code, out, err = translate(content="\n".join(lines).encode())
    assert code == 0
    assert out.count("\n") == len(lines)
    assert len(out.splitlines()) == len(lines)
    assert err.startswith("Note: ")
    assert err.count("\n") == 1
    assert "longer than the 23" in err


def test_more_lines_than_are_read_at_once(translate, monkeypatch):
    from attention_zoo.commands import translate as module

    monkeypatch.setattr(module, "LINES_AT_ONCE", 3)
    lines = [TEXTS[index % 3] if index % 4 else "" for index in range(11)]
    _, out, _ = translate(content="\n".join(lines).encode())
    alone = {text: translate(text)[1] for text in TEXTS}
    assert out == "".join(alone[line] if line else "\n" for line in lines)


def test_bytes_that_are_not_utf8(translate, file):
    path = file(b"Bonjour !\nfatigu\xe9\n")
    code, out, err = translate("--file", path)
    assert (code, out) == (2, "")
    assert f"Error: {path}:2: byte 0xe9 at column 7 is not UTF-8" in err
    assert "Error: standard input:2:" in translate(content=path.read_bytes())[2]


def test_a_file_is_not_half_written(translate, file, tmp_path):
    written = tmp_path / "out" / "english.txt"
    assert translate("--file", file(b"\xff\n"), "-o", written)[0] == 2
    assert not written.exists()
    assert list(written.parent.iterdir()) == []


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_is_written_to_and_not_replaced(translate, expected, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        assert translate(TEXTS[0], "-o", pipe)[0] == 0
        assert os.read(reader, 1000).decode() == expected[0] + "\n"
    finally:
        os.close(reader)
    assert pipe.is_fifo()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
def test_a_full_disk_is_an_error_and_no_traceback(translate):
    code, _, err = translate(TEXTS[0], "-o", "/dev/full")
    assert code == 2
    assert "No space left" in err


def test_n_best_gives_as_many_lines_for_each_line(translate, translation_folder):
    _, out, _ = translate("--n-best", 2, content=f"{TEXTS[0]}\n\n{TEXTS[1]}\n".encode())
    lines = out.split("\n")
    assert len(lines) == 2 * 3 + 1
    assert lines[2:4] == ["", ""]
    answers = Translator.from_folder(translation_folder).translate(TEXTS[:2], n_best=2)
    expected = [
        f"{one.score:.4f}\t{one.text}"
        for answer in answers
        for one in (answer, *answer.alternatives)
    ]
    assert [line for line in lines if line] == expected
    _, beam, _ = translate(TEXTS[0], "--beam")
    assert beam == answers[0].text + "\n"


def test_json(translate, translation_folder):
    _, out, _ = translate("--json", "--n-best", 2, content=f"{TEXTS[0]}\n\n".encode())
    first, blank = map(json.loads, out.splitlines())
    answer = Translator.from_folder(translation_folder).translate(TEXTS[0], n_best=2)[0]
    assert first == answer.to_dict()
    assert (blank["text"], blank["tokens"]) == ("", [])
    assert "Je suis là." in out  # letters, no escapes


def test_alignments(translate, expected, tmp_path):
    content = f"\n{TEXTS[0]}\nprix : $5 ou $6\n".encode()
    code, out, _ = translate("--alignments", tmp_path / "both", content=content)
    assert (code, out.split("\n")[1]) == (0, expected[0])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["both.json", "both.png"]
    assert (tmp_path / "both.png").read_bytes()[:4] == b"\x89PNG"
    answers = json.loads((tmp_path / "both.json").read_text(encoding="utf-8"))
    assert [answer["source"] for answer in answers] == ["", TEXTS[0], "prix : $5 ou $6"]
    rows, columns = len(answers[1]["pieces"]), len(answers[1]["source_pieces"])
    assert [len(row) for row in answers[1]["alignments"]] == [columns] * rows


def test_alignments_of_one_kind(translate, tmp_path):
    assert translate("prix : $5 ou $6", "--alignments", tmp_path / "x.PNG")[0] == 0
    assert translate(TEXTS[0], "--alignments", tmp_path / "x.json")[0] == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.PNG", "x.json"]
    code, _, err = translate(TEXTS[0], "--alignments", tmp_path / "x.pdf")
    assert code == 2
    assert "ends in .png, .json or neither" in err
    code, out, err = translate("", "--alignments", tmp_path / "y.png")
    assert (code, out) == (2, "\n")
    assert "nothing to draw" in err
    code, out, err = translate("", "--alignments", tmp_path / "y")
    assert (code, out) == (0, "\n")
    assert "no picture" in err
    assert (tmp_path / "y.json").exists()
    assert not (tmp_path / "y.png").exists()


def test_what_is_no_translation_model(translate, tmp_path, file):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "model.keras").write_bytes(b"")
    for model, words in (
        ("bahdanau_gru.copi", "did you mean bahdanau_gru.copy"),
        (tmp_path / "nowhere", "is no preset or exported folder"),
        (tmp_path / "run", "attention-zoo export"),
        ("seq2seq_gru.copy", "attention-zoo predict"),
    ):
        code, out, err = translate("Bonjour !", model=model)
        assert (code, out) == (2, "")
        assert words in err
        assert "Traceback" not in err
    code, _, err = translate("Bonjour !", "--file", file("x"))
    assert code == 2
    assert "TEXT or --file" in err


def test_a_new_process_answers_in_a_second_and_imports_nothing_heavy(translation_folder, expected):
    code = (
        "import sys\n"
        "from attention_zoo.cli import main\n"
        "main(['translate', '--model', sys.argv[1], sys.argv[2]])\n"
        "heavy = {'tensorflow', 'keras', 'matplotlib', 'onnx', 'rich', 'h5py'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )
    line = [sys.executable, "-c", code, str(translation_folder), TEXTS[0]]
    seconds = []
    for _ in range(3):
        start = time.perf_counter()
        done = subprocess.run(line, capture_output=True, text=True, check=True, timeout=60)
        seconds.append(time.perf_counter() - start)
        assert done.stdout == f"{expected[0]}\n[]\n"
    assert min(seconds) < 1.0


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="no pseudo-terminals here")
def test_a_terminal_is_answered_line_by_line(translation_folder, expected):
    keyboard, terminal = os.openpty()
    line = [sys.executable, "-m", "attention_zoo", "translate", "--model", str(translation_folder)]
    child = subprocess.Popen(
        line, stdin=terminal, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    os.close(terminal)
    try:
        for text, wanted in zip(TEXTS, expected, strict=True):
            os.write(keyboard, f"{text}\n".encode())
            assert child.stdout.readline() == wanted + "\n"
        os.write(keyboard, b"\x04")
        out, err = child.communicate(timeout=30)
    finally:
        child.kill()
        child.wait()
        os.close(keyboard)
    assert (child.returncode, out) == (0, "")
    assert "Ctrl-D ends" in err
