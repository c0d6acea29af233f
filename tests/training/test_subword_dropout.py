"""BPE-dropout against algorithm 1 of the paper, worked out exactly for single words."""

from collections import Counter

import numpy as np
import pytest
import sentencepiece

from attention_zoo.training import subword_dropout as subword_dropout_module
from attention_zoo.training.subword_dropout import SubwordDropout
from attention_zoo.training.tokenizer_training import train_tokenizer


@pytest.fixture(scope="module")
def texts(pairs):
    return [text for pair in pairs for text in (pair.source, pair.target)]


@pytest.fixture(scope="module")
def splits(tokenizers, texts):
    return SubwordDropout(tokenizers.source, texts)


def exact_splits(tokenizer, word, dropout):
    """{split: probability}: the best merge is made unless passed over, then the next best, ..."""
    processor = sentencepiece.SentencePieceProcessor(model_proto=tokenizer.content)

    def merges(split):
        """(score, place) of each merge that is possible, the best first."""
        joined = ["".join(split[i : i + 2]) for i in range(len(split) - 1)]
        ids = [processor.piece_to_id(piece) for piece in joined]
        possible = [i for i, number in enumerate(ids) if not processor.is_unknown(number)]
        return sorted(possible, key=lambda i: (-processor.get_score(ids[i]), i))

    def ends(split):
        chances = Counter()
        reached = 1.0
        for place in merges(split):
            merged = (*split[:place], "".join(split[place : place + 2]), *split[place + 2 :])
            for end, chance in ends(merged).items():
                chances[end] += reached * (1 - dropout) * chance
            reached *= dropout
        chances[split] += reached
        return chances

    return ends(tuple("▁" + word))


@pytest.mark.parametrize("word", ["there", "mange", "you"])
@pytest.mark.parametrize("dropout", [0.1, 0.5])
def test_splits_come_as_often_as_the_paper_says(tokenizers, word, dropout, monkeypatch):
    n = 20_000
    monkeypatch.setattr(subword_dropout_module, "DRAWS", n)
    tokenizer = tokenizers.source
    drawn = SubwordDropout(tokenizer, [word] * n).sample(dropout, np.random.default_rng(1))
    found = Counter(tuple(tokenizer.pieces(drawn.row(i).tolist()[:-1])) for i in range(n))
    expected = exact_splits(tokenizer, word, dropout)
    assert sum(expected.values()) == pytest.approx(1.0)
    assert len(expected) > 2
    assert set(found) <= set(expected)
    for split, chance in expected.items():
        # texts share draws: twice the variance of a count
        spread = np.sqrt(2 * chance * (1 - chance) / n)
        assert abs(found[split] / n - chance) < 5 * spread + 1e-4, split


def test_without_dropout_it_is_the_tokenizer_s_split(splits, tokenizers, texts):
    given = splits.sample(0.0, np.random.default_rng(0))
    expected = tokenizers.source.encode_batch(texts)
    assert [given.row(i).tolist() for i in range(len(texts))] == expected


def test_the_text_stays_the_same(splits, tokenizers, texts):
    tokenizer = tokenizers.source
    given = splits.sample(0.4, np.random.default_rng(0))
    assert len(given) == len(texts)
    for number, text in enumerate(texts):
        ids = given.row(number).tolist()
        assert tokenizer.decode(ids) == tokenizer.decode(tokenizer.encode(text))
        assert ids.count(2) == 1


def test_nearly_all_passed_over_leaves_characters(splits, texts):
    given = splits.sample(1 - 1e-12, np.random.default_rng(0))
    characters = sum(len(text) + 1 for text in texts)  # one space before each, eos not counted
    assert given.lengths.sum() - len(texts) >= characters


def test_the_same_seed_gives_the_same_and_another_one_another(splits):
    first, again, other = (splits.sample(0.2, np.random.default_rng(s)) for s in (3, 3, 4))
    np.testing.assert_array_equal(first.ids, again.ids)
    np.testing.assert_array_equal(first.lengths, again.lengths)
    assert first.ids.tolist() != other.ids.tolist()


def test_equal_words_do_not_all_split_alike(tokenizers):
    tokenizer = tokenizers.source
    given = SubwordDropout(tokenizer, ["there " * 50]).sample(0.5, np.random.default_rng(0))
    pieces = "".join(
        f"{piece} " if not piece.startswith("▁") else f"\n{piece} "
        for piece in tokenizer.pieces(given.row(0).tolist()[:-1])
    ).split("\n")[1:]
    assert len(pieces) == 50
    assert len(set(pieces)) > 3


@pytest.mark.parametrize("text", ["", "   ", "日本語 😀!", "a\x00b", "\ud800x", "▁▁ a▁b", "ﬁn  e"])
def test_odd_text_is_split_as_the_tokenizer_does(tokenizers, text):
    tokenizer = tokenizers.source
    splits = SubwordDropout(tokenizer, ["I am.", text, "Go!"])
    given = splits.sample(0.0, np.random.default_rng(0))
    assert given.row(1).tolist() == tokenizer.encode(text)
    drawn = splits.sample(0.5, np.random.default_rng(0))
    assert tokenizer.decode(drawn.row(1).tolist()) == tokenizer.decode(tokenizer.encode(text))


def test_a_tokenizer_of_another_kind_is_refused(texts, tmp_path):
    unigram = train_tokenizer(texts, tmp_path / "unigram.model", 380, model_type="unigram")
    with pytest.raises(ValueError, match=r"expected a tokenizer of byte-pair merges.*Fix: train"):
        SubwordDropout(unigram, texts)
