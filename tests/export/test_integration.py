"""`INTEGRATION.md` says what each runtime says of the very files beside it."""

import dataclasses
import json
import re
import shutil

import numpy as np
import onnxruntime
import pytest
from ai_edge_litert.interpreter import Interpreter

from attention_zoo import create_model, list_presets, preset_folder
from attention_zoo.export.answer_cost import LENGTH, AnswerCost, source_row
from attention_zoo.export.decode_functions import DecodeSettings
from attention_zoo.export.errors import FileLoadError
from attention_zoo.export.file_writer import FileWriter
from attention_zoo.export.integration import INTEGRATION_FILE, integration, write_integration
from attention_zoo.export.litert_calls import kotlin_array
from attention_zoo.export.runnable import RUNNABLES
from attention_zoo.manifest import Manifest, read_manifest, write_manifest
from attention_zoo.vocabulary import EOS, PAD

# another prime than any size of the models
T_ENC = 5
DTYPES = {"float": "float32", "int32": "int32", "bool": "bool"}
# what stands in quotes in the code and is no tensor
OTHER_WORDS = {"int32", "state_", "greedy", "beam", "encode", "step"}


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """A folder with all kinds of files of a model that has several states."""
    folder = tmp_path_factory.mktemp("integration")
    model = create_model(
        "luong_general_lstm",
        vocab_source=23,
        vocab_target=19,
        d_emb=3,
        units=7,
        max_length=11,
        decoder_layers=2,
        input_feeding=True,
    )
    settings = DecodeSettings(max_length=11, beam_width=3, length_penalty=0.7)
    writer = FileWriter(("tflite", "onnx", "onnx-split"), settings, quantize=("int8",))
    decoding = {"max_length": 11, "beam_width": 3, "length_penalty": 0.7}
    entries = writer.write_formats(model, folder)
    write_manifest(folder, Manifest(model.name, model.config.to_dict(), entries, decoding))
    return folder


@pytest.fixture(scope="module")
def folders(exported):
    return [exported, *map(preset_folder, list_presets())]


def without_int8(folder):
    """The manifest of a folder as if it had been exported without int8."""
    manifest = read_manifest(folder)
    files = {name: one for name, one in manifest.files.items() if not one.details.get("quantize")}
    return dataclasses.replace(manifest, files=files)


def text_of(folder, manifest=None):
    """The text for a folder, without opening its files."""
    manifest = manifest or read_manifest(folder)
    costs = {
        one: AnswerCost(2_000_000, 3_000_000, 1.25, 1.5, 7)
        for one in RUNNABLES
        if one.format != "savedmodel" and set(one.files) <= manifest.files.keys()
    }
    return integration(manifest, costs)


def tensors_of(text):
    """(file, signature, side) -> name -> (axes, sizes, dtype), from the tables."""
    found, files = {}, []
    for line in text.splitlines():
        if line.startswith("`") and line.endswith("`:"):
            files = re.findall(r"`([^`]+)`", line)
        row = re.fullmatch(r"\| `(\w+)` \| \((.*)\) \| (\w+) \| ([\w ,]+) \|", line)
        if row is None:
            continue
        name, shape, dtype, places = row.groups()
        axes = [axis.partition(" = ") for axis in shape.split(", ") if axis]
        sizes = [int(size) if size else axis for axis, _, size in axes]
        for file in files:
            for place in places.split(", "):
                known = found.setdefault((file, *place.split()), {})
                assert name not in known
                known[name] = ([axis for axis, _, _ in axes], sizes, dtype)
    return found


def at_t_enc(sizes):
    return [T_ENC if size == "T_enc" else size for size in sizes]


def test_names_shapes_and_dtypes_of_tflite_are_those_that_litert_reads(folders):
    for folder in folders:
        said = tensors_of(text_of(folder))
        for path in folder.glob("*.tflite"):
            interpreter = Interpreter(str(path))
            opened = interpreter.get_signature_list()
            assert {name for file, name, _ in said if file == path.name} == opened.keys()
            for name, sides in opened.items():
                check_signature(interpreter.get_signature_runner(name), said, path.name, name)
                assert sides["inputs"] == sorted(said[path.name, name, "input"])


def check_signature(runner, said, file, name):
    """The inputs as the file declares them; the outputs as they come back from a run."""
    inputs = said[file, name, "input"]
    details = runner.get_input_details()
    given = {}
    for one, (_, sizes, dtype) in inputs.items():
        declared = details[one]
        assert [-1 if size == "T_enc" else size for size in sizes] == list(
            declared["shape_signature"]
        )
        assert np.dtype(declared["dtype"]).name == dtype
        given[one] = np.ones(at_t_enc(sizes), dtype)
    assert given.keys() == details.keys()
    outputs = runner(**given)
    assert {
        one: (at_t_enc(sizes), dtype)
        for one, (_, sizes, dtype) in said[file, name, "output"].items()
    } == {one: (list(array.shape), array.dtype.name) for one, array in outputs.items()}


def test_names_axes_and_dtypes_of_onnx_are_those_that_onnxruntime_reads(folders):
    for folder in folders:
        said = tensors_of(text_of(folder))
        for path in folder.glob("*.onnx"):
            session = onnxruntime.InferenceSession(path)
            inputs = of_all_signatures(said, path.name, "input")
            given = [*session.get_inputs(), *session.get_overridable_initializers()]
            check_declared(inputs, given)
            outputs = of_all_signatures(said, path.name, "output")
            check_declared(outputs, session.get_outputs())
            free = {"batch": 3, "T_enc": T_ENC}
            answer = session.run(
                list(outputs),
                {
                    name: np.ones([free.get(size, size) for size in sizes], dtype)
                    for name, (_, sizes, dtype) in inputs.items()
                },
            )
            for array, (_, sizes, dtype) in zip(answer, outputs.values(), strict=True):
                assert list(array.shape) == [free.get(size, size) for size in sizes]
                assert array.dtype.name == dtype


def of_all_signatures(said, file, side):
    """Name -> what is said of it; an ONNX file holds the tensors of all its signatures."""
    parts = [known for (one, _, of), known in said.items() if (one, of) == (file, side)]
    return {name: tensor for part in parts for name, tensor in part.items()}


def check_declared(said, opened):
    """A size of the file is the number that is said, or a name, then that of the axis."""
    assert said.keys() == {one.name for one in opened}
    for one in opened:
        axes, sizes, dtype = said[one.name]
        assert DTYPES[one.type[len("tensor(") : -1]] == dtype
        assert len(one.shape) == len(axes)
        for declared, axis, size in zip(one.shape, axes, sizes, strict=True):
            assert declared == (axis if isinstance(declared, str) else size)


def blocks(text, language):
    return re.findall(rf"```{language}\n(.*?)\n```", text, re.DOTALL)


def test_the_code_names_tensors_and_files_that_are_there(folders):
    for folder in folders:
        text = text_of(folder)
        manifest = read_manifest(folder)
        tensors = {name for known in tensors_of(text).values() for name in known}
        code = "\n".join(
            line
            for language in ("kotlin", "swift", "cpp", "js")
            for block in blocks(text, language)
            for line in block.splitlines()
            if not line.startswith(("import ", "#include"))
        )
        words = set(re.findall(r'"([^"]+)"', code))
        assert {word for word in words if "." in word} == {
            file
            for one in RUNNABLES
            for file in one.files
            if file in manifest.files and one.format != "savedmodel" and one.quantize is None
        }
        assert {word for word in words if "." not in word} <= tensors | OTHER_WORDS
        # what the code for the split files carries from an answer to the next step
        for new in re.findall(r"answer\.(next_\w+)", code):
            assert new in tensors


def test_arrays_in_kotlin_have_the_shapes_that_the_file_answers_with(folders):
    for folder in folders:
        manifest = read_manifest(folder)
        (kotlin,) = blocks(text_of(folder), "kotlin")
        encode = Interpreter(str(folder / "model.tflite")).get_signature_runner("encode")
        answer = encode(source=np.ones((1, T_ENC), np.int32))
        arrays = dict(re.findall(r'"(\w+)" to (Array.*),', kotlin))
        assert arrays.keys() == answer.keys()
        for name, array in arrays.items():
            sizes = [
                T_ENC if size == "n" else int(size) for size in re.findall(r"\((\w+)\)", array)
            ]
            assert sizes == list(answer[name].shape)
        assert f"IntArray({manifest.decoding['max_length']})" in kotlin


def test_an_array_in_kotlin_is_nested_and_open_where_the_tensor_is():
    tensor = {"shape": [1, -1, 7], "dtype": "bool"}
    assert kotlin_array(tensor) == "Array(1) { Array(n) { BooleanArray(7) } }"
    assert kotlin_array({"shape": [3], "dtype": "int32"}) == "IntArray(3)"


def test_every_state_is_carried_to_the_next_step(exported):
    text = text_of(exported)
    encoded = tensors_of(text)["encoder.onnx", "encode", "output"]
    states = [name for name in encoded if name.startswith("state_")]
    assert len(states) > 1
    swift, cpp = blocks(text, "swift")[0], blocks(text, "cpp")[0]
    javascript = blocks(text, "js")[-1]
    listed = ", ".join(f'"{name}"' for name in states)
    assert f"for name in [{listed}]" in swift
    assert f"for (const char* name : {{{listed}}})" in cpp
    for name in states:
        assert f"{name}: answer.next_{name}" in javascript


def test_tokenizing_is_said_where_there_is_text_and_only_there():
    text, ids = (
        text_of(preset_folder("bahdanau_gru.fr_en")),
        text_of(preset_folder("seq2seq_gru.copy")),
    )
    assert "load `tokenizer.model` with SentencePiece" in text
    assert "append eos (2), no bos" in text
    assert "SentencePiece" not in ids
    assert "End a source with eos (2)" in ids


def test_int8_is_spoken_of_where_there_is_any(exported):
    assert "`int8`" in text_of(exported)
    assert "int8" not in text_of(exported, without_int8(exported))


def test_every_file_is_measured_in_a_process_of_its_own(tmp_path):
    folder = preset_folder("seq2seq_gru.copy")
    for name in ("model.tflite", "model.onnx"):
        shutil.copy(folder / name, tmp_path)
    path = write_integration(tmp_path, without_int8(folder))
    assert path == tmp_path / INTEGRATION_FILE
    table = path.read_text(encoding="utf-8").partition("## Measured at export")[2]
    rows = re.findall(r"\| `([\w.]+)` \| (\d+) \| (\d+) \| ([\d.]+) \| ([\d.]+) \| (\d+) \|", table)
    assert [name for name, *_ in rows] == ["model.tflite", "model.onnx"]
    for _, peak, before, milliseconds, cpu, tokens in rows:
        assert int(peak) >= int(before) > 0
        assert float(milliseconds) > 0 < float(cpu)
        assert 1 <= int(tokens) <= 96


def test_a_file_that_cannot_be_timed_is_named(exported, tmp_path):
    shutil.copytree(exported, tmp_path / "broken")
    (tmp_path / "broken" / "model.tflite").write_bytes(b"no model")
    with pytest.raises(FileLoadError, match=r"model\.tflite: a process that timed it"):
        write_integration(tmp_path / "broken", read_manifest(tmp_path / "broken"))
    assert not (tmp_path / "broken" / INTEGRATION_FILE).exists()


def test_a_folder_without_files_for_apps_has_none(exported, tmp_path):
    content = json.loads((exported / "manifest.json").read_text())
    assert write_integration(tmp_path, Manifest.from_dict({**content, "files": {}})) is None
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("vocab_source", [4, 19, 8009])
def test_the_timed_source_is_one_that_any_model_reads(vocab_source):
    row = source_row(vocab_source)
    assert (len(row), row[-1]) == (LENGTH, EOS)
    assert all(PAD < number < vocab_source for number in row)
