"""Scoring the answers of a contender."""

import numpy as np
import pytest
from inference_process import Worker, save_sources
from inference_quality import WorkerModel, bleu, copy_accuracy, equal_tokens

from attention_zoo.commands.held_out import HeldOut
from attention_zoo.model_config import ModelConfig
from attention_zoo.training.referenced import Referenced

CONFIG = ModelConfig(vocab_source=400, vocab_target=400, max_length=13)


@pytest.fixture
def copying(counting_file, tmp_path):
    """A contender that answers with what it is asked."""
    first = save_sources(tmp_path / "first.npz", [np.array([[2]], np.int32)])
    with Worker("onnx", counting_file, 1, 13, first, tmp_path / "log") as worker:
        yield WorkerModel("copying", CONFIG, worker, tmp_path)


def test_equal_tokens_are_a_share_of_all_that_are_not_padding():
    answers = [np.array([[7, 5, 2, 0]]), np.array([[7, 2, 0, 0], [3, 4, 4, 2]])]
    reference = [np.array([[7, 6, 2, 0]]), np.array([[7, 7, 2, 0], [3, 4, 4, 2]])]
    assert equal_tokens(answers, reference) == pytest.approx(100 * (2 + 1 + 4) / (3 + 3 + 4))
    assert equal_tokens(reference, reference) == 100


def test_a_copy_is_a_copy(copying):
    assert copy_accuracy(copying, n=3) == 100


def test_bleu_is_that_of_the_answers(copying, tokenizers):
    """What answers with the source has all of BLEU where source and reference are one."""
    texts = ["Bonne nuit, mon ami, et merci.", "Il fait froid ce soir, il neige."]
    same = HeldOut("made up", {"test": [Referenced(text, (text,)) for text in texts]})
    other = HeldOut("made up", {"test": [Referenced(text, ("something else",)) for text in texts]})
    assert bleu(copying, tokenizers, same) == pytest.approx(100)
    assert bleu(copying, tokenizers, other) < 10
