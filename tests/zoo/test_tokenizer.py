"""Text to ids and back."""

import hashlib
import io

import numpy as np
import pytest
import sentencepiece

from attention_zoo import Tokenizer, TokenizerPair
from attention_zoo.tokenizer import JOINT_FILE, SOURCE_FILE, TARGET_FILE, TokenizerError
from attention_zoo.vocabulary import BOS, EOS, PAD, UNK


@pytest.fixture(scope="module")
def tokenizer(tokenizers):
    return tokenizers.source


@pytest.fixture(scope="module")
def other(pairs):
    """A tokenizer of another vocabulary."""
    return Tokenizer(trained([pair.target for pair in pairs], vocab_size=350))


def trained(sentences, vocab_size, **options):
    options = {"pad_id": PAD, "bos_id": BOS, "eos_id": EOS, "unk_id": UNK, **options}
    written = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(sentences),
        model_writer=written,
        vocab_size=vocab_size,
        model_type="bpe",
        byte_fallback=True,
        minloglevel=3,
        **options,
    )
    return written.getvalue()


def test_ids_are_pieces_and_then_eos(tokenizer):
    ids = tokenizer.encode("Je ne suis pas fatigué.")
    assert ids[-1] == EOS
    assert not {PAD, BOS, EOS, UNK} & {*ids[:-1]}
    assert "".join(tokenizer.pieces(ids[:-1])).replace("▁", " ") == " Je ne suis pas fatigué."
    assert tokenizer.pieces([PAD, BOS, EOS, UNK]) == ["<pad>", "<s>", "</s>", "<unk>"]


def test_a_batch_is_its_texts_one_by_one(tokenizer, pairs):
    texts = [pair.source for pair in pairs]
    assert tokenizer.encode_batch(texts) == [tokenizer.encode(text) for text in texts]


def test_text_comes_back(tokenizer, pairs):
    for pair in pairs:
        assert tokenizer.decode(tokenizer.encode(pair.source)) == pair.source


@pytest.mark.parametrize(
    "text",
    [
        "Привет, мир",
        "日本語のテキスト",
        "مرحبا",
        "🤷🏽‍♀️ 😀",
        "a\0b",
        "<s> </s> <pad> <unk>",
        "x" * 5000,
        "\u2028",
        "e\u0301",
    ],
)
def test_no_text_is_unknown_or_has_special_ids(tokenizer, text):
    ids = tokenizer.encode(text)
    assert ids[-1] == EOS
    assert not {PAD, BOS, EOS, UNK} & {*ids[:-1]}
    assert tokenizer.decode(ids) == {"\u2028": "", "e\u0301": "é"}.get(text, text)


def test_white_space_and_width_are_normalised(tokenizer):
    expected = tokenizer.encode("Il pleut.")
    for text in ("Il  pleut.", " Il pleut. ", "Il\tpleut.\r\n", "Il\u00a0pleut.", "Ｉl pleut．"):
        assert tokenizer.encode(text) == expected


@pytest.mark.parametrize("text", ["", " ", "\r\n", "\u3000"])
def test_blank_text_is_eos_alone(tokenizer, text):
    assert tokenizer.encode(text) == [EOS]
    assert tokenizer.decode([EOS]) == ""


def test_half_a_surrogate_is_a_question_mark(tokenizer):
    assert tokenizer.encode("Il\ud83d pleut.") == tokenizer.encode("Il? pleut.")


def test_decoding_ends_at_eos_and_passes_over_padding_and_bos(tokenizer):
    ids = tokenizer.encode("Il pleut.")
    behind = tokenizer.encode("La mer.")
    assert tokenizer.decode([BOS, PAD, *ids, *behind]) == "Il pleut."
    assert tokenizer.decode(np.array([*ids, PAD, PAD], np.int32)) == "Il pleut."


def test_half_a_character_decodes_to_a_replacement(tokenizer):
    emoji = tokenizer.encode("😀")
    assert tokenizer.pieces(emoji)[-2] == "<0x80>"
    assert "\ufffd" in tokenizer.decode(emoji[:-2])


@pytest.mark.parametrize("number", [-1, 400])
@pytest.mark.parametrize("method", ["decode", "pieces"])
def test_an_id_outside_the_vocabulary_is_an_error(tokenizer, method, number):
    assert tokenizer.vocab_size == 400
    with pytest.raises(TokenizerError, match=rf"ids must be 0 to 399, got {number}\."):
        getattr(tokenizer, method)([5, number])


def test_a_saved_file_is_the_same_bytes(tokenizer, tmp_path):
    tokenizer.save(tmp_path / "copy.model")
    again = Tokenizer.from_file(tmp_path / "copy.model")
    assert again.content == tokenizer.content
    assert again.path == tmp_path / "copy.model"
    assert again.sha256 == hashlib.sha256((tmp_path / "copy.model").read_bytes()).hexdigest()


def piece_ends(content):
    """Where each piece of a model ends: a cut there leaves a message that parses."""
    at, ends = 0, []
    while content[at] == 0x0A:  # field 1, and no piece is as long as 128 bytes
        at += 2 + content[at + 1]
        ends.append(at)
    return ends


def test_a_file_cut_anywhere_is_an_error_that_names_it(tokenizer, tmp_path):
    content = tokenizer.content
    ends = piece_ends(content)
    assert len(ends) == 400
    path = tmp_path / "half.model"
    for size in (0, 1, 10, len(content) // 2, len(content) - 1, ends[5], ends[300], ends[399]):
        path.write_bytes(content[:size])
        with pytest.raises(TokenizerError, match=rf"half\.model: .*got {size} bytes that are none"):
            Tokenizer.from_file(path)


@pytest.mark.parametrize("content", [b"hello " * 99, b"\xff" * 99, b"PK\x03\x04" + bytes(99)])
def test_another_kind_of_file_is_an_error(tmp_path, content):
    (tmp_path / "other.model").write_bytes(content)
    with pytest.raises(TokenizerError, match=r"other\.model: expected a whole SentencePiece"):
        Tokenizer.from_file(tmp_path / "other.model")


def test_a_missing_file_and_a_folder_are_errors(tmp_path):
    with pytest.raises(TokenizerError, match=r"none\.model: .*No such file"):
        Tokenizer.from_file(tmp_path / "none.model")
    with pytest.raises(TokenizerError, match=r"Is a directory"):
        Tokenizer.from_file(tmp_path)


def test_other_special_ids_are_an_error(pairs):
    content = trained([pair.source for pair in pairs], 350, pad_id=-1, unk_id=0, bos_id=1, eos_id=2)
    with pytest.raises(TokenizerError, match=r"expected the ids .*got .*'pad': -1.*pad_id=0"):
        Tokenizer(content)


def test_a_joint_pair_is_one_file_and_one_object(tokenizers, tmp_path):
    assert tokenizers.is_joint
    assert tokenizers.save(tmp_path / "new") == [tmp_path / "new" / JOINT_FILE]
    again = TokenizerPair.load(tmp_path / "new")
    assert again.is_joint
    assert again.source is again.target
    assert again.source.sha256 == tokenizers.source.sha256


def test_two_sides_are_two_files(tokenizer, other, tmp_path):
    pair = TokenizerPair(tokenizer, other)
    assert not pair.is_joint
    pair.save(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [SOURCE_FILE, TARGET_FILE]
    again = TokenizerPair.load(tmp_path)
    assert (again.source.vocab_size, again.target.vocab_size) == (400, 350)
    assert not again.is_joint


def test_saving_leaves_no_file_of_the_other_kind(tokenizers, other, tmp_path):
    TokenizerPair(other, tokenizers.source).save(tmp_path)
    tokenizers.save(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [JOINT_FILE]
    TokenizerPair(other, tokenizers.source).save(tmp_path)
    assert not TokenizerPair.load(tmp_path).is_joint


def test_a_folder_without_tokenizers_or_with_one_side_is_an_error(tokenizer, tmp_path):
    with pytest.raises(TokenizerError, match=r"expected tokenizer\.model, or .* got neither"):
        TokenizerPair.load(tmp_path)
    tokenizer.save(tmp_path / SOURCE_FILE)
    with pytest.raises(TokenizerError, match=r"tokenizer\.target\.model: .*No such file"):
        TokenizerPair.load(tmp_path)


def test_the_tokenizer_needs_no_tensorflow(run_python):
    done = run_python(
        "import sys; from attention_zoo import Tokenizer; "
        "assert not {'tensorflow', 'keras'} & {*sys.modules}; print(Tokenizer.__name__)"
    )
    assert done.stdout.strip() == "Tokenizer", done.stderr
