"""`attention-zoo evaluate` and `score` on models that translate."""

import io
import json
import math
import shutil
import sys
from types import SimpleNamespace

import keras
import numpy as np
import pytest
from matplotlib import image

from attention_zoo import create_model
from attention_zoo.cli import main
from attention_zoo.training.bleu import score_translations
from attention_zoo.training.corpus_translation import Beam, translate_corpus
from attention_zoo.training.translation_data import load_translation_data


@pytest.fixture(scope="module")
def data(pairs_file):
    return load_translation_data(pairs_file, n_validation=20, n_test=20, split_seed=3)


@pytest.fixture(scope="module")
def make_run(tmp_path_factory, tokenizers, data):
    """(name of a model, changes of the record) -> the folder of a run with random weights."""

    def make(name, **changes):
        keras.utils.set_random_seed(5)
        folder = tmp_path_factory.mktemp("runs") / name
        model = create_model(
            name,
            vocab_source=tokenizers.source.vocab_size,
            vocab_target=tokenizers.target.vocab_size,
            d_emb=7,
            units=11,
            max_length=13,
        )
        folder.mkdir()
        # sharper than at the start of a training, so that sources have answers of their own
        for weight in model.weights:
            if "seed" not in weight.name:
                weight.assign(3 * np.asarray(weight))
        model.save(folder / "model.keras")
        tokenizers.save(folder)
        record = {"data": {**data.description, **changes}, "metrics": {}, "seed": 0}
        (folder / "training.json").write_text(json.dumps(record))
        return folder

    return make


@pytest.fixture(scope="module")
def run(make_run):
    return make_run("bahdanau_gru")


def load(folder):
    return keras.saving.load_model(folder / "model.keras", compile=False)


def expected_scores(folder, tokenizers, entries, beam, **options):
    sources = [entry.source for entry in entries]
    hypotheses = translate_corpus(load(folder), tokenizers, sources, beam=beam)
    references = [entry.references for entry in entries]
    return hypotheses, score_translations(hypotheses, references, sources, **options)


# --- evaluate ------------------------------------------------------------------------------------


def test_evaluate_takes_the_test_part_of_the_recorded_data(run, data, tokenizers, tmp_path, capsys):
    numbers, output = tmp_path / "numbers.json", tmp_path / "hypotheses.txt"
    arguments = ["evaluate", str(run), "--json", str(numbers), "--output", str(output)]
    assert main(arguments) == 0
    shown = capsys.readouterr()
    hypotheses, scores = expected_scores(run, tokenizers, data.test, Beam(4, 1.0))
    content = json.loads(numbers.read_text())
    assert content["search"] == {"beam_width": 4, "length_penalty": 1.0}
    found = content["models"][str(run)]["test"]
    assert found.pop("seconds") > 0
    assert found == scores.to_dict()
    assert found["chrf"] > 0
    assert f"{scores.bleu:.2f}" in shown.out
    assert scores.bleu_signature in shown.out
    assert scores.chrf_signature in shown.out
    assert "nrefs:var" in scores.bleu_signature
    lines = output.read_text(encoding="utf-8").split("\n")
    assert lines == [*(" ".join(text.splitlines()) for text in hypotheses), ""]
    assert len(set(lines)) > 5
    assert "Traceback" not in shown.err


def test_evaluate_greedy_on_the_validation_part_with_other_rules(
    run, data, tokenizers, tmp_path, capsys
):
    numbers = tmp_path / "numbers.json"
    rules = ["--split", "validation", "--greedy", "--lowercase", "--tokenize", "none"]
    assert main(["evaluate", str(run), *rules, "--limit", "7", "--json", str(numbers)]) == 0
    _, scores = expected_scores(
        run, tokenizers, data.validation[:7], None, lowercase=True, tokenize="none"
    )
    content = json.loads(numbers.read_text())
    assert content["search"] == "greedy"
    found = content["models"][str(run)]["validation"]
    assert (found["n"], found["chrf"]) == (7, scores.to_dict()["chrf"])
    assert "case:lc" in found["bleu_signature"]
    assert "tok:none" in found["bleu_signature"]
    assert "greedy" in capsys.readouterr().out


def test_evaluate_on_files_with_several_references(run, tokenizers, tmp_path):
    texts = {
        "source": ["Bonjour !", "Merci.", "Je ne suis pas là."],
        "a": ["Hello!", "Thank you.", "I am not there."],
        "b": ["Good morning!", "Thanks.", "I'm not there."],
    }
    for name, lines in texts.items():
        (tmp_path / name).write_text("\n".join(lines))
    numbers = tmp_path / "numbers.json"
    files = ["--test-source", str(tmp_path / "source"), "--test-target", str(tmp_path / "a")]
    files += ["--test-target", str(tmp_path / "b"), "--greedy", "--json", str(numbers)]
    assert main(["evaluate", str(run / "model.keras"), *files]) == 0
    hypotheses = translate_corpus(load(run), tokenizers, texts["source"])
    references = list(zip(texts["a"], texts["b"], strict=True))
    scores = score_translations(hypotheses, references, texts["source"])
    found = json.loads(numbers.read_text())["models"][str(run / "model.keras")]["test"]
    assert found["chrf"] == scores.to_dict()["chrf"]
    assert found["bleu_signature"].startswith("nrefs:2|")


def test_evaluate_several_models_in_one_table_and_one_picture(
    run, make_run, data, tokenizers, tmp_path, capsys
):
    other = make_run("seq2seq_gru")
    picture, output = tmp_path / "by_length.png", tmp_path / "out.txt"
    arguments = ["evaluate", str(run), str(other), "--greedy"]
    assert main([*arguments, "--plot", str(picture), "--output", str(output)]) == 0
    shown = capsys.readouterr().out
    for folder in (run, other):
        hypotheses, scores = expected_scores(folder, tokenizers, data.test, None)
        line = next(line for line in shown.splitlines() if str(folder) in line)
        assert f"{scores.chrf:.2f}" in line
        assert (tmp_path / f"out.{folder.name}.txt").read_text().count("\n") == len(hypotheses)
        for band in scores.by_length.values():
            assert f"{band.bleu:.2f}" in shown
    assert image.imread(picture).shape[0] > 300
    both = image.imread(picture)
    assert main(["evaluate", str(run), "--greedy", "--plot", str(picture)]) == 0
    assert (image.imread(picture) != both).any()


def test_evaluate_refuses_models_of_different_splits(run, make_run, data, capsys):
    spec = {**data.description["spec"], "split_seed": 4}
    other = make_run("seq2seq_gru", spec=spec)
    assert main(["evaluate", str(run), str(other)]) == 2
    assert "trained on different data, or on different splits" in capsys.readouterr().err


def test_evaluate_refuses_data_that_has_changed(make_run, pairs_file, data, tmp_path, capsys):
    path = tmp_path / "pairs.tsv"
    path.write_text(pairs_file.read_text(encoding="utf-8") + "Un de plus.\tOne more.\n")
    changed = make_run("seq2seq_gru", spec={**data.description["spec"], "data": str(path)})
    assert main(["evaluate", str(changed), "--greedy"]) == 2
    assert "the data that it was trained on has changed: expected sha256" in capsys.readouterr().err
    # named by the user it is taken, and said
    assert main(["evaluate", str(changed), "--greedy", "--data", str(path)]) == 0
    assert "may have seen sentences of this test set" in capsys.readouterr().err
    # the same bytes in another place are the same data
    moved = tmp_path / "moved.tsv"
    shutil.copy(pairs_file, moved)
    assert main(["evaluate", str(changed), "--greedy", "--data", str(moved)]) == 0
    assert "may have seen" not in capsys.readouterr().err


def test_evaluate_says_how_to_name_data_that_is_not_here(make_run, data, tmp_path, capsys):
    gone = str(tmp_path / "gone.tsv")
    run = make_run("seq2seq_gru", spec={**data.description["spec"], "data": gone})
    assert main(["evaluate", str(run)]) == 2
    shown = capsys.readouterr().err
    assert f"{gone}: expected a readable file" in shown
    assert "say where that lies by --data or --manual-dir" in shown


def test_evaluate_a_model_that_does_not_say_what_it_was_trained_on(run, tmp_path, capsys):
    folder = tmp_path / "bare"
    shutil.copytree(run, folder)
    (folder / "training.json").unlink()
    assert main(["evaluate", str(folder)]) == 2
    assert "not every MODEL says what it was trained on" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["RUN", "RUN"], "named twice"),
        (["RUN", "--lengths", "5"], "--lengths says nothing to a model that translates"),
        (["RUN", "-n", "5"], "-n says nothing to a model that translates"),
        (["COPY", "--data", "x"], "--data says nothing to a model that copies ids"),
        (["COPY", "--greedy"], "--greedy says nothing to a model that copies ids"),
        (["RUN", "COPY"], "translates and"),
        (["RUN", "--greedy", "--beam-width", "3"], "--greedy is without a beam"),
        (["RUN", "--data", "no.tsv"], "no.tsv"),
        (["RUN", "--test-source", "x"], "--test-source and --test-target go together"),
        (["RUN", "--length-penalty", "-1"], "length_penalty is -1.0"),
    ],
)
def test_evaluate_says_what_is_wrong(arguments, message, run, tmp_path, capsys):
    copy = tmp_path / "model.keras"
    if "COPY" in arguments:
        sizes = {"vocab_source": 11, "vocab_target": 11, "d_emb": 5, "units": 7, "max_length": 13}
        create_model("seq2seq_gru", **sizes).save(copy)
    names = {"RUN": str(run), "COPY": str(copy)}
    assert main(["evaluate", *(names.get(word, word) for word in arguments)]) == 2
    shown = capsys.readouterr().err
    assert message in shown
    assert "Traceback" not in shown


def test_evaluate_several_models_that_copy(tmp_path, capsys):
    sizes = {"vocab_source": 11, "vocab_target": 11, "d_emb": 5, "units": 7, "max_length": 13}
    paths = [str(tmp_path / f"{name}.keras") for name in ("bahdanau_gru", "seq2seq_gru")]
    for path in paths:
        create_model(path.rsplit("/", 1)[1].removesuffix(".keras"), **sizes).save(path)
    numbers, picture = tmp_path / "numbers.json", tmp_path / "copies.png"
    options = ["--lengths", "2,3", "-n", "5", "--json", str(numbers), "--plot", str(picture)]
    assert main(["evaluate", *paths, *options]) == 0
    assert [entry["model"] for entry in json.loads(numbers.read_text())["models"]] == paths
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert all(path in capsys.readouterr().out.replace("\n", "") for path in paths[:1])


def test_evaluate_through_an_exported_file(run, tmp_path, capsys):
    exported = tmp_path / "exported"
    assert main(["export", str(run), "--format", "onnx", "-o", str(exported)]) == 0
    scores = []
    for how in ([], ["--greedy"]):
        for file in ([], ["--file", "model.onnx"]):
            numbers = tmp_path / "numbers.json"
            options = ["--limit", "9", "--json", str(numbers), *how, *file]
            assert main(["evaluate", str(exported), *options]) == 0
            content = json.loads(numbers.read_text())
            assert content["file"] == (file[1] if file else None)
            found = content["models"][str(exported)]["test"]
            assert found.pop("seconds") > 0
            scores.append(found)
    assert scores[0] == scores[1]
    assert scores[2] == scores[3]
    assert scores[0] != scores[2]
    assert "through model.onnx" in capsys.readouterr().out
    wider = ["evaluate", str(exported), "--file", "model.onnx", "--beam-width", "5"]
    assert main(wider) == 2
    assert "Fix: --beam-width 4 --length-penalty 1.0" in capsys.readouterr().err
    assert main(["evaluate", str(exported), "--file", "no.onnx"]) == 2
    assert "no such file: neither" in capsys.readouterr().err


# --- score ---------------------------------------------------------------------------------------


def answered(capsys):
    """The columns of what `score` printed, and what it said on stderr."""
    shown = capsys.readouterr()
    rows = [line.split("\t") for line in shown.out.splitlines()]
    return [(float(a), int(b), float(c)) for a, b, c in rows], shown.err


def log_probability(model, tokenizers, source, target):
    """sum of log softmax at the target's tokens and eos."""
    ids = {
        "source": np.array([tokenizers.source.encode(source)]),
        "target": np.array([tokenizers.target.encode(target)]),
    }
    logits = np.asarray(model(ids))[0].astype(np.float64)
    log_p = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    return log_p[np.arange(len(log_p)), ids["target"][0]].sum(), len(log_p)


def test_score_pairs_of_a_file(run, tokenizers, tmp_path, capsys):
    pairs = [("Bonjour !", "Hello!"), ("Merci beaucoup à vous 🙂", "Thank you"), ("Non.", "No.")]
    path = tmp_path / "pairs.tsv"
    path.write_text("".join(f"{s}\t{t}\n" for s, t in pairs), encoding="utf-8")
    assert main(["score", str(run), "--tsv", str(path)]) == 0
    rows, told = answered(capsys)
    model = load(run)
    for (source, target), (value, tokens, perplexity) in zip(pairs, rows, strict=True):
        expected, length = log_probability(model, tokenizers, source, target)
        assert value == pytest.approx(expected, abs=1e-3)
        assert tokens == length
        assert perplexity == pytest.approx(math.exp(-expected / length), rel=1e-3)
    total, count = sum(row[0] for row in rows), sum(row[1] for row in rows)
    assert f"3 pairs, {count} tokens" in told
    assert float(told.split()[-1]) == pytest.approx(math.exp(-total / count), rel=1e-3)


def test_score_two_files_and_standard_input_alike(run, tmp_path, capsys, monkeypatch):
    (tmp_path / "s").write_text("Bonjour !\r\nNon.", encoding="utf-8")
    (tmp_path / "t").write_text("Hello!\nNo.\n", encoding="utf-8")
    files = ["--source-file", str(tmp_path / "s"), "--target-file", str(tmp_path / "t")]
    assert main(["score", str(run), *files, "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert [pair["source"] for pair in content["pairs"]] == ["Bonjour !", "Non."]
    assert content["corpus"]["pairs"] == 2
    assert content["corpus"]["tokens"] == sum(pair["tokens"] for pair in content["pairs"])

    def type_in(text):
        stream = io.BytesIO(text.encode())
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=stream, isatty=lambda: False))

    type_in("Bonjour !\tHello!\r\nNon.\tNo.")
    assert main(["score", str(run), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == content
    type_in("Hello!\tBonjour !\nNo.\tNon.\n")
    assert main(["score", str(run), "--json", "--reverse"]) == 0
    assert json.loads(capsys.readouterr().out) == content
    type_in("x\tHello!\tBonjour !\nno tab\nx\tNo.\tNon.\n")
    columns = ["--source-column", "2", "--target-column", "1", "--skip-bad"]
    assert main(["score", str(run), *columns]) == 0
    rows, told = answered(capsys)
    assert [row[1] for row in rows] == [pair["tokens"] for pair in content["pairs"]]
    assert "Left out: 1 x too few columns." in told
    type_in("Bonjour !\tHello!\nno tab\n")
    assert main(["score", str(run)]) == 2
    assert "standard input:2: expected at least 2 tab-separated columns" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["RUN", "--source-file", "x"], "--source-file and --target-file go together"),
        (["RUN", "--tsv", "x", "--source-file", "y", "--target-file", "z"], "choose one"),
        (["RUN", "--tsv", "missing.tsv"], "missing.tsv"),
        (["EMPTY", "--tsv", "PAIRS"], "no tokenizer beside it"),
    ],
)
def test_score_says_what_is_wrong(arguments, message, run, pairs_file, tmp_path, capsys):
    names = {"RUN": str(run), "PAIRS": str(pairs_file), "EMPTY": str(tmp_path)}
    assert main(["score", *(names.get(word, word) for word in arguments)]) == 2
    shown = capsys.readouterr().err
    assert message in shown
    assert "Traceback" not in shown
