"""An exported translation model takes its tokenizers along."""

import shutil

import pytest

from attention_zoo import TokenizerPair, presets
from attention_zoo.commands.export import command
from attention_zoo.export import export_model, validate_directory
from attention_zoo.manifest import FileChangedError, ManifestError, read_manifest, sha256_of
from attention_zoo.presets import folder_tokenizers, load_folder, load_tokenizers
from attention_zoo.tokenizer import JOINT_FILE, SOURCE_FILE, TokenizerError


@pytest.fixture
def copied(translation_folder, tmp_path):
    """A copy of the exported folder, the test's own."""
    return shutil.copytree(translation_folder, tmp_path / "copied")


def test_the_tokenizer_is_recorded_and_loaded(translation_folder, tokenizers):
    entry = read_manifest(translation_folder).files[JOINT_FILE]
    assert entry.format == "tokenizer"
    assert entry.sha256 == sha256_of(translation_folder / JOINT_FILE) == tokenizers.source.sha256
    loaded = folder_tokenizers(translation_folder)
    assert loaded.is_joint
    assert loaded.source.encode("Je suis là.") == tokenizers.source.encode("Je suis là.")
    text = (translation_folder / "README.md").read_text()
    assert "attention-zoo translate --model" in text
    assert f"| `{JOINT_FILE}` | tokenizer |" in text


def test_parameters_are_counted(translation_folder, translation_model):
    counted = sum(weight.numpy().size for weight in translation_model.trainable_weights)
    assert read_manifest(translation_folder).parameters == counted
    assert (
        f"encoder-decoder of {counted:,} parameters"
        in (translation_folder / "README.md").read_text()
    )


def test_a_preset_gives_its_tokenizers(translation_folder, monkeypatch):
    monkeypatch.setattr(presets, "_root", lambda: translation_folder.parent)
    assert load_tokenizers("bahdanau_gru.fr_en").source.vocab_size == 400


@pytest.mark.parametrize("load", [load_folder, folder_tokenizers, validate_directory])
@pytest.mark.parametrize("how", ["cut in half", "changed", "missing"])
def test_a_changed_tokenizer_is_refused(copied, load, how):
    path = copied / JOINT_FILE
    content = path.read_bytes()
    path.unlink()
    if how != "missing":
        half = len(content) // 2
        path.write_bytes(content[:half] + (b"" if how == "cut in half" else content[half + 1 :]))
    with pytest.raises(FileChangedError, match=JOINT_FILE):
        load(copied)


def test_a_tokenizer_that_is_not_recorded_is_refused(copied, tmp_path):
    shutil.copy(copied / JOINT_FILE, copied / SOURCE_FILE)
    with pytest.raises(ManifestError, match=f"should name {SOURCE_FILE}"):
        validate_directory(copied)


def test_a_model_of_ids_has_none():
    with pytest.raises(TokenizerError, match="reads and writes ids"):
        load_tokenizers("seq2seq_gru.copy")


def test_tokenizers_of_another_size_are_refused(new_model, tokenizers, tmp_path):
    model = new_model("seq2seq_gru")
    with pytest.raises(ValueError, match="vocab_source is 23, but the source tokenizer has 400"):
        export_model(model, tmp_path / "out", tokenizers=tokenizers)
    assert list(tmp_path.iterdir()) == []


def test_the_command_takes_them_from_the_folder_of_a_run(
    translation_model, tokenizers, tmp_path, monkeypatch
):
    from click.testing import CliRunner

    from attention_zoo import export
    from attention_zoo.cli import Session

    run = tmp_path / "run"
    run.mkdir()
    translation_model.save(run / "model.keras")
    pair = TokenizerPair(tokenizers.source, tokenizers.source)
    pair.save(run)
    given = {}

    def record(model, output, **options):
        given.update(options)
        raise ValueError("enough")

    monkeypatch.setattr(export, "export_model", record, raising=False)
    arguments = [str(run), "-o", str(tmp_path / "out"), "--half"]
    result = CliRunner().invoke(command, arguments, obj=Session("attention-zoo export"))
    assert str(result.exception) == "enough"
    assert given["quantize"] == ("float16",)
    assert given["tokenizers"].source.sha256 == tokenizers.source.sha256
