"""The runtime refuses what an exported file would misread, and files that are not whole."""

import json
import shutil

import numpy as np
import onnx
import pytest

from attention_zoo.export import time_predict
from attention_zoo.export.errors import FileChangedError, FileLoadError, ManifestError
from attention_zoo.export.onnx_split import write_split_onnx
from attention_zoo.export.runtime import LiteRTModel, OnnxModel, SavedModel, SplitOnnxModel

MODEL = "luong_general_gru"
KINDS = (OnnxModel, LiteRTModel, SavedModel)
FILES = {OnnxModel: "model.onnx", LiteRTModel: "model.tflite"}


@pytest.fixture(scope="module", params=KINDS, ids=lambda kind: kind.__name__)
def model(request, exported):
    return request.param(exported(MODEL).folder)


@pytest.fixture
def folder(exported, tmp_path):
    """A copy of the exported folder that a test may spoil."""
    return shutil.copytree(exported(MODEL).folder, tmp_path / "copy")


@pytest.fixture(scope="module")
def split_too(exported, tmp_path_factory):
    """The exported folder with the split files beside the others."""
    folder = tmp_path_factory.mktemp("split_too") / "all"
    shutil.copytree(exported(MODEL).folder, folder)
    write_split_onnx(exported(MODEL).model, folder, {})
    return folder


def test_lists_of_different_lengths_are_padded(model):
    got = model.predict([[5, 9, 4, 2], [7, 2], []])
    padded = model.predict(np.array([[5, 9, 4, 2], [7, 2, 0, 0], [0, 0, 0, 0]]))
    for name in padded:
        np.testing.assert_array_equal(got[name], padded[name])
    assert got["tokens"].shape == (3, 11)
    assert got["alignments"].shape == (3, 11, 4)


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint8", "uint64"])
def test_any_integers_will_do(model, dtype):
    source = np.array([[5, 9, 4, 2]], dtype)
    np.testing.assert_array_equal(
        model.predict(source)["tokens"], model.predict([[5, 9, 4, 2]])["tokens"]
    )


def test_rows_do_not_depend_on_their_neighbours(model, exported, assert_decided):
    rows = [[5, 9, 4, 2], [7, 8, 11, 2], [21, 4, 4, 2]]
    assert_decided(exported(MODEL).model, rows)
    together = model.predict(rows)
    for index, row in enumerate(rows):
        np.testing.assert_array_equal(together["tokens"][index], model.predict([row])["tokens"][0])


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ([[5, 23]], "id 23 in row 0 at position 1; expected ids from 0 to 22"),
        ([[5, 9], [4, -1]], "id -1 in row 1 at position 1"),
        ([[2**31]], "id 2147483648"),
        ([[2**63]], "id 9223372036854775808"),
        ([[2**70]], f"id {2**70} in row 0, which is out of range"),
        ([[5, 2], [7, -(2**70)]], f"id {-(2**70)} in row 1, which is out of range"),
        (np.array([[2**70, 5]]), f"id {2**70}, which is out of range"),
        ([[None, 2**70]], "dtype object in row 0; expected integers"),
        (np.array([[2**32 + 5]]), "id 4294967301"),
        ([[5.0, 9.0]], "dtype float64 in row 0; expected integers"),
        (np.ones((2, 3), np.float32), "dtype float32; expected integers"),
        (np.ones((2, 3), bool), "dtype bool; expected integers"),
        ([[True, False]], "dtype bool in row 0"),
        ("5 9 4", "dtype text; expected integers"),
        ([["5", "9"]], "dtype text in row 0"),
        ([5, 9, 4], "a number in row 0; expected a list of lists"),
        ([[[5, 9]]], "a nested list in row 0"),
        ([[[5, 9], [4]]], "a nested list in row 0"),
        (np.array([5, 9, 4]), r"expected (batch, T_enc), 2 axes"),
        (np.zeros((1, 2, 3), int), r"expected (batch, T_enc), 2 axes"),
        (7, r"expected (batch, T_enc), 2 axes"),
        ([], "batch of at least 1"),
        (np.zeros((0, 5), int), "batch of at least 1"),
        (np.zeros((3, 0), int), "T_enc of at least 1"),
        ([[], []], "T_enc of at least 1"),
        (None, "expected integers"),
    ],
)
def test_what_the_file_would_misread_is_refused(model, source, words):
    for run in (model.predict, model.beam_search):
        with pytest.raises(ValueError, match="source") as caught:
            run(source)
        text = str(caught.value)
        assert words in text
        assert text.startswith(f"{type(model).__name__}: ")
        assert "Fix: " in text


@pytest.mark.parametrize("kind", KINDS)
def test_missing_file(kind, tmp_path):
    with pytest.raises(FileLoadError, match=r"no such file|no saved_model\.pb"):
        kind(tmp_path / "nothing")


@pytest.mark.parametrize("kind", FILES)
@pytest.mark.parametrize("size", [0, 40, 0.5, -1])
def test_truncated_file(kind, size, folder):
    path = folder / FILES[kind]
    content = path.read_bytes()
    keep = int(size * len(content)) if isinstance(size, float) else size
    path.write_bytes(content[:keep])
    with pytest.raises(FileChangedError, match="truncated"):
        kind(path)


@pytest.mark.parametrize("kind", FILES)
def test_garbage_without_a_manifest(kind, tmp_path):
    path = tmp_path / FILES[kind]
    path.write_bytes(b"not a model at all" * 50)
    with pytest.raises(FileLoadError, match="does not accept this file"):
        kind(path)


def test_truncated_saved_model(folder):
    path = folder / "saved_model" / "1" / "saved_model.pb"
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(FileChangedError, match="truncated"):
        SavedModel(folder)


def test_a_graph_without_beam_search(folder):
    graph = onnx.load(folder / "model.onnx")
    for output in list(graph.graph.output):
        if output.name.startswith("beam_"):
            graph.graph.output.remove(output)
    (folder / "manifest.json").unlink()
    onnx.save(graph, folder / "model.onnx")
    model = OnnxModel(folder)
    assert model.predict([[5, 2]])["tokens"].shape == (1, 11)
    with pytest.raises(FileLoadError, match=r"expected outputs for beam search.*got tokens, len"):
        model.beam_search([[5, 2]])


def test_vocabulary_comes_from_the_manifest_or_the_caller(folder):
    assert OnnxModel(folder).vocab_source == 23
    assert LiteRTModel(folder / "model.tflite").vocab_source == 23
    assert OnnxModel(folder, vocab_source=10).vocab_source == 10
    with pytest.raises(ValueError, match="vocab_source = 10"):
        OnnxModel(folder, vocab_source=10).predict([[10]])
    (folder / "manifest.json").unlink()
    assert LiteRTModel(folder).vocab_source is None
    assert OnnxModel(folder).vocab_source == 23  # from the metadata of the graph


def test_broken_manifest_is_not_passed_over(folder):
    (folder / "manifest.json").write_text("{")
    for kind in KINDS:
        with pytest.raises(ManifestError, match="not valid JSON"):
            kind(folder)


@pytest.mark.parametrize(
    "config",
    ["{", "[]", "5", '{"vocab_source": "x"}', '{"vocab_source": 0}', '{"vocab_target": 2.5}'],
)
def test_broken_metadata_is_not_passed_over(folder, config):
    (folder / "manifest.json").unlink()
    model = onnx.load(folder / "model.onnx")
    (entry,) = (one for one in model.metadata_props if one.key == "config")
    entry.value = config
    onnx.save(model, folder / "model.onnx")
    with pytest.raises(FileLoadError, match=r"model\.onnx: its metadata should hold a config"):
        OnnxModel(folder)


@pytest.mark.parametrize("kind", [OnnxModel, LiteRTModel])
def test_threads_have_a_limit(folder, kind):
    with pytest.raises(ValueError, match="threads: expected at most 1024, got 1025"):
        kind(folder, threads=1025)


NO_SIZES = [0, -1, True, 1.0, "2", float("nan"), [4]]


@pytest.mark.parametrize("given", NO_SIZES)
@pytest.mark.parametrize("argument", ["threads", "vocab_source"])
def test_sizes_are_whole_numbers_of_at_least_1(split_too, argument, given):
    for kind in (*KINDS, SplitOnnxModel):
        if (kind, argument) == (SavedModel, "threads"):
            continue
        with pytest.raises(ValueError, match=f"^{argument}: expected a whole number") as caught:
            kind(split_too, **{argument: given})
        assert f"of at least 1, got {given!r}. Fix: " in str(caught.value)


def test_sizes_may_be_those_of_numpy(split_too):
    for kind in (OnnxModel, LiteRTModel, SplitOnnxModel):
        model = kind(split_too, vocab_source=np.int64(10), threads=np.int32(1))
        assert model.vocab_source == 10
        run = model.encode if kind is SplitOnnxModel else model.predict
        with pytest.raises(ValueError, match="id 10 in row 0"):
            run([[10]])


@pytest.mark.parametrize("recorded", [None, *NO_SIZES[:-2]])
def test_a_manifest_without_a_vocabulary_does_not_switch_the_check_off(folder, recorded):
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["config"]["vocab_source"] = recorded
    (folder / "manifest.json").write_text(json.dumps(manifest))
    for kind in KINDS:
        with pytest.raises(ManifestError, match="config should hold vocab_source"):
            kind(folder)


@pytest.mark.parametrize("file", ["encoder.onnx", "decoder_step.onnx"])
def test_a_file_that_does_not_decode_is_for_another_class(split_too, file):
    with pytest.raises(FileLoadError, match=f"{file}: it does not decode; .*got ") as caught:
        OnnxModel(split_too / file)
    assert "Fix: SplitOnnxModel runs" in str(caught.value)


def test_newest_version_of_a_saved_model_is_taken(folder):
    (folder / "manifest.json").unlink()
    for version in ("2", "10", "old"):
        shutil.copytree(folder / "saved_model" / "1", folder / "saved_model" / version)
    assert SavedModel(folder).path.name == "10"


def test_encode_takes_one_row(exported):
    model = LiteRTModel(exported(MODEL).folder)
    with pytest.raises(ValueError, match=r"expected \(1, T_enc\)"):
        model.encode([[5, 2], [7, 2]])


THREADS = """
import sys, threading
import numpy as np
from attention_zoo.export.runtime import LiteRTModel

model = LiteRTModel(sys.argv[1])
sources = [[[5, 9, 4, 2]], [[7, 8, 11, 21, 6, 5, 9, 4, 12, 13, 2]]]

def answers(source):
    encoded = model.encode(source)
    step = model.step(np.array([1], np.int32), encoded)
    return [model.predict(source), model.beam_search(source), encoded, step]

wanted = [answers(source) for source in sources]
wrong = []

def work(which):
    try:
        for _ in range(12):
            for got, expected in zip(answers(sources[which]), wanted[which], strict=True):
                for name in expected:
                    np.testing.assert_array_equal(got[name], expected[name])
    except BaseException as error:
        wrong.append(repr(error))

threads = [threading.Thread(target=work, args=(index % 2,)) for index in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print("wrong:", wrong)
"""


def test_threads_may_share_a_litert_model(exported, fresh_process):
    # in a process of its own: what it guards against ends the process
    printed = fresh_process(THREADS, str(exported(MODEL).folder))
    assert printed.strip() == "wrong: []"


def test_time_predict_counts_a_sequence():
    class Slow:
        calls = 0

        def predict(self, source):
            self.calls += 1
            import time

            time.sleep(0.012)

    model = Slow()
    milliseconds = time_predict(model, [[5], [7], [4]], repeats=5, warm_up=2)
    assert model.calls == 7
    assert 4.0 <= milliseconds < 12.0
    with pytest.raises(ValueError, match="repeats"):
        time_predict(model, [[5]], repeats=0)
