"""The model card says what its manifest says."""

from attention_zoo.export.card import card
from attention_zoo.manifest import FileEntry, Manifest


def manifest(*formats, **fields):
    files = {f"file.{format}": FileEntry("ab" * 32, 1009, format) for format in formats}
    return Manifest("bahdanau_gru", {"units": 7}, files, {"max_length": 61}, **fields)


def test_a_translation_model_has_examples_limits_and_its_use_with_text():
    examples = [
        {"source": "Il pleut.", "output": "It rains.", "reference": "It's raining."},
        {"source": "a | b", "output": "a", "reference": "b"},
    ]
    text = card(
        manifest(
            "tokenizer",
            "onnx",
            training={"examples": examples, "limits": ["Polite forms only."], "steps": 17},
            preset="bahdanau_gru.fr_en",
            storage="float16",
        )
    )
    assert "| source | output | reference |\n| --- | --- | --- |\n| Il pleut. | It rains. |" in text
    assert "| a \\| b | a | b |" in text
    limits = text.partition("## Limits\n\n")[2].partition("\n\n")[0].splitlines()
    assert limits[0].startswith("- Reads and writes 61 pieces at most.")
    assert limits[-1] == "- Polite forms only."
    # in sections of their own, and not again under training
    assert text.count("It rains.") == text.count("Polite forms only.") == 1
    assert "| steps | 17 |" in text
    assert "attention-zoo translate --model bahdanau_gru.fr_en" in text
    assert "weights were rounded to float16" in text


def test_a_model_of_ids_has_none_of_that():
    text = card(manifest("onnx", "tflite", training={"steps": 17}))
    for words in ("## Examples", "## Limits", "attention-zoo translate", "float16"):
        assert words not in text
    assert "encoder-decoder, exported" in text
    assert 'OnnxModel("bahdanau_gru").predict' in text


def test_objects_of_one_kind_are_a_table_and_others_json():
    metrics = {
        "by_length": {"1-5": {"bleu": 50.5, "sentences": 3}, "6-8": {"bleu": 40.0, "sentences": 5}},
        "runs": [{"seed": 1, "bleu": 2.5}, {"seed": 2, "bleu": 3.5}],
        "mixed": [1, {"a": 2}],
        "none": [],
    }
    text = card(manifest("onnx", metrics=metrics))
    assert "| by_length | bleu | sentences |\n| --- | --- | --- |\n| 1-5 | 50.5 | 3 |" in text
    assert "runs:\n\n| seed | bleu |\n| --- | --- |\n| 1 | 2.5 |" in text
    assert "mixed:\n\n```json\n[\n 1,\n" in text
    assert "none:\n\n```json\n[]\n```" in text
