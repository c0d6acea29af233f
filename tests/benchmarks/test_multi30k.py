"""The Multi30k benchmark on a made-up folder of the same shape."""

import csv
import gzip
import json

import multi30k
import pytest
from click.testing import CliRunner

from attention_zoo.training.bleu import corpus_bleu
from attention_zoo.training.corpus_translation import Beam, translate_corpus
from attention_zoo.training.translation_recipe import get_translation_recipe

pytestmark = pytest.mark.slow

PARTS = {"train": (0, 110), "val": (110, 121), "test2016": (121, 134), "test2017": (134, 141)}


@pytest.fixture(scope="module")
def data(pairs, tmp_path_factory):
    folder = tmp_path_factory.mktemp("multi30k")
    for part, (first, last) in PARTS.items():
        for side, language in (("source", "fr"), ("target", "en")):
            lines = [getattr(pair, side).lower() + "\n" for pair in pairs[first:last]]
            with gzip.open(folder / f"{part}.lc.norm.tok.{language}.gz", "wt") as file:
                file.writelines(lines)
    return folder


@pytest.fixture(scope="module")
def command(data, tmp_path_factory):
    """A function (more options) -> (result, folder of the run, folder of the results)."""
    results = tmp_path_factory.mktemp("results")
    output = tmp_path_factory.mktemp("runs") / "run"
    small = ["vocab_size=330", "batch_size=16", "n_measured=5", "beam_width=3", "warmup_steps=3"]

    def run(*options):
        arguments = ["--pair", "fr-en", "--data", data, "-o", output, "--results", results]
        arguments += [word for field in small for word in ("--recipe-set", field)]
        arguments += ["--set", "units=11", "--set", "d_emb=13", "--set", "max_length=9", *options]
        return CliRunner().invoke(multi30k.main, [str(word) for word in arguments]), output, results

    return run


def read(results):
    with (results / "multi30k.csv").open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def finished(command):
    result, output, results = command("--epochs", 2)
    assert result.exit_code == 0, result.output
    return result.output, output, results


def test_a_row_says_what_was_trained_and_measured(finished):
    told, output, results = finished
    (row,) = read(results)
    record = json.loads((output / "training.json").read_text())
    assert (row["pair"], row["model"], row["seed"]) == ("fr-en", "bahdanau_conditional_gru", "0")
    assert row["recipe"].startswith("multi30k ")
    assert "epochs=2" in row["recipe"]
    assert "units=11" in row["recipe"]
    assert row["epochs"] == "2"
    assert record["steps"] == 2 * (110 // 16)
    assert float(row["minutes"]) * 60 == pytest.approx(record["seconds"], abs=4)
    assert int(row["peak_mb"]) > 100
    assert "tok:none" in row["signature"]
    for test in multi30k.TESTS:
        assert 0 <= float(row[test]) <= 100
    assert (results / "multi30k.md").read_text() in told


def test_no_sentence_and_no_weight_is_in_the_results(finished, pairs):
    _, _, results = finished
    assert sorted(path.name for path in results.iterdir()) == ["multi30k.csv", "multi30k.md"]
    written = "".join(path.read_text() for path in results.iterdir()).lower()
    assert not any(pair.source.lower() in written for pair in pairs if len(pair.source) > 12)


def test_every_search_of_the_grid_is_tried_and_the_best_taken(finished):
    told, _, results = finished
    lines = [line for line in told.splitlines() if line.startswith("validation, beam")]
    assert len(lines) == len(multi30k.PENALTIES) + len(multi30k.WIDTHS)
    bleu = [float(line.rsplit(" ", 1)[1]) for line in lines]
    (row,) = read(results)
    assert float(row["validation"]) == max(bleu)
    first = lines[bleu.index(max(bleu))]
    assert f"beam {row['beam_width']}, length penalty {row['length_penalty']}:" in first


def test_a_finished_run_is_measured_again_by_resume(finished, command):
    _, output, results = finished
    before = read(results)
    weights = (output / "model.keras").stat().st_mtime_ns
    refused, _, _ = command("--epochs", 2)
    assert refused.exit_code == 1
    assert "holds a run already" in refused.output
    assert (output / "model.keras").stat().st_mtime_ns == weights
    again, _, _ = command("--epochs", 2, "--resume")
    assert again.exit_code == 0, again.output
    assert read(results) == [
        {**row, "peak_mb": new["peak_mb"]} for row, new in zip(before, read(results), strict=True)
    ]


def test_the_figure_is_the_bleu_of_the_tokens_as_they_stand(translation_model, tokenizers, pairs):
    from attention_zoo.training.referenced import Referenced

    entries = [Referenced(pair.source, (pair.target,)) for pair in pairs[:17]]
    scores = multi30k.measure(translation_model, tokenizers, entries, Beam(2, 0.4))
    answers = translate_corpus(
        translation_model, tokenizers, [entry.source for entry in entries], beam=Beam(2, 0.4)
    )
    references = [entry.references for entry in entries]
    assert scores.bleu == corpus_bleu(answers, references, tokenize="none")


def test_the_report_puts_published_figures_beside():
    row = dict.fromkeys(multi30k.COLUMNS, "1")
    rows = [
        {**row, "pair": "en-de", "test2016": "40.10", "test2017": "32.55"},
        {**row, "pair": "de-en", "test2016": "43.21", "test2017": "39.00"},
    ]
    text = multi30k.report(rows)
    assert "| 40.10 (39.0) | 32.55 (31.2) |" in text
    assert "| 43.21 | 39.00 |" in text
    assert "LIUM-CVC" in text


def test_a_missing_file_is_told_by_name(tmp_path, data):
    result = CliRunner().invoke(
        multi30k.main, ["--pair", "en-de", "--data", str(data), "-o", str(tmp_path / "run")]
    )
    assert result.exit_code == 1
    assert "train.lc.norm.tok.de.gz" in result.output
    assert "Traceback" not in result.output
    assert not (tmp_path / "run").exists()


def test_the_recipe_is_there():
    assert get_translation_recipe("multi30k").tokenize == "none"
