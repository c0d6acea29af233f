"""Tokenizers trained on sentence pairs."""

import pytest

from attention_zoo import TokenizerPair
from attention_zoo.tokenizer import JOINT_FILE, SOURCE_FILE, TARGET_FILE, TokenizerError
from attention_zoo.training import SentencePair, train_tokenizers
from attention_zoo.training.tokenizer_training import train_tokenizer


@pytest.mark.parametrize("model_type", ["bpe", "unigram"])
def test_the_same_pairs_give_the_same_bytes(pairs, tmp_path, model_type):
    first, again = (
        train_tokenizers(pairs, tmp_path / name, 370, model_type=model_type) for name in "ab"
    )
    assert first.source.content == again.source.content
    assert first.source.vocab_size == 370
    assert (tmp_path / "a" / JOINT_FILE).read_bytes() == first.source.content


def test_joint_is_trained_on_both_sides(tmp_path):
    pairs = [SentencePair("zazou zazou", "lobby lobby")] * 3
    joint = train_tokenizers(pairs, tmp_path / "joint", 300, allow_smaller=True)
    assert joint.is_joint
    for text in ("zazou", "lobby"):
        assert joint.source.pieces(joint.source.encode(text)) == ["▁" + text, "</s>"]


def test_one_a_side_knows_its_side_only(tmp_path):
    pairs = [SentencePair("zazou zazou", "lobby lobby")] * 3
    two = train_tokenizers(pairs, tmp_path, 300, joint=False, allow_smaller=True)
    assert not two.is_joint
    assert two.source.pieces(two.source.encode("zazou")) == ["▁zazou", "</s>"]
    assert two.target.pieces(two.target.encode("lobby")) == ["▁lobby", "</s>"]
    assert len(two.target.encode("zazou")) > 5  # bytes
    assert sorted(path.name for path in tmp_path.iterdir()) == [SOURCE_FILE, TARGET_FILE]
    loaded = TokenizerPair.load(tmp_path)
    assert loaded.source.sha256 == two.source.sha256
    assert loaded.target.sha256 == two.target.sha256


def test_too_large_a_vocabulary_says_how_many_pieces_there_are(pairs, tmp_path):
    with pytest.raises(TokenizerError, match=r"vocab_size is 9000, but .*give at most \d+") as told:
        train_tokenizers(pairs, tmp_path, 9000)
    assert not list(tmp_path.iterdir())
    most = int(str(told.value).split("at most ")[1].split()[0])
    assert train_tokenizers(pairs, tmp_path, 9000, allow_smaller=True).source.vocab_size == most


def test_too_small_a_vocabulary_says_what_is_needed(pairs, tmp_path):
    with pytest.raises(TokenizerError, match=r"is 262, but .*characters alone are 3\d\d"):
        train_tokenizers(pairs, tmp_path, 262)


@pytest.mark.parametrize("sentences", [[], ["", "  "]])
def test_no_text_is_an_error(tmp_path, sentences):
    with pytest.raises(TokenizerError, match="sentences with some text"):
        train_tokenizer(sentences, tmp_path / "x.model", 300)


def test_an_unknown_type_is_an_error(tmp_path):
    with pytest.raises(TokenizerError, match=r"one of bpe, unigram, got 'word'"):
        train_tokenizer(["a"], tmp_path / "x.model", 300, model_type="word")


def test_a_very_long_sentence_is_learned_from(tmp_path):
    tokenizer = train_tokenizer(
        ["zazou " * 5000, "a b"], tmp_path / "x.model", 300, allow_smaller=True
    )
    assert tokenizer.pieces(tokenizer.encode("zazou")) == ["▁zazou", "</s>"]
