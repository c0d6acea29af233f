"""The host in Node writes the tokens that Python writes, from the same files."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from attention_zoo.export import OnnxModel, export_model
from attention_zoo.export.answer_cost import AnswerCost
from attention_zoo.export.integration import integration
from attention_zoo.export.runnable import RUNNABLES
from attention_zoo.export.runtime import SplitOnnxModel
from attention_zoo.export.step_loop import step_loop
from attention_zoo.manifest import read_manifest
from attention_zoo.presets import load_pretrained
from attention_zoo.vocabulary import EOS, PAD

# where the scripts lie beside their node_modules; who names it wants the tests to run
NAMED = os.environ.get("ATTENTION_ZOO_NODE_HOST")
HOST = Path(NAMED or Path(__file__).parents[2] / "hosts" / "node")
PRESET = "bahdanau_gru.copy"
FORMATS = ("onnx", "onnx-split")
# of different lengths, so that all but one are padded; one of length 1, one of padding alone
ROWS = [
    [5, 9, 4, 17, 11, 2],
    [7],
    [2],
    [],
    [19, 18, 4, 4, 4, 13, 6, 10, 12, 8, 2],
]

missing = (
    "needs node"
    if shutil.which("node") is None
    else "needs `npm install` in hosts/node"
    if not (HOST / "node_modules" / "onnxruntime-node").is_dir()
    else None
)
pytestmark = pytest.mark.skipif(missing is not None and NAMED is None, reason=missing or "")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("node") / "copy"
    export_model(load_pretrained(PRESET), folder, FORMATS, quantize="int8")
    return folder


def node(*words, rows):
    """What `decode.mjs` does with rows: exit code, stdout, stderr."""
    command = ["node", str(HOST / "decode.mjs"), *map(str, words)]
    return subprocess.run(command, input=json.dumps(rows), capture_output=True, text=True)


def decoded(*words, rows=ROWS):
    child = node(*words, rows=rows)
    assert child.returncode == 0, child.stderr[-2000:]
    assert child.stderr == ""
    answer = json.loads(child.stdout)
    return answer["tokens"], answer["scores"]


def expected(outputs):
    """Rows cut at their lengths, and scores, of what the runtime answers."""
    rows = zip(outputs["tokens"].tolist(), outputs["lengths"], strict=True)
    return [row[:length] for row, length in rows], outputs["scores"]


@pytest.mark.parametrize("variant", [None, "int8"])
def test_the_loop_in_javascript_writes_what_that_in_numpy_writes(folder, variant):
    tokens, scores = decoded(folder, *(["--int8"] if variant else []))
    model = SplitOnnxModel(folder, variant=variant)
    assert tokens == expected(step_loop(model, ROWS, 96))[0]
    np.testing.assert_allclose(scores, step_loop(model, ROWS, 96)["scores"], rtol=1e-5, atol=1e-5)
    # the cases are what they are meant to be: rows end at different steps, some before others
    assert len({len(row) for row in tokens if row[-1] == EOS}) > 2
    assert not any(PAD in row for row in tokens)


@pytest.mark.parametrize("file", ["model.onnx", "model.int8.onnx"])
def test_the_loop_in_the_file_runs_in_node_as_it_does_in_python(folder, file):
    tokens, scores = decoded(folder / file)
    found = expected(OnnxModel(folder / file).predict(ROWS))
    assert tokens == found[0]
    np.testing.assert_allclose(scores, found[1], rtol=1e-5, atol=1e-5)


def test_the_javascript_of_the_integration_guide_runs(folder, tmp_path):
    costs = {one: AnswerCost(None, None, 1.0, 1.0, 1) for one in RUNNABLES if one.format in FORMATS}
    text = integration(read_manifest(folder), costs)
    programs = re.findall(r"```js\n(.*?)\n```", text, re.DOTALL)
    assert len(programs) == len(FORMATS)
    (tmp_path / "node_modules").symlink_to(HOST / "node_modules")
    for path in folder.glob("*.onnx"):
        (tmp_path / path.name).symlink_to(path)
    tokens, _ = decoded(folder)
    for program in programs:
        calls = f"console.log(JSON.stringify([await decode({ROWS[0]}), await decode({ROWS[1]})]));"
        (tmp_path / "app.mjs").write_text(f"{program}\n{calls}\n", encoding="utf-8")
        child = subprocess.run(["node", "app.mjs"], capture_output=True, text=True, cwd=tmp_path)
        assert child.returncode == 0, child.stderr[-2000:]
        assert json.loads(child.stdout) == [
            [number for number in row if number != EOS] for row in tokens[:2]
        ]


def test_a_row_does_not_depend_on_the_rows_beside_it(folder):
    together, _ = decoded(folder)
    assert decoded(folder, rows=ROWS[:1])[0] == together[:1]


def test_a_row_that_never_ends_stops_at_the_longest(folder, tmp_path):
    for path in folder.glob("*.onnx"):
        (tmp_path / path.name).symlink_to(path)
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["decoding"]["max_length"] = 3
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    assert decoded(tmp_path, rows=[ROWS[0], [7, 2]])[0] == [[5, 9, 4], [7, 2]]


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ([[4, 20]], "row 0 has 20 at position 1; expected ids from 0 to 19"),
        ([[4], [-1]], "row 1 has -1 at position 0"),
        ([[4.5]], "row 0 has 4.5"),
        ([[]], "at least one id"),
        ([], "a list of lists"),
        ([4, 5], "a list of lists"),
    ],
)
def test_rows_that_the_model_cannot_read_are_named(folder, rows, says):
    child = node(folder, rows=rows)
    assert (child.returncode, child.stdout) == (2, "")
    assert says in child.stderr
    assert "Fix: " in child.stderr
    assert "    at " not in child.stderr  # no stack


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ({}, "config.vocab_source is missing"),
        ([], "config.vocab_source is missing"),
        (None, "config.vocab_source is missing"),
        ("text", "config.vocab_source is missing"),
        ({"config": None, "decoding": {"max_length": 3}}, "config.vocab_source is missing"),
        *(
            ({"config": {"vocab_source": size}, "decoding": {"max_length": 3}}, f"is {told};")
            for size, told in [("20", '"20"'), (0, 0), (-1, -1), (2.5, 2.5), (None, "null")]
        ),
        ({"config": {"vocab_source": 20}}, "decoding.max_length is missing"),
        ({"config": {"vocab_source": 20}, "decoding": {"max_length": 0}}, "max_length is 0;"),
    ],
)
@pytest.mark.parametrize("file", ["", "model.onnx"])
def test_a_manifest_that_is_not_ours_is_refused(folder, tmp_path, content, says, file):
    for path in folder.glob("*.onnx"):
        (tmp_path / path.name).symlink_to(path)
    (tmp_path / "manifest.json").write_text(json.dumps(content))
    # an id far outside the vocabulary: it must not reach the file
    refused(node(tmp_path / file, rows=[[4000]]), f"{tmp_path / 'manifest.json'}: ", says)


@pytest.mark.parametrize("file", ["encoder.onnx", "decoder_step.onnx", "decoder_step.int8.onnx"])
def test_a_file_that_does_not_decode_is_refused(folder, file):
    child = node(folder / file, rows=[[4]])
    refused(child, f"{folder / file}: ", "does not decode", "name the folder, or model.onnx")


def test_int8_chooses_in_a_folder(folder):
    child = node(folder / "model.onnx", "--int8", rows=[[4]])
    refused(child, f"{folder / 'model.onnx'}: a file, and --int8 chooses", "leave --int8 out")


def refused(child, *words):
    """One line on stderr with these words and a fix; exit code 2."""
    assert (child.returncode, child.stdout) == (2, "")
    for word in (*words, "Fix: "):
        assert word in child.stderr
    assert len(child.stderr.splitlines()) == 1


def test_a_folder_without_the_files_is_named(tmp_path, folder):
    assert f"{tmp_path / 'manifest.json'}: cannot be read" in node(tmp_path, rows=[[4]]).stderr
    shutil.copy(folder / "manifest.json", tmp_path)
    child = node(tmp_path, rows=[[4]])
    assert child.returncode == 2
    assert str(tmp_path / "encoder.onnx") in child.stderr
