"""The spread over models that differ in their seed."""

import numpy as np
import pytest

from attention_zoo import create_model
from attention_zoo.explain.check_distances import jensen_shannon, total_variation
from attention_zoo.explain.check_replay import replay
from attention_zoo.explain.check_seeds import seed_spread


@pytest.fixture
def models():
    def make(seed):
        model = create_model("bahdanau_gru", vocab_source=13, vocab_target=11, units=7, d_emb=5)
        generator = np.random.default_rng(seed)
        for weight in model.trainable_variables:
            weight.assign(generator.normal(size=weight.shape))
        return model

    return [make(seed) for seed in (0, 1, 2)]


def test_is_the_mean_over_pairs(models, sentence):
    spread = seed_spread(models, **sentence)
    a, b, c = (replay(model, **sentence) for model in models)
    for t in range(len(sentence["target"])):
        pairs = [(a, b), (a, c), (b, c)]
        divergence = [jensen_shannon(p.weights[t], q.weights[t]) for p, q in pairs]
        change = [total_variation(p.outputs[t], q.outputs[t]) for p, q in pairs]
        assert spread.divergence[t] == pytest.approx(np.mean(divergence))
        assert spread.change[t] == pytest.approx(np.mean(change))
    assert spread.n_models == 3
    assert spread.median_divergence == np.median(spread.divergence) > 0


def test_a_model_does_not_differ_from_itself(models, sentence):
    spread = seed_spread([models[0], models[0]], **sentence)
    assert max(*spread.divergence, *spread.change) < 1e-6


def test_one_model_is_refused(models, sentence):
    with pytest.raises(ValueError, match=r"models has 1 of them; expected at least 2.*Fix: train"):
        seed_spread(models[:1], **sentence)


def test_a_model_without_attention_is_refused(models, sentence):
    plain = create_model("seq2seq_gru", vocab_source=13, vocab_target=11, units=7)
    with pytest.raises(ValueError, match="seq2seq_gru: the model has no attention"):
        seed_spread([models[0], plain], **sentence)
