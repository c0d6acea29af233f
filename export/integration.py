"""`INTEGRATION.md`: how an app calls the files of an exported folder, in its own language.

Names, axes, shapes and dtypes are those of the manifest, which come from the files.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from attention_zoo.export.answer_cost import LENGTH, REPEATS, AnswerCost, answer_cost, processor
from attention_zoo.export.host_signatures import HostSignatures
from attention_zoo.export.litert_calls import litert_calls
from attention_zoo.export.onnx_calls import onnx_calls, onnx_step_calls
from attention_zoo.export.runnable import (
    ONNX,
    ONNX_SPLIT,
    RUNNABLES,
    SAVED_MODEL,
    TFLITE,
    Runnable,
)
from attention_zoo.manifest import MANIFEST_FILE, Manifest
from attention_zoo.vocabulary import BOS, EOS, PAD, UNK

INTEGRATION_FILE = "INTEGRATION.md"

_LOOPS = {
    TFLITE: "LiteRT: the file's (`greedy`, `beam`), or yours (`encode`, `step`)",
    ONNX: "onnxruntime: the file's",
    ONNX_SPLIT: "onnxruntime: yours",
}
_FENCES = {"Kotlin": "kotlin", "Swift": "swift", "C++": "cpp", "JavaScript": "js"}


def write_integration(folder: str | Path, manifest: Manifest) -> Path | None:
    """Write `INTEGRATION.md` into `folder`; None if no file of it is for apps.

    Every file is opened once more, in a process of its own, and timed.

    Raises:
        FileLoadError: one does not answer in that process.
    """
    folder = Path(folder)
    sizes = manifest.config["vocab_source"], manifest.decoding["max_length"]
    costs = {one: answer_cost(one, folder, *sizes) for one in _for_apps(manifest)}
    if not costs:
        return None
    path = folder / INTEGRATION_FILE
    path.write_text(integration(manifest, costs), encoding="utf-8")
    return path


def integration(manifest: Manifest, costs: Mapping[Runnable, AnswerCost]) -> str:
    """The text: files, tensors, ids, the loop, calls in each language, and what they cost."""
    sections = [
        f"# {manifest.preset or manifest.model} in an app",
        f"Written by `attention-zoo export` for the files beside it. Names and shapes are those of "
        f"`{MANIFEST_FILE}`; `README.md` says what the model is and how well it does.",
        _files(manifest),
        _tensors(manifest),
        _ids(manifest),
        _loop(manifest),
        *_calls(manifest),
        _costs(manifest, costs),
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def _for_apps(manifest: Manifest) -> list[Runnable]:
    """What runs in an app and lies in the folder."""
    return [
        one
        for one in RUNNABLES
        if one.format != SAVED_MODEL and all(file in manifest.files for file in one.files)
    ]


def _files(manifest: Manifest) -> str:
    files = _for_apps(manifest)
    rows = [
        (
            _code(one.files),
            f"{sum(manifest.files[file].bytes for file in one.files):,}",
            _LOOPS[one.format],
        )
        for one in files
    ]
    parts = ["## Which file", _table(("file", "bytes", "runtime: the decode loop"), rows)]
    lines = ["All take ids and give ids: ship one."] if len(files) > 1 else []
    if any(one.format == TFLITE for one in files):
        lines.append("A TFLite file needs no more than LiteRT's built-in operators, no Flex.")
    if any(one.quantize for one in files):
        lines.append(
            "`int8` stores matrices in a quarter of the bytes; `README.md` says what that costs. "
            "In ONNX it needs an onnxruntime with its own operators (`com.microsoft`), as all "
            "published ones are."
        )
    return "\n\n".join([*parts, " ".join(lines)] if lines else parts)


def _tensors(manifest: Manifest) -> str:
    parts = [
        "## Inputs and outputs",
        f"`T_enc` is the number of ids of the source, `T_dec` = "
        f"{manifest.decoding['max_length']} the most tokens that are written. A size without a "
        "number is free in each call.",
    ]
    for files, signatures in _alike(manifest):
        found: dict[tuple[str, ...], list[str]] = {}
        for signature, tensors in signatures.items():
            for side in ("inputs", "outputs"):
                for tensor in tensors[side]:
                    row = f"`{tensor['name']}`", _shape(tensor), tensor["dtype"]
                    found.setdefault(row, []).append(f"{signature} {side[:-1]}")
        rows = [(*row, ", ".join(of)) for row, of in found.items()]
        parts += [f"{_code(files)}:", _table(("name", "shape", "dtype", "of"), rows)]
    formats = {one.format for one in _for_apps(manifest)}
    if formats & {TFLITE, ONNX}:
        parts.append(
            f"`tokens` end with eos and are {PAD} behind it; `lengths` count eos. `scores` are "
            "sums of log probabilities. `alignments` say how much each token attends to each "
            "id of the source. Beams come best first."
        )
    if ONNX in formats:
        parts.append(
            "An ONNX file has no signatures: ask for the outputs by name. What begins with `beam_` "
            "needs the input `beam` set to true; without it only `source` is given."
        )
    return "\n\n".join(parts)


def _ids(manifest: Manifest) -> str:
    source, target = manifest.config["vocab_source"], manifest.config["vocab_target"]
    lines = [
        f"pad is {PAD}, bos {BOS}, eos {EOS}, unk {UNK}.",
        *_tokenizing(manifest),
        f"Ids of the source are 0 to {source - 1}, those that are written 0 to {target - 1}. The "
        "files do not check them: an id beyond reads other memory or gives zeros. A source has at "
        "least one id.",
    ]
    formats = {one.format for one in _for_apps(manifest)}
    if formats & {ONNX, ONNX_SPLIT}:
        lines.append(
            f"Pad a shorter row of a batch with {PAD} behind its eos: padding is attended to with "
            "weight 0. Threads may share a session of onnxruntime."
        )
    if TFLITE in formats:
        lines.append("An interpreter of LiteRT takes one row, and one thread, at a time.")
    return "## Ids\n\n" + "\n".join(f"- {line}" for line in lines)


def _tokenizing(manifest: Manifest) -> list[str]:
    """How text becomes ids and ids text, where the model has tokenizers."""
    files = [name for name, entry in manifest.files.items() if entry.format == "tokenizer"]
    if not files:
        return [
            f"There is no text: ids are the task's own symbols. End a source with eos ({EOS}).",
        ]
    source, target = min(files), max(files)  # tokenizer.source.model and tokenizer.target.model
    return [
        f"Text to ids: load `{source}` with SentencePiece (C++, Java or Swift bindings), encode, "
        f"append eos ({EOS}), no bos. At most {manifest.decoding['max_length']} ids: cut longer "
        "text at the ends of sentences.",
        f"Ids to text: decode the ids before eos with `{target}`.",
    ]


def _loop(manifest: Manifest) -> str:
    steppers = [one for one in _for_apps(manifest) if one.steps and one.quantize is None]
    if not steppers:
        return ""
    lines = [
        "encoded = encode(source)",
        f"token = {BOS}",
        f"at most {manifest.decoding['max_length']} times, until token is {EOS}:",
        "    answer = step(tokens = token, and all of encoded)",
        f"    token = the id with the largest of answer.logits, {PAD} and {BOS} left out",
        "    the states of encoded = the states of answer",
    ]
    parts = ["## A loop of your own", _fenced("text", "\n".join(lines))]
    for one in steppers:
        signatures = _signatures(manifest, one)
        parts.append(
            f"Of {_code(one.files)}, the states of encoded are {_code(signatures.states)}, those "
            f"of answer {_code(signatures.next_states)}; {_code(signatures.kept)} stay as they are."
        )
    parts.append(
        "`attention_zoo/export/step_loop.py` is this loop in NumPy, for batches; every export "
        "holds it against the loop in Keras."
    )
    return "\n\n".join(parts)


def _calls(manifest: Manifest) -> list[str]:
    steps = manifest.decoding["max_length"]
    untried = all(one.format == TFLITE for one in _for_apps(manifest))
    sections = [
        "The code below is made for these files. "
        + ("It follows" if untried else "Tests run the JavaScript; the rest follows")
        + " the interfaces as they are documented, and was not compiled."
    ]
    for one in _for_apps(manifest):
        if one.quantize is not None:
            continue
        if one.format == ONNX:
            calls = onnx_calls(one.files[0], steps)
        elif one.format == TFLITE:
            calls = litert_calls(one.files[0], _signatures(manifest, one), steps)
        else:
            encoder, step = one.files
            calls = onnx_step_calls(encoder, step, _signatures(manifest, one), steps)
        for language, text in calls.items():
            fenced = _fenced(_FENCES[language], text)
            sections.append(f"## {language}: {_code(one.files)}\n\n{fenced}")
    return sections


def _costs(manifest: Manifest, costs: Mapping[Runnable, AnswerCost]) -> str:
    rows = [
        (
            _code(one.files),
            _megabytes(cost.peak),
            _megabytes(cost.library),
            f"{cost.milliseconds:.2f}",
            f"{cost.cpu_milliseconds:.2f}",
            str(cost.tokens),
        )
        for one, cost in costs.items()
    ]
    head = ("file", "peak MB", "before it was opened", "ms", "CPU ms", "tokens written")
    names = (name for name in ("onnxruntime", "ai-edge-litert") if name in manifest.versions)
    versions = "".join(f"; {name} {manifest.versions[name]}" for name in names)
    return (
        f"## Measured at export\n\n{_table(head, rows)}\n\n"
        f"On the machine that exported: {processor()}{versions}. A fresh Python process, one "
        f"thread, one source of {LENGTH} ids, greedy: memory resident at most until the first "
        f"answer, and of {REPEATS} later ones the median time and the mean time of the processor; "
        "where these differ, the machine was busy with other things. A phone is another machine: "
        "measure there."
    )


def _alike(manifest: Manifest) -> list[tuple[list[str], Mapping[str, Any]]]:
    """Files with the same signatures, together."""
    found: list[tuple[list[str], Mapping[str, Any]]] = []
    for one in _for_apps(manifest):
        for file in one.files:
            signatures = manifest.files[file].signatures
            for files, known in found:
                if known == signatures:
                    files.append(file)
                    break
            else:
                found.append(([file], signatures))
    return found


def _signatures(manifest: Manifest, one: Runnable) -> HostSignatures:
    return HostSignatures(manifest.files[file] for file in one.files)


def _shape(tensor: Mapping[str, Any]) -> str:
    sizes = zip(tensor["axes"], tensor["shape"], strict=True)
    return "(" + ", ".join(a if size == -1 else f"{a} = {size}" for a, size in sizes) + ")"


def _megabytes(size: int | None) -> str:
    return "not known" if size is None else f"{size / 1e6:.0f}"


def _fenced(language: str, text: str) -> str:
    return f"```{language}\n{text}\n```"


def _code(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    head = tuple(head)
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
