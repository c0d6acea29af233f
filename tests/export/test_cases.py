"""The inputs on which files are compared cover what breaks exported models."""

import numpy as np
import pytest

from attention_zoo.export.cases import ending_cases, random_sources, standard_cases
from attention_zoo.vocabulary import EOS, FIRST_SYMBOL


@pytest.mark.parametrize("vocab_source", [5, 23])
def test_standard_cases(vocab_source):
    cases = standard_cases(vocab_source)
    sources = [case.source for case in cases]
    assert {len(source) for source in sources} == {1, 3}
    assert len({source.shape[1] for source in sources}) >= 3
    assert (1, 1) in {source.shape for source in sources}
    assert any((source == 0).all() for source in sources)
    assert any((source == 0).all(axis=1).any() and source.any() for source in sources)
    assert any((source[:, -1] == 0).any() and source[:, -1].any() for source in sources)
    for source in sources:
        assert source.dtype == np.int32
        assert source.min() >= 0
        assert source.max() < vocab_source


def test_standard_cases_repeat_by_seed():
    for one, other in zip(standard_cases(23, 5), standard_cases(23, 5), strict=True):
        np.testing.assert_array_equal(one.source, other.source)
    assert any(
        (one.source != other.source).any()
        for one, other in zip(standard_cases(23, 5), standard_cases(23, 6), strict=True)
    )


def test_random_sources():
    rows = random_sources(np.random.default_rng(0), 23, (7, 1, 3))
    assert rows.shape == (3, 7)
    assert (rows != 0).sum(axis=1).tolist() == [7, 1, 3]
    assert (rows[0, 6], rows[2, 2]) == (EOS, EOS)
    assert rows[0, :6].min() >= FIRST_SYMBOL


def copy(source):
    """Greedy decoding of a perfect copy model with T_dec 5."""
    tokens = np.pad(source, ((0, 0), (0, 5)))[:, :5]
    ended = np.cumsum(tokens == EOS, axis=1) - (tokens == EOS) > 0
    tokens = np.where(ended, 0, tokens)
    return {"tokens": tokens, "lengths": (tokens != 0).sum(axis=1)}


def test_ending_cases_of_a_model_with_both():
    cases = ending_cases(copy, 23, 5)
    assert set(cases) == {"early eos", "no eos"}
    early, never = copy(cases["early eos"].source), copy(cases["no eos"].source)
    assert early["lengths"][0] < 5
    assert early["tokens"][0, early["lengths"][0] - 1] == EOS
    assert EOS not in never["tokens"][0]
    # a row of the other kind stands beside it
    assert len(cases["early eos"].source) == 2
    assert EOS not in early["tokens"][1]


@pytest.mark.parametrize(("token", "kind"), [(7, "no eos"), (EOS, "early eos")])
def test_ending_cases_of_a_model_with_one(token, kind):
    def always(source):
        tokens = np.full((len(source), 5), token)
        tokens[:, 1:] *= token != EOS
        return {"tokens": tokens, "lengths": (tokens != 0).sum(axis=1)}

    cases = ending_cases(always, 23, 5)
    assert set(cases) == {kind}
    assert len(cases[kind].source) == 1


def test_eos_at_the_last_step_is_neither():
    def last(source):
        tokens = np.tile([7, 7, 7, 7, EOS], (len(source), 1))
        return {"tokens": tokens, "lengths": np.full(len(source), 5)}

    assert ending_cases(last, 23, 5) == {}
