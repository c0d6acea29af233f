"""What the contenders are asked."""

import numpy as np
import pytest
from inference_workload import (
    RANDOM_LENGTH,
    copy_workload,
    padded,
    random_workload,
    sentence_workload,
)

from attention_zoo.model_config import ModelConfig
from attention_zoo.vocabulary import EOS, PAD


@pytest.fixture
def sentences(pairs_file, tokenizers):
    return sentence_workload(pairs_file, tokenizers, n=23, batch_size=5)


def real(row):
    return row[row != PAD].tolist()


def test_sentences_are_those_of_the_file_from_short_to_long(sentences, tokenizers, pairs):
    sources = tokenizers.source.encode_batch(list(dict.fromkeys(pair.source for pair in pairs)))
    lengths = [single.shape[1] for single in sentences.singles]
    assert len(lengths) == 23
    assert lengths == sorted(lengths)
    assert (lengths[0], lengths[-1]) == (min(map(len, sources)), max(map(len, sources)))
    assert all(single[0].tolist() in sources for single in sentences.singles)


def test_batches_hold_sentences_of_like_length(sentences):
    assert [len(batch) for batch in sentences.batches] == [5, 5, 5, 5]
    rows = [real(row) for batch in sentences.batches for row in batch]
    assert rows == [single[0].tolist() for single in sentences.singles[:20]]
    widths = [batch.shape[1] for batch in sentences.batches]
    assert widths == [max(len(row) for row in rows[i : i + 5]) for i in range(0, 20, 5)]


def test_few_sentences_fill_a_batch_again_and_again(tmp_path, tokenizers):
    path = tmp_path / "three.txt"
    path.write_text("Merci.\n\nMerci.\nBonne nuit.\tGood night.\nBonsoir.\n", encoding="utf-8")
    work = sentence_workload(path, tokenizers, n=64, batch_size=7)
    assert len(work.singles) == 3
    (batch,) = work.batches
    singles = [single[0].tolist() for single in work.singles]
    assert [real(row) for row in batch] == [singles[i % 3] for i in range(7)]
    assert "3 sentences of three.txt" in work.described


def test_an_empty_file_is_refused(tmp_path, tokenizers):
    path = tmp_path / "empty.txt"
    path.write_text("\n \n")
    with pytest.raises(ValueError, match=r"empty\.txt: expected a sentence a line, got none"):
        sentence_workload(path, tokenizers, 3, 2)


@pytest.mark.parametrize("length", [1, 2, 1031])
def test_a_source_of_any_length_can_be_drawn(length, sentences):
    config = ModelConfig(vocab_source=23, vocab_target=23, max_length=13)
    for work in (sentences, random_workload(23, 3, 2), copy_workload(config, 7, 3)):
        source = work.draw(length)
        assert (source.shape, source.dtype) == ((1, length), np.int32)
        assert source[0, -1] == EOS
        assert not np.any(np.isin(source[0, :-1], (PAD, EOS)))


def test_random_sources_have_one_length_and_ids_of_the_vocabulary():
    work = random_workload(23, 4, 3)
    assert {single.shape for single in work.singles} == {(1, RANDOM_LENGTH)}
    assert max(single.max() for single in work.singles) < 23
    assert np.array_equal(random_workload(23, 4, 3).singles[3], work.singles[3])


def test_copies_are_no_longer_than_the_model_writes():
    config = ModelConfig(vocab_source=23, vocab_target=23, max_length=13)
    lengths = [single.shape[1] for single in copy_workload(config, 97, 3).singles]
    assert (min(lengths), max(lengths)) == (2, 13)


def test_rows_are_padded_to_the_longest():
    assert padded([[7, 2], [5, 6, 2]]).tolist() == [[7, 2, 0], [5, 6, 2]]
