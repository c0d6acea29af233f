"""The model card (README.md) of an exported folder, made from its manifest alone."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from attention_zoo.manifest import CARD_FILE, MANIFEST_FILE, Manifest

_USE = {
    "onnx": ("onnxruntime, no TensorFlow", "OnnxModel"),
    "tflite": ("ai-edge-litert, no TensorFlow", "LiteRTModel"),
    "savedmodel": ("TensorFlow", "SavedModel"),
}
_SPLIT_USE = """Where the host drives the loop (`{files}`):

```python
from attention_zoo.export.runtime import SplitOnnxModel
from attention_zoo.export.step_loop import step_loop

outputs = step_loop(SplitOnnxModel("{title}"), [[5, 9, 4, 2]], max_length={steps})
```"""

_EXAMPLES, _LIMITS = "examples", "limits"

_TEXT_USE = """```console
$ attention-zoo translate --model {title} "a sentence"
```

```python
from attention_zoo.export import Translator

for answer in Translator.from_preset("{title}").translate(["a sentence", "another"]):
    print(answer.text, answer.score)
```"""


def write_card(folder: str | Path, manifest: Manifest) -> Path:
    """Write `README.md` into `folder`, and return its path."""
    path = Path(folder) / CARD_FILE
    path.write_text(card(manifest), encoding="utf-8")
    return path


def card(manifest: Manifest) -> str:
    """The text of the card: what it is, how it is used, what was measured, where it comes from."""
    title = manifest.preset or manifest.model
    size = "" if manifest.parameters is None else f" of {manifest.parameters:,} parameters"
    sections = [
        f"# {title}",
        f"A `{manifest.model}` encoder-decoder{size}, exported by attention-zoo. Everything below "
        f"is taken from `{MANIFEST_FILE}`.",
        _files(manifest),
        _usage(manifest, title),
        _signatures(manifest),
        _parity(manifest),
        _quantised(manifest),
        _section("Metrics", manifest.metrics),
        _section("Training data", manifest.data),
        _examples(manifest),
        _limits(manifest),
        _section("Training", _rest_of_training(manifest)),
        _section("Model", manifest.config),
        _section("Decoding (fixed in the files)", manifest.decoding),
        _origin(manifest),
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def _files(manifest: Manifest) -> str:
    rows = [
        (f"`{name}`", entry.format, f"{entry.bytes:,}", f"`{entry.sha256[:12]}`")
        for name, entry in manifest.files.items()
    ]
    table = _table(("file", "format", "bytes", "sha256 begins"), rows)
    if manifest.storage == "float16":
        table += (
            "\n\nThe weights were rounded to float16 and are stored so. All computing with them is "
            "in float32."
        )
    if _int8_files(manifest):
        table += (
            "\n\nFiles with `int8` in their name store matrices in int8, with a scale for each "
            "row; biases and what is computed are float32."
        )
    return f"## Files\n\n{table}"


def _usage(manifest: Manifest, title: str) -> str:
    formats = {entry.format for entry in manifest.files.values()}
    lines = []
    for format, (needs, name) in _USE.items():
        if format in formats:
            lines.append(f"from attention_zoo.export.runtime import {name}  # needs {needs}")
            lines.append(f'outputs = {name}("{title}").predict([[5, 9, 4, 2]])')
    split = [name for name, one in manifest.files.items() if one.format == "onnx-split"]
    if not lines and not split:
        return ""
    code = "\n".join(lines)
    parts = [
        f"```python\n{code}\n```\n\n`outputs` holds `tokens`, `lengths`, `scores` and "
        "`alignments`; `beam_search` in place of `predict` gives the best sequences of a beam."
    ]
    if split:
        steps = manifest.decoding.get("max_length")
        use = _SPLIT_USE.format(files=", ".join(split), title=title, steps=steps)
        parts = [*(parts if lines else []), use]
    if _int8_files(manifest):
        parts.append('`variant="int8"` beside the name takes the files with int8 weights.')
    if formats & {"tflite", "onnx", "onnx-split"}:
        parts.append("`INTEGRATION.md` has the calls in Kotlin, Swift, C++ and JavaScript.")
    ids = "\n\n".join(parts)
    if "tokenizer" in formats and formats & {"onnx", "tflite"}:
        return f"## Use\n\n{_TEXT_USE.format(title=title)}\n\nWith ids in place of text:\n\n{ids}"
    return f"## Use\n\n{ids}"


def _signatures(manifest: Manifest) -> str:
    rows = []
    for file, entry in manifest.files.items():
        for signature, tensors in entry.signatures.items():
            for side in ("inputs", "outputs"):
                for tensor in tensors[side]:
                    axes = ", ".join(
                        axis if size == -1 else f"{axis} = {size}"
                        for axis, size in zip(tensor["axes"], tensor["shape"], strict=True)
                    )
                    rows.append(
                        (f"`{file}`", signature, side[:-1], tensor["name"], axes, tensor["dtype"])
                    )
    if not rows:
        return ""
    head = ("file", "signature", "side", "name", "axes", "dtype")
    return "## Inputs and outputs\n\n" + _table(head, rows)


def _parity(manifest: Manifest) -> str:
    rows = []
    for file, signatures in manifest.parity.get("files", {}).items():
        for signature, seen in signatures.items():
            largest = seen["largest_difference"]
            rows.append(
                (
                    f"`{file}`",
                    signature,
                    str(seen["rows"]),
                    "yes" if seen["tokens_equal"] else f"{len(seen['near_ties'])} near-ties",
                    *(f"{largest.get(name, 0.0):.2g}" for name in ("scores", "alignments")),
                )
            )
    if not rows:
        return ""
    head = ("file", "signature", "rows", "tokens equal", "scores differ by", "alignments differ by")
    tried = "; ".join(case["name"] for case in manifest.parity["cases"])
    eos = "; ".join(f"{kind}: {how}" for kind, how in manifest.parity["eos"].items())
    return (
        "## Compared with Keras when it was exported\n\n"
        + _table(head, rows)
        + f"\n\nCases (batch x T_enc): {tried}. {eos}."
    )


def _quantised(manifest: Manifest) -> str:
    """What int8 and float16 cost: by the gate on an evaluation set, and on the cases above."""
    if manifest.gate is None and not _int8_files(manifest):
        return ""
    lost = (
        "No evaluation set was given when these files were made: what their quantisation loses is "
        "not known."
        if manifest.gate is None
        else _gate(manifest.gate)
    )
    rows = [
        (f"`{file}`", signature, str(seen["rows"]), f"{seen['tokens_equal']:.2%}")
        for file, signatures in manifest.parity.get("quantised", {}).items()
        for signature, seen in signatures.items()
    ]
    parts = ["## What quantisation costs", lost]
    if rows:
        parts.append("On the random sources that the other files are compared on:")
        parts.append(_table(("file", "signature", "rows", "tokens equal"), rows))
    return "\n\n".join(parts)


def _gate(gate: Mapping[str, Any]) -> str:
    rows = [("the model in Keras", "", f"{gate['keras']:.2f}", "")]
    for name, found in gate["files"].items():
        figures = f"{found['tokens_equal']:.2%}", f"{found['score']:.2f}", f"{found['lost']:.2f}"
        rows.append((f"`{name}`", *figures))
    allowed = ", and more was allowed" if gate.get("allow_loss") else ""
    return (
        _table(("file", "tokens equal", gate["measure"], "lost"), rows)
        + f"\n\nGreedy decoding of {gate['sequences']:,} sequences of {gate['data']}; "
        f"{gate['limit']:g} may be lost{allowed}."
    )


def _int8_files(manifest: Manifest) -> list[str]:
    return [name for name, one in manifest.files.items() if one.details.get("quantize") == "int8"]


def _examples(manifest: Manifest) -> str:
    """Translations as a table, from `examples` of the training record: a list of like objects."""
    rows = manifest.training.get(_EXAMPLES)
    if not rows:
        return ""
    return "## Examples\n\n" + _table(rows[0], [map(str, row.values()) for row in rows])


def _limits(manifest: Manifest) -> str:
    """What a translation model does not do, and `limits` of the training record: a list of text."""
    lines = list(manifest.training.get(_LIMITS, ()))
    if any(entry.format == "tokenizer" for entry in manifest.files.values()):
        steps = manifest.decoding.get("max_length")
        lines = [
            f"Reads and writes {steps} pieces at most. `attention-zoo translate` and `Translator` "
            "cut a longer text at the ends of its sentences and translate each part by itself.",
            "Has seen the kind of text named under training data and nothing else. Other text, "
            "other languages and rare names come out wrong, and nothing says so but a low score.",
            *lines,
        ]
    return "## Limits\n\n" + "\n".join(f"- {line}" for line in lines) if lines else ""


def _rest_of_training(manifest: Manifest) -> dict[str, Any]:
    own = (_EXAMPLES, _LIMITS)
    return {name: value for name, value in manifest.training.items() if name not in own}


def _origin(manifest: Manifest) -> str:
    content: dict[str, Any] = {
        "created": manifest.created,
        "command": manifest.command,
        "seed": manifest.seed,
        **manifest.versions,
    }
    return _section("Origin", {name: value for name, value in content.items() if value is not None})


def _section(title: str, content: Mapping[str, Any]) -> str:
    if not content:
        return ""
    flat = [
        (name, str(value)) for name, value in content.items() if not isinstance(value, (dict, list))
    ]
    parts = [f"## {title}", *([_table(("", ""), flat)] if flat else [])]
    parts += [
        _nested(name, value) for name, value in content.items() if isinstance(value, (dict, list))
    ]
    return "\n\n".join(parts)


def _nested(name: str, value: Any) -> str:
    """A table where every entry has the same fields, otherwise JSON."""
    rows = list(value.values()) if isinstance(value, dict) else value
    heads = {tuple(row) if isinstance(row, dict) else None for row in rows}
    if len(heads) == 1 and None not in heads:
        cells = [tuple(map(str, row.values())) for row in rows]
        if isinstance(value, dict):
            return _table(
                (name, *rows[0]), [(key, *row) for key, row in zip(value, cells, strict=True)]
            )
        return f"{name}:\n\n{_table(rows[0], cells)}"
    return f"{name}:\n\n```json\n{json.dumps(value, indent=1)}\n```"


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    head = tuple(head)
    lines = [head, ("---",) * len(head), *rows]
    # a bar inside a cell would end it, a line break the row
    cells = [[cell.replace("|", "\\|").replace("\n", " ") for cell in line] for line in lines]
    return "\n".join("| " + " | ".join(line) + " |" for line in cells)
