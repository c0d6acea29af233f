"""`attention-zoo doctor`: the diagnosis of a file, and what it refuses."""

import json

import numpy as np
import pytest

from attention_zoo.cli import main

RIGHT = {
    "query": np.arange(33.0).reshape(3, 11),
    "memory": np.arange(195.0).reshape(3, 5, 13),
    "W_a": np.arange(143.0).reshape(11, 13),
}
BROKEN = RIGHT | {"W_a": RIGHT["W_a"].T}


@pytest.fixture
def doctor(tmp_path, capsys):
    """(arrays or bytes, options) -> exit code, standard output, standard error."""

    def run(content, *options, mechanism="luong_general"):
        path = tmp_path / "step.npz"
        if isinstance(content, dict):
            np.savez(path, **content)
        elif content is not None:
            path.write_bytes(content)
        code = main(["doctor", str(path), "--mechanism", mechanism, *options])
        return code, *capsys.readouterr()

    return run


def bytes_of(tmp_path, save=np.savez, **arrays):
    with (tmp_path / "made").open("wb") as file:
        save(file, **arrays)
    return (tmp_path / "made").read_bytes()


def test_healthy_is_0(doctor):
    code, out, err = doctor(RIGHT)
    assert (code, err) == (0, "")
    assert out.startswith("luong_general: healthy (batch = 3, T_enc = 5, d_s = 11, d_h = 13).\n")


def test_wrong_is_1_and_names_the_tensor_and_the_fix(doctor):
    code, out, err = doctor(BROKEN)
    assert (code, err) == (1, "")
    assert "W_a has shape (13, 11); expected (d_s, d_h) = (11, 13)" in out
    assert "W_a = W_a.T" in out


def test_ambiguous_is_1(doctor):
    code, out, _ = doctor({"memory": RIGHT["memory"], "mask": np.ones((3, 7))})
    assert code == 1
    assert "ambiguous" in out


def test_json(doctor):
    code, out, _ = doctor(BROKEN, "--json")
    content = json.loads(out)
    assert code == 1
    assert content["verdict"] == "wrong"
    assert content["findings"][0]["tensor"] == "W_a"
    assert content["findings"][0]["expected"] == [11, 13]


def test_a_test_to_paste(doctor, capsys):
    code, out, _ = doctor(BROKEN, "--test")
    assert code == 1
    names = {}
    exec(out, names)
    names["test_shape"]("W_a")
    names["arrays"] = lambda: BROKEN
    with pytest.raises(AssertionError, match="W_a"):
        names["test_shape"]("W_a")
    code, _, err = doctor(BROKEN, "--test", "--json")
    assert code == 2
    assert "choose one" in err


def test_heads(doctor):
    arrays = {"memory": np.ones((3, 5, 14)), "weights": np.full((3, 2, 5), 0.2)}
    assert doctor(arrays, "--n-heads", "2")[0] == 0
    assert doctor(arrays, "--n-heads", "3")[0] == 1


def refused(doctor, content, said, **options):
    code, out, err = doctor(content, **options)
    assert (code, out) == (2, ""), err
    assert err.startswith("Error: ")
    assert "Fix: " in err
    assert "Traceback" not in err
    assert said in err


def test_a_file_that_is_not_there(doctor):
    refused(doctor, None, "no such file")


@pytest.mark.parametrize(
    ("arrays", "said"),
    [
        ({}, "holds no array"),
        ({"quary": np.ones(3)}, "call it query"),
        ({"query": np.array([[1], [2, 3]], object)}, "Python objects"),
        ({"query": np.array(["a"])}, "numbers or booleans"),
        ({"query": np.ones((3, 0))}, "empty"),
        ({"U_a": np.ones((3, 5))}, "one of bahdanau"),
        ({"n_heads": np.ones(1)}, "--n-heads"),
        ({"mechanism": np.ones(1)}, "--mechanism"),
    ],
)
def test_arrays_that_are_of_no_use(doctor, arrays, said):
    refused(doctor, arrays, said)


def test_files_that_are_no_npz(doctor, tmp_path):
    whole = bytes_of(tmp_path, **BROKEN)
    for content in (b"", b"hello", whole[: len(whole) // 2], whole[:-30]):
        refused(doctor, content, "no .npz file, or cut short")
    one = bytes_of(tmp_path, lambda file, x: np.save(file, x), x=np.ones(3))
    refused(doctor, one, "one array without a name")
    middle = whole.index(b"query") + 200
    damaged = whole[:middle] + bytes(16) + whole[middle + 16 :]
    refused(doctor, damaged, "query is cut short or damaged")


def test_a_folder_is_no_file(tmp_path, capsys):
    assert main(["doctor", str(tmp_path), "--mechanism", "bahdanau"]) == 2
    assert "it is a folder" in capsys.readouterr().err


def test_a_mechanism_that_does_not_exist(doctor):
    code, _, err = doctor(RIGHT, mechanism="luong")
    assert code == 2
    assert "luong_general" in err


def test_it_answers_without_tensorflow(run_python, tmp_path):
    np.savez(tmp_path / "step.npz", **BROKEN)
    done = run_python(
        "import sys; from attention_zoo.cli import main; "
        f"code = main(['doctor', {str(tmp_path / 'step.npz')!r}, '--mechanism', 'luong_general']); "
        "print(code, [n for n in ('tensorflow', 'keras', 'matplotlib') if n in sys.modules])"
    )
    assert done.stdout.splitlines()[-1] == "1 []", done.stderr
