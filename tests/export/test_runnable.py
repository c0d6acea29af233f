"""The list of files that run agrees with everything that goes by it."""

import pytest

from attention_zoo.commands import export as command
from attention_zoo.export import exporter, runtime
from attention_zoo.export.checked_options import ALL_FORMATS
from attention_zoo.export.runnable import QUANTIZATIONS, RUNNABLES, runnables
from attention_zoo.manifest import FILE_FORMATS


def test_names_and_files_are_unique():
    assert len({one.name for one in RUNNABLES}) == len(RUNNABLES)
    files = [file for one in RUNNABLES for file in one.files]
    assert len(set(files)) == len(files)
    assert {one.name for one in RUNNABLES} >= {"saved_model/1", "model.int8.tflite"}


@pytest.mark.parametrize("one", RUNNABLES, ids=lambda one: one.name)
def test_each_has_a_format_and_a_class_with_what_it_promises(one):
    assert one.format in FILE_FORMATS
    assert one.format in ALL_FORMATS
    kind = getattr(runtime, one.runtime)
    assert hasattr(kind, "predict") == hasattr(kind, "beam_search") == one.decodes
    assert hasattr(kind, "encode") == hasattr(kind, "step") == one.steps


def test_the_command_offers_what_the_export_knows():
    assert exporter.FORMATS == command.FORMATS
    assert set(command.FORMATS) | set(command.FURTHER_FORMATS) == set(ALL_FORMATS)
    assert QUANTIZATIONS == command.QUANTIZATIONS


def test_int8_adds_to_the_formats_and_float16_does_not():
    names = [one.name for one in runnables(["onnx", "tflite"])]
    assert names == ["model.tflite", "model.onnx"]
    assert [one.name for one in runnables(["onnx", "tflite"], ["float16"])] == names
    assert [one.name for one in runnables(["tflite"], ["int8", "float16"])] == [
        "model.tflite",
        "model.int8.tflite",
    ]
    (saved,) = runnables(["savedmodel"], ["int8"])
    assert saved.quantize is None
