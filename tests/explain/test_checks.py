"""All checks together, where the answer is known."""

import functools
import json

import numpy as np
import pytest

from attention_zoo import load_pretrained
from attention_zoo.explain import check_sentence
from attention_zoo.explain.check_leave_one_out import leave_one_out
from attention_zoo.explain.check_replay import replay


@pytest.fixture(scope="module")
def trained():
    """preset -> the model, for all tests of the file: do not change it."""
    return functools.cache(load_pretrained)


def test_copying_hangs_on_the_tokens_that_the_weights_point_at(
    copy_preset, trained, copy_sources, record_property
):
    taus, same_top = [], []
    for source in copy_sources:
        replayed = replay(trained(copy_preset), source, source)
        assert replayed.outputs.argmax(axis=1).tolist() == source, "not copied: no answer is known"
        found = leave_one_out(replayed)
        assert found.without_tau == 0
        taus += found.taus
        same_top += found.same_top
    record_property("mean_tau", float(np.mean(taus)))
    assert np.mean(taus) > 0.3
    assert np.mean(same_top) > 0.75


def test_copying_reads_what_it_looks_at(copy_preset, trained, copy_sources):
    source = copy_sources[0]
    report = check_sentence(trained(copy_preset), source, source)
    assert min(report.permutation.median) > 0.5
    assert min(report.uniform.change) > 0.05
    # all symbols differ: no other place holds the same one
    met = {it.name: it.met for it in report.judgement.criteria}
    assert met == {**met, "permutation": True, "adversarial": True, "uniform": True}


def test_a_model_that_ignores_its_context_is_found_out(
    copy_preset, copier, without_context, copy_sources
):
    source = copy_sources[0]
    report = check_sentence(without_context(copier(copy_preset)), source, source)
    assert max(report.permutation.high) < 1e-6
    assert max(report.uniform.change) < 1e-6
    assert report.adversarial.divergence == pytest.approx(report.adversarial.limit)
    assert report.judgement.outcome == "not supported"
    failed = {it.name for it in report.judgement.criteria if it.met is False}
    assert {"permutation", "adversarial", "uniform"} <= failed
    assert "permuted weights change the output by 0.1 or more at 0 of 8 steps" in report.verdict


def test_a_model_that_cannot_choose_is_found_out(shared_small_model, sentence):
    report = check_sentence(shared_small_model("uniform_gru"), **sentence)
    assert report.judgement.outcome == "not supported"
    # all weights tie
    assert report.leave_one_out.without_tau == report.gradient.without_tau == 7
    assert report.leave_one_out.same_top == (None,) * 7


def test_without_attention_there_is_nothing_to_check(copier):
    with pytest.raises(
        ValueError, match=r"the model has no attention.*Fix: choose a model such as"
    ):
        check_sentence(copier("seq2seq_gru.copy"), [5, 6, 2])


def test_the_report_is_plain_data(shared_small_model, sentence):
    model = shared_small_model("bahdanau_gru")
    report = check_sentence(model, **sentence, name="mine", others=[model], permutations=7)
    data = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert data["name"] == "mine"
    assert data["source"] == ["7", "4", "10", "5", "2"]
    assert np.shape(data["weights"]) == (7, 5)
    assert data["leave_one_out"]["mean_tau"] == round(report.leave_one_out.mean_tau, 6)
    assert data["seeds"] == {
        "n_models": 2,
        "divergence": [0.0] * 7,
        "change": [0.0] * 7,
        "median_divergence": 0.0,
    }
    assert data["judgement"]["words"] == report.verdict
    assert data["permutation"]["count"] == 7


def test_one_seed_gives_one_report(shared_small_model, sentence):
    model = shared_small_model("luong_general_gru")
    first, second = (check_sentence(model, **sentence, seed=3).to_dict() for _ in range(2))
    assert first["permutation"] == second["permutation"]
    assert first["adversarial"]["divergence"] == pytest.approx(
        second["adversarial"]["divergence"], abs=1e-5
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"source_labels": ["a"]}, "source_labels has 1 labels; expected 5.*Fix: "),
        ({"target_labels": ["a"] * 8}, "target_labels has 8 labels; expected 7.*Fix: "),
        ({"permutations": 0}, "permutations is 0; expected at least 1.*Fix: "),
    ],
)
def test_options_that_do_not_fit_are_refused(options, words, shared_small_model, sentence):
    with pytest.raises(ValueError, match=words):
        check_sentence(shared_small_model("bahdanau_gru"), **sentence, **options)
