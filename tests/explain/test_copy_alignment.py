"""Alignment accuracy on copies, whose right alignment is the diagonal."""

import numpy as np
import pytest

from attention_zoo import create_model, list_presets, load_pretrained
from attention_zoo.explain.copy_alignment import copy_alignment_accuracy, diagonal_accuracy


def test_the_share_of_rows_that_look_at_their_own_place():
    right = np.eye(5)
    assert diagonal_accuracy([right]) == 1.0
    shifted = np.eye(5, k=1) + 0.1
    assert diagonal_accuracy([shifted]) == 0.0
    half = np.eye(3)
    half[0] = [0.2, 0.5, 0.3]
    # of 4 + 2 rows of symbols one is wrong; the rows of eos do not count
    assert diagonal_accuracy([right, half]) == pytest.approx(5 / 6)
    wrong_at_the_end = np.eye(3)
    wrong_at_the_end[2] = [1.0, 0.0, 0.0]
    assert diagonal_accuracy([wrong_at_the_end]) == 1.0


@pytest.mark.parametrize("alignments", [[], [np.eye(1)]])
def test_nothing_to_count(alignments):
    with pytest.raises(ValueError, match=r"expected rows of symbols.*Fix"):
        diagonal_accuracy(alignments)


@pytest.mark.parametrize(
    "preset", [name for name in list_presets("*.copy") if not name.startswith("seq2seq")]
)
def test_pretrained_models_look_at_what_they_copy(preset):
    """Guessing would be right once in 11; an untrained model guesses."""
    generator = np.random.default_rng(7)
    sequences = generator.integers(4, 20, (13, 11))
    sequences[:, 10] = 2
    sequences[:5, 7:] = [2, 0, 0, 0]
    model = load_pretrained(preset)
    assert copy_alignment_accuracy(model, sequences) > 0.95
    untrained = create_model(model.name, **model.config.to_dict() | {"units": 8, "d_attn": None})
    assert copy_alignment_accuracy(untrained, sequences) < 0.5


@pytest.mark.parametrize("row", [[2, 0, 0], [5, 6, 7], [0, 0, 0]])
def test_rows_that_are_no_sequences(row):
    model = create_model("bahdanau_gru", vocab_source=13, vocab_target=13, units=5, d_emb=3)
    with pytest.raises(ValueError, match=r"sequence 1 is .*symbols and then eos.*Fix"):
        copy_alignment_accuracy(model, np.array([[5, 2, 0], row]))
