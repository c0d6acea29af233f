"""`step` refuses what the file would misread, by the name of the tensor."""

import shutil

import numpy as np
import pytest

from attention_zoo.export.runtime import LiteRTModel

MODEL = "luong_general_gru"
SOURCE = [[5, 9, 4, 8, 2]]


@pytest.fixture(scope="module", params=[True, False], ids=["manifest", "no manifest"])
def model(request, exported, tmp_path_factory):
    folder = exported(MODEL).folder
    if not request.param:
        alone = tmp_path_factory.mktemp("alone")
        folder = shutil.copy(folder / "model.tflite", alone / "model.tflite")
    return LiteRTModel(folder)


@pytest.fixture
def encoded(model):
    return model.encode(SOURCE)


@pytest.mark.parametrize(
    ("tokens", "words"),
    [
        ([19], "tokens has id 19; expected an id from 0 to 18 (vocab_target = 19)"),
        ([-1], "tokens has id -1"),
        (np.array([2**40]), f"tokens has id {2**40}"),
        ([2**70], f"tokens has id {2**70}"),
        ([1.0], "tokens has dtype float64; expected int32"),
        ([True], "tokens has dtype bool; expected int32"),
        (np.ones(1, "m8[s]"), "tokens has dtype timedelta64[s]; expected int32"),
        ([[1], [1, 2]], "tokens holds rows of different lengths; expected an array (batch)"),
        (1, "tokens has shape (), 0 axes; expected (batch,)"),
        ([[1]], "tokens has shape (1, 1), 2 axes; expected (batch,)"),
        ([1, 1], "tokens has shape (2,); expected (batch,) = (1,)"),
        (np.zeros(0, int), "tokens has shape (0,); expected (batch,) = (1,)"),
    ],
)
def test_tokens_are_checked(model, encoded, tokens, words):
    model.step([1], encoded)  # what was right once does not excuse what comes after it
    with pytest.raises(ValueError, match=r"LiteRTModel\.step: tokens") as caught:
        model.step(tokens, encoded)
    assert words in str(caught.value)
    assert "Fix: pass the id" in str(caught.value)


@pytest.mark.parametrize("after", ["nothing", "a step that was right"])
@pytest.mark.parametrize(
    ("tensor", "spoil", "words"),
    [
        ("memory", None, "missing: memory; not known: none"),
        ("colour", lambda _: np.zeros(1), "missing: none; not known: colour"),
        ("tokens", lambda _: np.ones(1, np.int32), "missing: none; not known: tokens"),
        ("memory", lambda x: x[..., :-1], "memory has shape (1, 5, 6); expected"),
        ("keys", lambda x: x[0], "keys has shape (5, 7), 2 axes; expected (batch, T_enc"),
        ("mask", lambda x: x[:, 1:], "mask has shape (1, 4); expected (batch, T_enc) = (1, 5)"),
        ("state_0", lambda x: x.repeat(2, 0), "state_0 has shape (2, 7); expected"),
        ("state_0", lambda x: x.astype(np.float64), "state_0 has dtype float64; expected float32"),
        ("mask", lambda x: x.astype(np.int32), "mask has dtype int32; expected bool"),
        ("mask", lambda _: [[True], [True, False]], "mask holds rows of different lengths"),
    ],
)
def test_encoded_is_checked(model, encoded, tensor, spoil, words, after):
    if after != "nothing":
        model.step([1], encoded)
    value = encoded.pop(tensor, None)
    if spoil is not None:
        encoded[tensor] = spoil(value)
    with pytest.raises(ValueError, match=r"LiteRTModel\.step: ") as caught:
        model.step([1], encoded)
    assert words in str(caught.value)
    assert "Fix: " in str(caught.value)


def test_encoded_is_a_dictionary(model, encoded):
    with pytest.raises(ValueError, match="encoded is a list; expected a dictionary"):
        model.step([1], list(encoded.values()))


def test_what_encode_gives_is_taken(model, encoded):
    answer = model.step(np.array([18], np.uint8), encoded)
    assert answer["logits"].shape == (1, 19)
    longer = model.encode([[5, 9, 4, 8, 7, 11, 2]])
    answer = model.step(np.array([18], np.uint8), longer)
    assert answer["logits"].shape == (1, 19)
