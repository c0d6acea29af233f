"""Beam search against greedy search, all answers there are, and the same search in Python."""

import itertools

import numpy as np
import pytest
import tensorflow as tf

from attention_zoo.beam import beam_decode
from attention_zoo.vocabulary import BOS, EOS, PAD, UNK

TINY = {"vocab_target": 5, "max_length": 4}  # eos, unk and one symbol can be written


def log_softmax(logits):
    logits = np.asarray(logits, "float64")
    largest = logits.max(axis=-1, keepdims=True)
    return logits - largest - np.log(np.exp(logits - largest).sum(axis=-1, keepdims=True))


def penalty(length, exponent):
    return ((5 + length) / 6) ** exponent


def all_answers(model, source, max_length):
    """{answer: log p} of every answer to one source (T_enc,), teacher forced."""
    ids = [i for i in range(model.config.vocab_target) if i not in (PAD, BOS)]
    paths = np.array(list(itertools.product(ids, repeat=max_length)), "int32")
    sources = np.repeat(source[None], len(paths), axis=0)
    log_p = log_softmax(model({"source": sources, "target": paths}))
    answers = {}
    for path, rows in zip(paths.tolist(), log_p, strict=True):
        length = path.index(EOS) + 1 if EOS in path else max_length
        answers[tuple(path[:length])] = sum(rows[t, path[t]] for t in range(length))
    return answers


def answers_of(result, row):
    """[(tokens, score)] of one row, best first."""
    return [
        (tuple(tokens[:n].tolist()), score)
        for tokens, n, score in zip(
            result["tokens"][row], result["lengths"][row], result["scores"][row], strict=True
        )
    ]


@pytest.fixture(scope="module")
def tiny_models(new_model, with_drawn_weights):
    """Every kind of model over three ids, with weights under which eos may come at any step."""
    names = ["bahdanau_gru", "luong_general_lstm", "seq2seq_gru", "feeding"]
    return {name: with_drawn_weights(new_model(name, **TINY), seed=2) for name in names}


TINY_NAMES = ["bahdanau_gru", "luong_general_lstm", "seq2seq_gru", "feeding"]


@pytest.mark.parametrize(
    ("name", "exponent"),
    [*((name, 1.0) for name in TINY_NAMES), *(("bahdanau_gru", e) for e in (0.0, 0.6, 2.0))],
)
def test_wide_enough_it_is_exhaustive_search(tiny_models, batch, name, exponent):
    model, source = tiny_models[name], batch(n=3)["source"]
    width = 31  # 16 of four ids without eos, and 1 + 2 + 4 + 8 that end with it
    result = model.beam_search(source, beam_width=width, n_best=width, length_penalty=exponent)
    for row in range(len(source)):
        known = all_answers(model, source[row], 4)
        assert len(known) == width
        found = answers_of(result, row)
        assert {tokens for tokens, _ in found} == known.keys()
        for tokens, score in found:
            expected = known[tokens] / penalty(len(tokens), exponent)
            assert score == pytest.approx(expected, abs=1e-4)
        scores = [score for _, score in found]
        assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize("exponent", [100.0])
def test_a_large_penalty_brings_no_impossible_answer_forward(tiny_models, batch, exponent):
    model, source = tiny_models["bahdanau_gru"], batch(n=3)["source"]
    result = model.beam_search(source, beam_width=31, n_best=31, length_penalty=exponent)
    for row in range(len(source)):
        known = all_answers(model, source[row], 4)
        assert {tokens for tokens, _ in answers_of(result, row)} == known.keys()


def python_beam(model, source, k, exponent, max_length):
    """The search of `beam_decode`'s docstring with lists, for one source (T_enc,)."""
    beams = [((), 0.0)]

    def rank(beam):
        return beam[1] / penalty(len(beam[0]), exponent)

    for t in range(max_length):
        if all(EOS in tokens for tokens, _ in beams):
            break
        targets = np.array([[*tokens, *[UNK] * (max_length - len(tokens))] for tokens, _ in beams])
        sources = np.repeat(source[None], len(beams), axis=0)
        logits = model({"source": sources, "target": targets.astype("int32")})
        following = log_softmax(logits)[:, t]
        grown = []
        for (tokens, log_p), row in zip(beams, following, strict=True):
            if EOS in tokens:
                grown.append((tokens, log_p))
                continue
            ids = [i for i in range(len(row)) if i not in (PAD, BOS)]
            grown += [((*tokens, i), log_p + row[i]) for i in ids]
        beams = sorted(grown, key=rank, reverse=True)[:k]
    return [(tokens, log_p / penalty(len(tokens), exponent)) for tokens, log_p in beams]


@pytest.mark.parametrize(
    ("name", "k", "exponent"),
    [
        ("bahdanau_gru", 4, 1.0),
        ("bahdanau_gru", 3, 0.0),
        ("luong_general_lstm", 4, 1.0),
        ("seq2seq_gru", 4, 1.0),
        ("feeding_stack", 4, 1.0),
        ("feeding_stack", 2, 1.7),
    ],
)
def test_narrow_it_equals_the_same_search_in_python(shared_model, batch, name, k, exponent):
    model, source = shared_model(name), batch(n=3)["source"]
    result = model.beam_search(source, beam_width=k, n_best=k, length_penalty=exponent)
    for row in range(len(source)):
        expected = python_beam(model, source[row], k, exponent, 6)
        found = answers_of(result, row)
        assert [tokens for tokens, _ in found] == [tokens for tokens, _ in expected]
        np.testing.assert_allclose([s for _, s in found], [s for _, s in expected], atol=1e-4)


NAMES = ["bahdanau_gru", "bahdanau_lstm", "luong_multihead_gru", "seq2seq_lstm", "feeding_stack"]


@pytest.mark.parametrize("name", NAMES)
def test_a_width_of_one_is_greedy(shared_model, batch, name):
    model, source = shared_model(name), batch()["source"]
    exponent = 1.0
    greedy = model.greedy(source)
    beam = model.beam_search(source, beam_width=1, length_penalty=exponent)
    for key in ("tokens", "lengths"):
        np.testing.assert_array_equal(beam[key][:, 0], greedy[key])
    scores = greedy["scores"] / penalty(greedy["lengths"], exponent)
    np.testing.assert_allclose(beam["scores"][:, 0], scores, atol=1e-4)
    np.testing.assert_allclose(beam["alignments"][:, 0], greedy["alignments"], atol=1e-5)


def test_shapes_and_types(shared_model, batch):
    model, source = shared_model("bahdanau_gru"), batch()["source"]
    result = model.beam_search(source, beam_width=3, n_best=2)
    n, T_enc = source.shape
    assert {name: (x.shape, str(x.dtype)) for name, x in result.items()} == {
        "tokens": ((n, 2, 6), "int32"),
        "lengths": ((n, 2), "int32"),
        "scores": ((n, 2), "float32"),
        "alignments": ((n, 2, 6, T_enc), "float32"),
    }


@pytest.mark.parametrize("name", ["feeding_stack"])
def test_how_many_answers_are_asked_for_does_not_change_the_best(shared_model, batch, name):
    model, source = shared_model(name), batch()["source"]
    four = model.beam_search(source, beam_width=4, n_best=4)
    for n_best in (1, 3):
        fewer = model.beam_search(source, beam_width=4, n_best=n_best)
        for key, value in fewer.items():
            np.testing.assert_array_equal(value, four[key][:, :n_best])
    tokens = four["tokens"]
    assert all(len({tuple(t) for t in row.tolist()}) == 4 for row in tokens), "answers repeat"


@pytest.mark.parametrize("name", ["bahdanau_gru", "feeding_stack", "luong_multihead_gru"])
def test_scores_and_alignments_are_those_of_teacher_forcing(shared_model, batch, name):
    """The states and alignments follow their beam when beams change places."""
    model, source = shared_model(name), batch()["source"]
    result = model.beam_search(source, beam_width=4, n_best=4, length_penalty=1.0)
    for beam in range(4):
        tokens, lengths = result["tokens"][:, beam], result["lengths"][:, beam]
        target = np.where(tokens == PAD, UNK, tokens)
        log_p = log_softmax(model({"source": source, "target": target}))
        written = np.arange(6) < lengths[:, None]
        each = np.take_along_axis(log_p, target[..., None], axis=-1)[..., 0]
        scores = (each * written).sum(axis=1) / penalty(lengths, 1.0)
        np.testing.assert_allclose(result["scores"][:, beam], scores, atol=1e-4)
        alignments = np.array(model.alignments({"source": source, "target": target}))
        alignments[~written] = 0
        np.testing.assert_allclose(result["alignments"][:, beam], alignments, atol=1e-5)


def test_a_wider_beam_finds_better_answers_than_greedy_somewhere(shared_model, batch):
    model, source = shared_model("bahdanau_gru"), batch(n=31)["source"]
    greedy = model.greedy(source)["scores"]
    beam = model.beam_search(source, beam_width=8, length_penalty=0.0)["scores"][:, 0]
    assert (beam > greedy + 1e-3).any()


def test_fewer_answers_than_asked_for_leave_empty_ones_at_the_end(tiny_models, batch):
    model, source = tiny_models["bahdanau_gru"], batch(n=2)["source"]
    result = model.beam_search(source, beam_width=5, n_best=5, max_length=1)
    np.testing.assert_array_equal(result["lengths"], [[1, 1, 1, 0, 0]] * 2)
    assert (result["scores"][:, 3:] == -1e9).all()
    assert not result["tokens"][:, 3:].any()
    assert not result["alignments"][:, 3:].any()
    assert sorted(result["tokens"][0, :3, 0].tolist()) == [EOS, UNK, 4]


@pytest.mark.parametrize("bias", [1e3, -1e3], ids=["eos at once", "no eos"])
def test_early_and_late_ends(new_model, with_drawn_weights, batch, bias):
    model, source = with_drawn_weights(new_model("luong_general_gru")), batch()["source"]
    b = model.output_layer.b.numpy()
    b[EOS] += bias
    model.output_layer.b.assign(b)
    result = model.beam_search(source, beam_width=3, n_best=3, length_penalty=0.0)
    assert all(np.isfinite(x).all() for x in result.values())
    if bias > 0:
        assert (result["lengths"][:, 0] == 1).all()
        assert (result["tokens"][:, 0, 0] == EOS).all()
    else:
        assert (result["lengths"] == 6).all()
        assert not (result["tokens"] == EOS).any()


@pytest.mark.parametrize("name", ["bahdanau_gru", "feeding_stack"])
def test_other_rows_and_more_padding_change_nothing(shared_model, batch, name):
    model, source = shared_model(name), batch()["source"].copy()
    source[2] = PAD
    together = model.beam_search(source, beam_width=3, n_best=3)
    assert all(np.isfinite(x).all() for x in together.values())
    assert not together["alignments"][2].any()
    wider = model.beam_search(np.pad(source, ((0, 0), (0, 3))), beam_width=3, n_best=3)
    np.testing.assert_array_equal(wider["tokens"], together["tokens"])
    np.testing.assert_allclose(wider["scores"], together["scores"], atol=1e-4)
    for i in (0, 1):
        real = source[i : i + 1, : max(1, (source[i] != PAD).sum())]
        alone = model.beam_search(real, beam_width=3, n_best=3)
        np.testing.assert_array_equal(alone["tokens"][0], together["tokens"][i])
        np.testing.assert_allclose(alone["scores"][0], together["scores"][i], atol=1e-4)


def test_static_batch_in_a_graph_of_ones_own(shared_model, batch):
    model, source = shared_model("bahdanau_gru"), batch()["source"][:1]
    expected = model.beam_search(source, beam_width=3, n_best=3)
    search = tf.function(
        lambda x: beam_decode(model, x, 6, 3),
        input_signature=[tf.TensorSpec((1, None), tf.int32)],
    )
    got = search(tf.constant(source))
    assert got["tokens"].shape == (1, 3, 6)
    for key, value in expected.items():
        np.testing.assert_allclose(got[key], value, atol=1e-4)


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"beam_width": 0}, "beam_width"),
        ({"beam_width": 2.0}, "beam_width"),
        ({"n_best": 0}, "n_best"),
        ({"n_best": 5, "beam_width": 4}, "n_best"),
        ({"length_penalty": -0.5}, "length_penalty"),
        ({"length_penalty": float("nan")}, "length_penalty"),
        ({"length_penalty": float("inf")}, "length_penalty"),
        ({"length_penalty": "1"}, "length_penalty"),
        ({"max_length": 0}, "max_length"),
    ],
)
def test_refuses_an_argument_by_name(shared_model, batch, arguments, name):
    with pytest.raises(ValueError, match=f"{name} is .*; expected .*Fix: "):
        shared_model("bahdanau_gru").beam_search(batch()["source"], **arguments)
