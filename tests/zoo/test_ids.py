"""Ids outside the vocabulary are refused by name; TensorFlow would wrap negative ones."""

import numpy as np
import pytest
import tensorflow as tf

from attention_zoo import create_model
from attention_zoo.training import MaskedCrossEntropy


@pytest.fixture(scope="module")
def model():
    model = create_model("luong_general_gru", vocab_source=17, vocab_target=19, d_emb=3, units=5)
    model.compile("adam", loss=MaskedCrossEntropy())
    return model


GOOD = {"source": [[4, 5, 2]], "target": [[4, 2]]}


@pytest.mark.parametrize(
    ("name", "ids", "known"),
    [
        ("source", [[4, -1, 2]], "vocab_source = 17"),
        ("source", [[4, 17, 2]], "vocab_source = 17"),
        ("target", [[-3, 2]], "vocab_target = 19"),
        ("target", [[19, 2]], "vocab_target = 19"),
    ],
)
def test_an_id_outside_the_vocabulary_is_refused_by_name(model, name, ids, known):
    batch = {key: np.array(ids if key == name else value) for key, value in GOOD.items()}
    with pytest.raises(ValueError, match=rf"{name} has id .*{known}"):
        model(batch)
    for run in (model.fit, model.evaluate, model.predict):
        # the message of an error inside of a graph goes over several lines
        with pytest.raises(tf.errors.InvalidArgumentError, match=rf"(?s){name} has .*{known}"):
            run(batch, verbose=0)


def test_the_first_and_the_last_id_are_let_through(model):
    batch = {"source": np.array([[0, 16]]), "target": np.array([[18, 0]])}
    assert np.isfinite(model(batch)).all()
    model.fit(batch, verbose=0)
