"""The tables of presets, from manifests of both kinds."""

from attention_zoo.cli import main
from attention_zoo.commands.preset_tables import preset_tables
from attention_zoo.manifest import FileEntry, Manifest

BLEU = "nrefs:var|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0"
CHRF = "nrefs:var|case:mixed|eff:yes|nc:6|nw:0|space:no|version:2.6.0"


def entry(format, size, **details):
    return FileEntry(sha256="0", bytes=size, format=format, details=details)


def copying(**changes):
    by_length = {"5": {"token": 1.0, "sequence": 1.0}, "80": {"token": 0.99875, "sequence": 0.5}}
    fields = {
        "model": "seq2seq_gru",
        "config": {},
        "files": {"model.weights.h5": entry("keras", 4001)},
        "metrics": {"chance": 0.0625, "by_length": by_length},
        "training": {"task": "copy"},
        "parameters": 1009,
    }
    return Manifest(**{**fields, **changes})


def translating(bleu=43.26, **changes):
    fields = {
        "model": "bahdanau_gru",
        "config": {},
        "files": {
            "model.weights.h5": entry("keras", 4_700_000),
            "model.onnx": entry("onnx", 4_800_000),
            "model.int8.onnx": entry("onnx", 1_200_001, quantize="int8"),
            "model.tflite": entry("tflite", 4_900_007),
            "tokenizer.model": entry("tokenizer", 300_000),
        },
        "data": {"source_language": "fr", "target_language": "en"},
        "metrics": {
            "decoding": "beam 5, length penalty 1",
            "bleu": bleu,
            "bleu_signature": BLEU,
            "chrf": 61.449,
            "chrf_signature": CHRF,
            "by_length": {"1-5": {"bleu": 55.54, "sentences": 7}, "12-15": {"bleu": 31.0}},
        },
        "training": {"task": "translation"},
        "parameters": 2_345_678,
    }
    return Manifest(**{**fields, **changes})


def test_translation():
    text = preset_tables({"a.fr_en": translating(), "b.fr_en": translating(7.0, parameters=None)})
    lines = text.splitlines()
    assert lines[:4] == [
        "| preset | parameters | task | BLEU | chrF | Keras bytes | ONNX bytes | ONNX int8 bytes "
        "| TFLite bytes | TFLite int8 bytes | SavedModel bytes |",
        "| --- | --: | --- | --: | --: | --: | --: | --: | --: | --: | --: |",
        "| `a.fr_en` | 2,345,678 | translation, fr to en | 43.3 | 61.4 | 4,700,000 | 4,800,000 "
        "| 1,200,001 | 4,900,007 |  |  |",
        "| `b.fr_en` |  | translation, fr to en | 7.0 | 61.4 | 4,700,000 | 4,800,000 "
        "| 1,200,001 | 4,900,007 |  |  |",
    ]
    # each signature once
    assert [line for line in lines if line.startswith("- ")] == [
        f"- BLEU: `{BLEU}`, beam 5, length penalty 1",
        f"- chrF: `{CHRF}`, beam 5, length penalty 1",
    ]
    assert "| preset | 1-5 | 12-15 |" in lines
    assert "| `a.fr_en` | 55.5 | 31.0 |" in lines
    assert "symbols right" not in text


def test_both_kinds():
    text = preset_tables({"a.copy": copying(), "a.fr_en": translating()})
    assert "| `a.copy` | 1,009 | copy |  |  | 4,001 |  |  |  |  |  |" in text
    assert text.count("| `a.copy` |") == 2
    assert "| `a.copy` | 1.0000 | 0.9988 |" in text
    assert text.count("| `a.fr_en` |") == 2
    assert text.endswith("|\n")


def test_a_manifest_that_says_little():
    bare = Manifest("seq2seq_gru", {}, {})
    assert preset_tables({"x": bare}).splitlines()[2:] == ["| `x` |  |  |  |  |  |  |  |  |  |  |"]


def test_the_command_prints_them(capsys):
    assert main(["list", "--presets", "--markdown", "seq2seq_gru.copy"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("| preset | parameters |")
    assert out.count("`seq2seq_gru.copy`") == 2
    assert main(["list", "--models", "--markdown"]) == 2
    assert "--markdown shows presets" in capsys.readouterr().err
