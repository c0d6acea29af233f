"""Tables of the presets in Markdown, from their manifests alone; the README shows them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from attention_zoo.manifest import Manifest

# (format, quantisation) of a file -> its name in the table
_FILES: dict[tuple[str, str | None], str] = {
    ("keras", None): "Keras",
    ("onnx", None): "ONNX",
    ("onnx", "int8"): "ONNX int8",
    ("tflite", None): "TFLite",
    ("tflite", "int8"): "TFLite int8",
    ("savedmodel", None): "SavedModel",
}
_NONE = ""


def preset_tables(manifests: Mapping[str, Manifest]) -> str:
    """What is known of presets: one table of all, and what each task's metrics are beside it.

    Args:
        manifests: name of a preset -> its manifest.
    """
    translating = {name: one for name, one in manifests.items() if "bleu" in one.metrics}
    counting = {name: one for name, one in manifests.items() if _accuracies(one)}
    parts = [_overview(manifests)]
    if translating:
        parts += [_signatures(translating.values()), _bleu_by_length(translating)]
    if counting:
        parts.append(_accuracy_by_length(counting))
    return "\n\n".join(part for part in parts if part) + "\n"


def _overview(manifests: Mapping[str, Manifest]) -> str:
    head = ["preset", "parameters", "task", "BLEU", "chrF"]
    head += [f"{name} bytes" for name in _FILES.values()]
    rows = []
    for name, manifest in manifests.items():
        metrics = manifest.metrics
        scores = [_number(metrics.get(score), ".1f") for score in ("bleu", "chrf")]
        sizes = [_number(manifest.bytes_of(*file) or None, ",") for file in _FILES]
        parameters = _number(manifest.parameters, ",")
        rows.append([f"`{name}`", parameters, _task(manifest), *scores, *sizes])
    return _table(head, rows, words=("preset", "task"))


def _task(manifest: Manifest) -> str:
    task = str(manifest.training.get("task", _NONE))
    languages = [manifest.data.get(f"{side}_language") for side in ("source", "target")]
    if all(languages):
        return f"{task}, {languages[0]} to {languages[1]}"
    return task


def _signatures(manifests: Iterable[Manifest]) -> str:
    """How BLEU and chrF were computed, each way once."""
    lines: dict[str, None] = {}
    for manifest in manifests:
        decoding = manifest.metrics.get("decoding")
        for score, name in (("bleu", "BLEU"), ("chrf", "chrF")):
            signature = manifest.metrics.get(f"{score}_signature")
            if signature:
                lines[f"{name}: `{signature}`" + (f", {decoding}" if decoding else "")] = None
    return "\n".join(f"- {line}" for line in lines)


def _bleu_by_length(manifests: Mapping[str, Manifest]) -> str:
    bands = _keys(manifest.metrics.get("by_length", {}) for manifest in manifests.values())
    if not bands:
        return ""
    rows = []
    for name, manifest in manifests.items():
        scores = manifest.metrics.get("by_length", {})
        cells = [_number(scores.get(band, {}).get("bleu"), ".1f") for band in bands]
        rows.append([f"`{name}`", *cells])
    title = "BLEU by the words of the source:"
    return f"{title}\n\n" + _table(["preset", *bands], rows)


def _accuracy_by_length(manifests: Mapping[str, Manifest]) -> str:
    lengths = _keys(_accuracies(manifest) for manifest in manifests.values())
    rows = []
    for name, manifest in manifests.items():
        accuracies = _accuracies(manifest)
        rows.append([f"`{name}`", *(_number(accuracies.get(length), ".4f") for length in lengths)])
    title = "Share of symbols right at their position, by the length of the source:"
    return f"{title}\n\n" + _table(["preset", *lengths], rows)


def _accuracies(manifest: Manifest) -> dict[str, Any]:
    """length -> token accuracy; none where another task was learned."""
    by_length = manifest.metrics.get("by_length", {})
    return {
        length: entry["token"]
        for length, entry in by_length.items()
        if isinstance(entry, dict) and "token" in entry
    }


def _keys(mappings: Iterable[Mapping[str, Any]]) -> list[str]:
    """All keys, each once, in the order in which they come."""
    return list(dict.fromkeys(key for mapping in mappings for key in mapping))


def _number(value: Any, how: str) -> str:
    return _NONE if value is None else format(value, how)


def _table(
    head: Sequence[str], rows: Iterable[Sequence[str]], words: tuple[str, ...] = ("preset",)
) -> str:
    rule = ["---" if name in words else "--:" for name in head]
    lines = [head, rule, *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
