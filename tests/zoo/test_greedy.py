"""Greedy search against the model's own teacher forcing."""

import numpy as np
import pytest
import tensorflow as tf

from attention_zoo.greedy import greedy_decode
from attention_zoo.vocabulary import BOS, EOS, PAD, UNK

LENGTH = 6  # max_length of the shared models


def log_softmax(logits):
    logits = np.asarray(logits, "float64")
    largest = logits.max(axis=-1, keepdims=True)
    return logits - largest - np.log(np.exp(logits - largest).sum(axis=-1, keepdims=True))


def teacher_forced(model, source, tokens):
    """log p (batch, T_dec, vocab_target) with the tokens as the target."""
    # what follows eos is read by no step that counts, but may not be empty
    return log_softmax(model({"source": source, "target": np.where(tokens == PAD, UNK, tokens)}))


def without_pad_and_bos(log_p):
    log_p = log_p.copy()
    log_p[..., [PAD, BOS]] = -np.inf
    return log_p


def biased(model, **bias):
    """The model with some ids favoured: new output biases, given back by `restore`."""
    before = model.output_layer.b.numpy()
    after = before.copy()
    for name, value in bias.items():
        after[{"pad": PAD, "bos": BOS, "eos": EOS}[name]] += value
    model.output_layer.b.assign(after)
    return before


@pytest.fixture
def favour():
    """(model, eos=..., pad=...): change a shared model's output bias until the test ends."""
    changed = []

    def change(model, **bias):
        changed.append((model, biased(model, **bias)))

    yield change
    for model, before in reversed(changed):
        model.output_layer.b.assign(before)


def test_each_token_is_the_likeliest_after_those_before_it(any_name, shared_model, batch):
    """That all tokens are the argmax given themselves makes them, by induction, greedy."""
    model, source = shared_model(any_name), batch()["source"]
    result = model.greedy(source)
    tokens, lengths = result["tokens"], result["lengths"]
    log_p = teacher_forced(model, source, tokens)
    best = without_pad_and_bos(log_p).argmax(axis=-1)
    scores = np.zeros(len(source))
    for i, n in enumerate(lengths):
        assert tokens[i, :n].tolist() == best[i, :n].tolist()
        scores[i] = sum(log_p[i, t, tokens[i, t]] for t in range(n))
    np.testing.assert_allclose(result["scores"], scores, atol=1e-4)
    assert len(set(map(tuple, tokens.tolist()))) > 2, "the drawn weights decide nothing"


def test_equals_a_loop_that_reads_its_own_output(shared_model, batch):
    model, source = shared_model("bahdanau_gru"), batch()["source"]
    result = model.greedy(source)
    for i in range(len(source)):
        written = []
        while len(written) < LENGTH and EOS not in written:
            target = np.array([[*written, UNK]], "int32")
            logits = np.array(model({"source": source[i : i + 1], "target": target}))[0, -1]
            logits[[PAD, BOS]] = -np.inf
            written.append(int(logits.argmax()))
        assert result["tokens"][i].tolist() == written + [PAD] * (LENGTH - len(written))
        assert result["lengths"][i] == len(written)


def test_shapes_and_types(any_name, shared_model, batch):
    model, source = shared_model(any_name), batch()["source"]
    result = model.greedy(source)
    n, T_enc = source.shape
    assert {name: (x.shape, str(x.dtype)) for name, x in result.items()} == {
        "tokens": ((n, LENGTH), "int32"),
        "lengths": ((n,), "int32"),
        "scores": ((n,), "float32"),
        "alignments": ((n, LENGTH, T_enc), "float32"),
    }


def test_alignments_are_those_of_teacher_forcing_until_the_end(any_name, shared_model, batch):
    model, source = shared_model(any_name), batch()["source"]
    result = model.greedy(source)
    target = np.where(result["tokens"] == PAD, UNK, result["tokens"])
    expected = np.array(model.alignments({"source": source, "target": target}))
    written = np.arange(LENGTH) < result["lengths"][:, None]
    expected[~written] = 0
    np.testing.assert_allclose(result["alignments"], expected, atol=1e-5)
    sums = result["alignments"].sum(axis=-1)
    attends = model.config.attention != "none"
    np.testing.assert_allclose(sums, written * attends, atol=1e-5)
    padding = np.broadcast_to((source == PAD)[:, None], expected.shape)
    assert (result["alignments"][padding] == 0).all()


def test_rows_end_at_their_own_eos(model_name, shared_model, batch, favour):
    model = shared_model(model_name)
    source = batch(n=31)["source"]
    favour(model, eos=4.0)
    result = model.greedy(source)
    tokens, lengths = result["tokens"], result["lengths"]
    for row, n in zip(tokens, lengths, strict=True):
        assert EOS not in row[: n - 1]
        assert n == LENGTH or row[n - 1] == EOS
        assert (row[n:] == PAD).all()
        assert not {PAD, BOS} & set(row[:n].tolist())
    assert (lengths < LENGTH).any()


def test_eos_at_once(shared_model, batch, favour):
    model = shared_model("luong_general_gru")
    favour(model, eos=1e3)
    result = model.greedy(batch()["source"])
    assert (result["lengths"] == 1).all()
    assert (result["tokens"][:, 0] == EOS).all()
    assert not result["tokens"][:, 1:].any()
    assert not result["alignments"][:, 1:].any()
    np.testing.assert_allclose(result["scores"], 0, atol=1e-5)


def test_no_eos_at_all(shared_model, batch, favour):
    model = shared_model("luong_general_gru")
    favour(model, eos=-1e3)
    result = model.greedy(batch()["source"])
    assert (result["lengths"] == LENGTH).all()
    assert not (result["tokens"] == EOS).any()


def test_pad_and_bos_are_never_written_however_likely(shared_model, batch, favour):
    model = shared_model("bahdanau_gru")
    favour(model, pad=50.0, bos=50.0)
    source = batch()["source"]
    result = model.greedy(source)
    assert not (result["tokens"] == BOS).any()
    assert (result["lengths"] == (result["tokens"] != PAD).sum(axis=1)).all()
    assert (result["lengths"] > 0).all()
    # what they take of the probability is not given to the others
    log_p = teacher_forced(model, source, result["tokens"])
    first = np.take_along_axis(log_p[:, 0], result["tokens"][:, :1], axis=1)[:, 0]
    assert (result["scores"] <= first + 1e-3).all()
    assert (first < -40).all()


def test_other_rows_and_more_padding_change_nothing(any_name, shared_model, batch):
    model, source = shared_model(any_name), batch()["source"]
    together = model.greedy(source)
    wider = model.greedy(np.pad(source, ((0, 0), (0, 3))))
    for name in ("tokens", "lengths"):
        np.testing.assert_array_equal(wider[name], together[name])
    np.testing.assert_allclose(wider["scores"], together["scores"], atol=1e-4)
    np.testing.assert_allclose(
        wider["alignments"][..., : source.shape[1]], together["alignments"], atol=1e-5
    )
    assert not wider["alignments"][..., source.shape[1] :].any()
    for i in range(3):
        real = source[i : i + 1, : max(1, (source[i] != PAD).sum())]
        alone = model.greedy(real)
        assert alone["tokens"][0].tolist() == together["tokens"][i].tolist()
        np.testing.assert_allclose(alone["scores"][0], together["scores"][i], atol=1e-4)


def test_a_row_of_padding_alone(any_name, shared_model, batch):
    model, source = shared_model(any_name), batch()["source"]
    whole = model.greedy(source)
    source = source.copy()
    source[2] = PAD
    result = model.greedy(source)
    assert all(np.isfinite(x).all() for x in result.values())
    assert not result["alignments"][2].any()
    others = np.arange(len(source)) != 2
    np.testing.assert_array_equal(result["tokens"][others], whole["tokens"][others])


def test_max_length_cuts_and_changes_nothing_before(shared_model, batch):
    model, source = shared_model("luong_general_lstm"), batch()["source"]
    whole, short = model.greedy(source), model.greedy(source, max_length=2)
    assert short["tokens"].shape == (len(source), 2)
    assert short["alignments"].shape == (len(source), 2, source.shape[1])
    np.testing.assert_array_equal(short["tokens"], whole["tokens"][:, :2])
    np.testing.assert_array_equal(short["lengths"], np.minimum(whole["lengths"], 2))


def test_lists_of_ids_are_padded(shared_model):
    model = shared_model("bahdanau_gru")
    ragged = model.greedy([[5, 6, 7, 2], [8, 2]])
    padded = model.greedy(np.array([[5, 6, 7, 2], [8, 2, 0, 0]], "int32"))
    for name in padded:
        np.testing.assert_array_equal(ragged[name], padded[name])


def test_new_weights_are_read_by_a_search_that_has_run(new_model, with_drawn_weights, batch):
    model, source = new_model("bahdanau_gru"), batch()["source"]
    before = model.greedy(source)
    with_drawn_weights(model, seed=3)
    after = model.greedy(source)
    assert (before["tokens"] != after["tokens"]).any()
    other = with_drawn_weights(new_model("bahdanau_gru"), seed=3)
    np.testing.assert_array_equal(after["tokens"], other.greedy(source)["tokens"])


@pytest.mark.parametrize("jit_compile", [False, True], ids=["graph", "xla"])
@pytest.mark.parametrize("name", ["bahdanau_gru", "seq2seq_lstm"])
def test_static_batch_in_a_graph_of_ones_own(shared_model, batch, name, jit_compile):
    model, source = shared_model(name), batch()["source"][:2]
    expected = model.greedy(source)
    search = tf.function(
        lambda x: greedy_decode(model, x, LENGTH),
        input_signature=[tf.TensorSpec((2, None), tf.int32)] if not jit_compile else None,
        jit_compile=jit_compile,
    )
    got = search(tf.constant(source))
    assert got["tokens"].shape == (2, LENGTH)
    for key, value in expected.items():
        np.testing.assert_allclose(got[key], value, atol=1e-4)


@pytest.mark.parametrize(
    ("source", "match"),
    [
        ([5, 6, 2], "source"),
        (np.zeros((2, 3, 4), "int32"), "source has shape"),
        (np.zeros((2, 3), "float32"), "source has dtype float32.*expected integers"),
        ([[5, 13, 2]], r"source has id 13.*from 0 to 12"),
        ([[5, -1, 2]], "source has id -1"),
        (np.zeros((0, 3), "int32"), "source"),
        (np.zeros((2, 0), "int32"), "source"),
        ([["a"]], "source has dtype text"),
    ],
)
def test_a_bad_source_is_refused(shared_model, source, match):
    with pytest.raises(ValueError, match=match) as caught:
        shared_model("bahdanau_gru").greedy(source)
    assert "Fix: " in str(caught.value)


@pytest.mark.parametrize("max_length", [0, -1, 2.5, True, "6"])
def test_a_bad_max_length_is_refused(shared_model, batch, max_length):
    with pytest.raises(ValueError, match=r"max_length is .*; expected .*Fix: "):
        shared_model("bahdanau_gru").greedy(batch()["source"], max_length=max_length)
