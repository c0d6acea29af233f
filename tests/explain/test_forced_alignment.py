"""Forced decoding: its weights are those of greedy decoding where it is forced to the same."""

import numpy as np
import pytest

from attention_zoo import create_model, list_models, load_pretrained
from attention_zoo.explain.forced_alignment import forced_alignments, forced_score

SOURCES = [[5, 7, 2], [9, 4, 8, 6, 10, 2], [12, 2]]
ATTENDING = [name for name in list_models() if not name.startswith("seq2seq")]


@pytest.fixture(scope="module")
def drawn_model():
    """name -> a small model with drawn weights."""
    made = {}

    def get(name):
        if name not in made:
            units = 8 if "multihead" in name else 7
            made[name] = model = create_model(
                name, vocab_source=13, vocab_target=11, d_emb=5, units=units, max_length=6
            )
            generator = np.random.default_rng(3)
            for weight in model.trainable_variables:
                weight.assign(generator.normal(0.0, 1.2, weight.shape))
        return made[name]

    return get


@pytest.mark.parametrize("name", ATTENDING)
def test_forced_to_the_greedy_answer_the_weights_and_the_score_are_those_of_greedy(
    drawn_model, name
):
    model = drawn_model(name)
    greedy = model.greedy(SOURCES)
    targets = [
        [int(token) for token in tokens[:length]]
        for tokens, length in zip(greedy["tokens"], greedy["lengths"], strict=True)
    ]
    found = forced_alignments(model, SOURCES, targets, batch_size=2)
    for row, (source, target) in enumerate(zip(SOURCES, targets, strict=True)):
        expected = greedy["alignments"][row, : len(target), : len(source)]
        assert found[row].shape == (len(target), len(source))
        np.testing.assert_allclose(found[row], expected, atol=2e-6)
        np.testing.assert_allclose(found[row].sum(1), 1.0, atol=1e-5)
        assert forced_score(model, source, target) == pytest.approx(
            float(greedy["scores"][row]), abs=1e-4
        )


@pytest.mark.parametrize("name", ["bahdanau_gru.copy", "luong_general_gru.copy"])
def test_the_same_of_trained_models(name):
    model = load_pretrained(name)
    source = [7, 4, 19, 12, 12, 5, 9, 16, 2]
    greedy = model.greedy([source])
    target = greedy["tokens"][0, : greedy["lengths"][0]].tolist()
    assert target == source
    (found,) = forced_alignments(model, [source], [target])
    np.testing.assert_allclose(found, greedy["alignments"][0, : len(target)], atol=1e-5)


def test_batches_and_their_order_change_nothing(drawn_model):
    model = drawn_model("bahdanau_gru")
    generator = np.random.default_rng(5)
    lengths = generator.integers(1, 9, (13, 2))
    sources = [generator.integers(4, 13, n).tolist() for n in lengths[:, 0]]
    targets = [generator.integers(4, 11, n).tolist() for n in lengths[:, 1]]
    told = []
    together = forced_alignments(
        model, sources, targets, batch_size=5, progress=lambda *done: told.append(done)
    )
    for source, target, found in zip(sources, targets, together, strict=True):
        (alone,) = forced_alignments(model, [source], [target])
        np.testing.assert_allclose(found, alone, atol=1e-6)
    assert told == [(5, 13), (10, 13), (13, 13)]
    assert forced_alignments(model, [], []) == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([[5, 2]], []), "as many targets as sources, got 0 and 1"),
        (([[5, 2], []], [[5, 2], [2]]), "source 1 is empty"),
        (([[5, 2]], [[]]), "target 0 is empty"),
        (([[13, 2]], [[5, 2]]), "source"),
    ],
)
def test_mistakes(drawn_model, arguments, words):
    with pytest.raises(Exception, match=words):
        forced_alignments(drawn_model("bahdanau_gru"), *arguments)


def test_a_model_without_attention_and_no_batch(drawn_model):
    with pytest.raises(ValueError, match=r"without attention; expected.*Fix"):
        forced_alignments(drawn_model("seq2seq_gru"), [[5, 2]], [[5, 2]])
    with pytest.raises(ValueError, match="batch_size must be at least 1, got 0"):
        forced_alignments(drawn_model("bahdanau_gru"), [[5, 2]], [[5, 2]], batch_size=0)
