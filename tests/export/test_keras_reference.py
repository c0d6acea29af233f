"""The copies of a model that end at once, or never."""

import numpy as np

from attention_zoo.export.decode_functions import DecodeSettings
from attention_zoo.export.keras_reference import KerasReference, with_shifted_eos
from attention_zoo.vocabulary import EOS

SOURCE = np.array([[5, 9, 4, 2], [7, 2, 0, 0]], np.int32)


def test_a_shift_of_eos_ends_at_once_or_never(new_model):
    model = new_model("luong_general_gru")
    before = [weight.numpy() for weight in model.weights]
    settings = DecodeSettings(max_length=5)
    up = KerasReference(with_shifted_eos(model, 500.0), settings).greedy(SOURCE)
    assert up["tokens"].tolist() == [[EOS, 0, 0, 0, 0]] * 2
    down = KerasReference(with_shifted_eos(model, -500.0), settings).greedy(SOURCE)
    assert down["lengths"].tolist() == [5, 5]
    assert EOS not in down["tokens"]
    # the model itself is left alone, and only one number of the copy is another
    after = [weight.numpy() for weight in model.weights]
    copied = [weight.numpy() for weight in with_shifted_eos(model, 3.0).weights]
    changed = sum(int((one != other).sum()) for one, other in zip(before, copied, strict=True))
    assert changed == 1
    for one, other in zip(before, after, strict=True):
        np.testing.assert_array_equal(one, other)
