"""Text in, text out, in the order of the texts, without TensorFlow."""

import dataclasses
import shutil
import warnings

import numpy as np
import pytest

from attention_zoo import presets
from attention_zoo.export import FileLoadError, Translator
from attention_zoo.manifest import FileChangedError, ManifestError, read_manifest, write_manifest
from attention_zoo.tokenizer import TokenizerError

FILES = ("model.onnx", "model.tflite")
LONGEST = 23  # decode steps of the file
HEAVY = ("tensorflow", "keras", "onnx", "matplotlib", "h5py")


@pytest.fixture(scope="module")
def translator(translation_folder):
    return Translator.from_folder(translation_folder)


@pytest.fixture
def copied(translation_folder, tmp_path):
    return shutil.copytree(translation_folder, tmp_path / "copied")


def sources_of(pairs, count=41):
    """Distinct sources of many lengths, none too long, not sorted by length."""
    return list(dict.fromkeys(pair.source for pair in pairs if len(pair.source) < 22))[:count]


def in_keras(model, tokenizers, text, **options):
    """What Keras says to one text alone: tokens, score, alignments."""
    ids = tokenizers.source.encode(text)
    found = model.beam_search([ids], **options) if options else model.greedy([ids])
    first = 0 if not options else (0, 0)
    length = found["lengths"][first]
    return found["tokens"][first][:length], found["scores"][first], found["alignments"][first]


@pytest.fixture(scope="module")
def rounded(translation_model):
    """The model as the files hold it."""
    from attention_zoo.export.half_weights import rounded_copy

    return rounded_copy(translation_model)


@pytest.mark.parametrize("file", FILES)
def test_answers_are_keras_in_the_order_of_the_texts(
    translation_folder, rounded, tokenizers, pairs, file
):
    texts = sources_of(pairs)
    lengths = [len(tokenizers.source.encode(text)) for text in texts]
    assert len(set(lengths)) > 5
    assert lengths != sorted(lengths)
    answers = Translator.from_folder(translation_folder, file).translate(texts)
    assert [answer.source for answer in answers] == texts
    assert len({answer.text for answer in answers}) > len(texts) // 2
    for answer, text in zip(answers, texts, strict=True):
        tokens, score, alignments = in_keras(rounded, tokenizers, text)
        assert answer.tokens == tokens.tolist()
        assert answer.text == " ".join(tokenizers.target.decode(tokens).splitlines())
        assert answer.pieces == tokenizers.target.pieces(tokens)
        assert answer.source_pieces == tokenizers.source.pieces(tokenizers.source.encode(text))
        assert answer.score == pytest.approx(score, abs=1e-4)
        assert answer.alignments.shape == (len(answer.pieces), len(answer.source_pieces))
        np.testing.assert_allclose(answer.alignments, alignments[: len(tokens)], atol=1e-4)
        assert answer.alternatives == ()


@pytest.mark.parametrize("file", FILES)
def test_beam_search_and_alternatives(translation_folder, rounded, tokenizers, pairs, file):
    translator = Translator.from_folder(translation_folder, file)
    texts = sources_of(pairs, 5)
    for answer, text in zip(translator.translate(texts, n_best=3), texts, strict=True):
        tokens, score, _ = in_keras(rounded, tokenizers, text, beam_width=3)
        assert answer.tokens == tokens.tolist()
        assert answer.score == pytest.approx(score, abs=1e-4)
        scores = [one.score for one in (answer, *answer.alternatives)]
        assert len(scores) == 3
        assert scores == sorted(scores, reverse=True)
        assert len({tuple(one.tokens) for one in (answer, *answer.alternatives)}) == 3
    alone = translator.translate(texts, beam=True)
    assert [one.tokens for one in alone] == [
        one.tokens for one in translator.translate(texts, n_best=2)
    ]
    assert all(one.alternatives == () for one in alone)


def test_one_text_is_a_list_of_one(translator):
    (answer,) = translator.translate("Il pleut.")
    assert answer.text == translator.translate(["Il pleut."])[0].text
    assert translator.translate([]) == []


@pytest.mark.parametrize("text", ["", " ", "\t\u00a0\u3000", "\n"])
def test_blank_text_has_a_blank_translation(translator, text):
    before, blank, after = translator.translate(["Il pleut.", text, "Bonjour !"])
    assert (blank.source, blank.text, blank.tokens, blank.score) == (text, "", [], 0.0)
    assert blank.alignments.shape == (0, 0)
    assert before.tokens
    assert after.tokens


@pytest.mark.parametrize(
    "text",
    [
        "今日は雨です。",
        "🙂🙂 👩‍👩‍👧",
        "a\x00b",
        "\x00",
        "\ud800 half",
        "Привет, мир!",
        "ß" * 11,
        "\ufeff",
    ],
)
def test_odd_text_has_an_answer_on_one_line(translator, text):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (answer,) = translator.translate(text)
    assert answer.source == text
    assert len(answer.text.splitlines()) <= 1
    assert len(answer.pieces) == len(answer.tokens) == len(answer.alignments)


@pytest.mark.parametrize("unit", ["Il pleut encore. ", "mot ", "今", "x"])
def test_a_text_of_5000_characters_is_translated_in_parts_and_told_once(
    translation_folder, tokenizers, unit
):
    translator = Translator.from_folder(translation_folder)
    text = (unit * 5000)[:5000]
    with pytest.warns(UserWarning, match=r"pieces is longer than the 23 .* in \d+ parts"):
        (answer,) = translator.translate(text)
    assert answer.source_pieces.count("</s>") > 5000 // LONGEST // 5
    read = [piece for piece in answer.source_pieces if piece != "</s>"]
    assert read == tokenizers.source.pieces(tokenizers.source.encode(text)[:-1])
    assert answer.alignments.shape == (len(answer.tokens), len(answer.source_pieces))
    np.testing.assert_allclose(answer.alignments.sum(axis=1), 1.0, atol=1e-4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        translator.translate(text[: 5000 // 2])


def test_parts_are_the_sentences_translated_alone(translation_folder, tokenizers):
    sentences = ["Il pleut.", "Je suis fatigué.", "Bonjour !", "Où es-tu ?"]
    text = " ".join(sentences * 2)
    translator = Translator.from_folder(translation_folder)
    assert len(tokenizers.source.encode(text)) > LONGEST
    with pytest.warns(UserWarning, match="parts"):
        (answer,) = translator.translate(text, n_best=2)
    ends = [i + 1 for i, piece in enumerate(answer.source_pieces) if piece == "</s>"]
    starts = [0, *ends[:-1]]
    chunks = [
        "".join(answer.source_pieces[a : b - 1]).replace("\u2581", " ").strip()
        for a, b in zip(starts, ends, strict=True)
    ]
    assert " ".join(chunks) == text
    assert all(chunk.endswith((".", "!", "?")) for chunk in chunks)
    alone = translator.translate(chunks, n_best=2)
    assert answer.tokens == [token for one in alone for token in one.tokens]
    assert answer.score == pytest.approx(sum(one.score for one in alone), abs=1e-4)
    second = [token for one in alone for token in one.alternatives[0].tokens]
    assert answer.alternatives[0].tokens == second


@pytest.mark.parametrize(
    ("texts", "options", "words"),
    [
        ([7], {}, r"texts\[0\] is a int; expected text"),
        (["a", None], {}, r"texts\[1\] is a NoneType"),
        (["a"], {"n_best": 0}, "n_best is 0; expected a whole number of at least 1"),
        (["a"], {"n_best": 4}, "n_best is 4; expected at most 3, the beams of this file"),
    ],
)
def test_what_is_refused(translator, texts, options, words):
    with pytest.raises(ValueError, match=words):
        translator.translate(texts, **options)


def test_a_preset_is_found_by_name(translation_folder, monkeypatch):
    monkeypatch.setattr(presets, "_root", lambda: translation_folder.parent)
    translator = Translator.from_preset("bahdanau_gru.fr_en")
    assert translator.translate("Il pleut.")[0].tokens
    with pytest.raises(ValueError, match=r"did you mean bahdanau_gru\.fr_en"):
        Translator.from_preset("bahdanau_gru.fr_de")


def test_a_model_of_ids_is_refused():
    with pytest.raises(TokenizerError, match="attention-zoo predict"):
        Translator.from_preset("seq2seq_gru.copy")


def test_files_that_are_not_there_or_not_known(copied):
    with pytest.raises(FileLoadError, match=r"model\.json: expected one of model\.onnx"):
        Translator.from_folder(copied, "model.json")
    (copied / "model.onnx").unlink()
    with pytest.raises(FileLoadError, match="no such file"):
        Translator.from_folder(copied, "model.onnx")
    assert Translator.from_folder(copied).model.path.name == "model.tflite"
    (copied / "model.tflite").unlink()
    with pytest.raises(FileLoadError, match=r"or model\.tflite, found neither"):
        Translator.from_folder(copied)


def test_changed_files_are_refused(copied):
    path = copied / "tokenizer.model"
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(FileChangedError, match="truncated"):
        Translator.from_folder(copied)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"decoding": {}}, "max_length of the manifest should be a whole number of at least 2"),
        ({"config": {"vocab_source": 400, "vocab_target": 7}}, "vocab_target of the model is 7"),
    ],
)
def test_a_manifest_that_does_not_fit_is_refused(copied, change, words):
    write_manifest(copied, dataclasses.replace(read_manifest(copied), **change))
    with pytest.raises(ManifestError, match=words):
        Translator.from_folder(copied)


def test_nothing_heavy_is_imported(translation_folder, fresh_process):
    code = (
        "import sys\n"
        "from attention_zoo.export import Translator\n"
        "print(len(Translator.from_folder(sys.argv[1]).translate(['Il pleut.', ''])))\n"
    )
    assert fresh_process(code, str(translation_folder), blocked=HEAVY) == "2\n"


def test_the_file_with_int8_weights_is_chosen(translation_folder, pairs):
    translator = Translator.from_folder(translation_folder, quantize="int8")
    assert translator.model.path.name == "model.int8.onnx"
    answers = translator.translate(sources_of(pairs, 5))
    assert all(np.isfinite(answer.score) and answer.tokens for answer in answers)


def test_without_int8_files_the_fix_is_told(copied):
    (copied / "model.int8.onnx").unlink()
    found = Translator.from_folder(copied, quantize="int8")
    assert found.model.path.name == "model.int8.tflite"
    (copied / "model.int8.tflite").unlink()
    with pytest.raises(FileLoadError, match="--format tflite and --quantize int8"):
        Translator.from_folder(copied, quantize="int8")


@pytest.mark.parametrize(("file", "quantize"), [(None, "int4"), ("model.onnx", "int8")])
def test_a_choice_that_makes_no_sense_is_refused(translation_folder, file, quantize):
    with pytest.raises(ValueError, match=f"quantize is '{quantize}'.*Fix: "):
        Translator.from_folder(translation_folder, file, quantize=quantize)
