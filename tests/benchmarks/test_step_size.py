"""Counting the multiply-adds of a training step."""

import pytest
from contenders import our_model
from step_size import StepSize

SIZE = StepSize(batch=3, length=5, vocab=11, width=7)


def test_products_are_counted_by_hand():
    """Batch 3, T 5, width 7: d_h = 14; 15 tokens a side, 75 pairs of steps."""
    assert SIZE.forward_multiply_adds() == {
        "encoder": 2 * 15 * (7 * 21 + 7 * 21),
        "bridge": 3 * 7 * 7,
        "keys U_a h_i": 15 * 14 * 7,
        "query W_a s_{t-1}": 15 * 7 * 7,
        "scores v_a": 75 * 7,
        "contexts c_t": 75 * 14,
        "decoder": 15 * (21 * 21 + 7 * 21),
        "readout": 15 * 28 * 7,
        "output": 15 * 7 * 11,
    }
    assert SIZE.step_multiply_adds() == 3 * sum(SIZE.forward_multiply_adds().values())
    assert SIZE.tokens == 15


def test_the_count_is_that_of_the_model_s_matrices():
    """Each weight of a matrix is multiplied once a token; the embeddings are looked up."""
    forward = SIZE.forward_multiply_adds()
    per_token = dict(forward)
    bridge = per_token.pop("bridge") // SIZE.batch
    del per_token["scores v_a"], per_token["contexts c_t"]
    assert all(count % SIZE.tokens == 0 for count in per_token.values())
    counted = bridge + sum(count // SIZE.tokens for count in per_token.values())
    matrices = [
        weight
        for weight in our_model(SIZE).trainable_variables
        if len(weight.shape) == 2 and "embedding" not in weight.path and "bias" not in weight.name
    ]
    assert sum(weight.shape[0] * weight.shape[1] for weight in matrices) == counted


@pytest.mark.parametrize("text", ["64,20,4096", "a,b,c,d", "64,20,4096,0", "64,20,5,9", "1,-2,9,9"])
def test_another_size_is_refused(text):
    with pytest.raises(ValueError, match=r"a size must be .*got .*Fix: 64,20,4096,256"):
        StepSize.parse(text)


def test_a_size_is_read():
    assert StepSize.parse("3, 5, 11, 7") == SIZE
