"""Runs the exported files of a preset where TensorFlow is not installed."""

from importlib.util import find_spec

import numpy as np

from attention_zoo import preset_folder
from attention_zoo.export.runtime import LiteRTModel, OnnxModel
from attention_zoo.export.translator import FILES, Translator

PRESET = "bahdanau_gru.copy"
TRANSLATES, TEXT = "bahdanau_gru.fr_en", "Il pleut."
SOURCE = np.array([[7, 4, 9, 11, 5, 2]], np.int32)

for heavy in ("tensorflow", "keras", "matplotlib", "click"):
    if find_spec(heavy):
        raise SystemExit(f"{heavy} is installed here, so this would prove nothing")

folder = preset_folder(PRESET)
for model in (OnnxModel(folder / "model.onnx"), LiteRTModel(folder / "model.tflite")):
    answer = model.predict(SOURCE)
    length = int(answer["lengths"][0])
    tokens = np.asarray(answer["tokens"])[0, :length]
    print(f"{type(model).__name__}: {tokens.tolist()}")
    if tokens.tolist() != SOURCE[0].tolist():
        raise SystemExit(f"{type(model).__name__} should copy {SOURCE[0].tolist()}")

for file in FILES:
    answers = Translator.from_preset(TRANSLATES, file).translate([TEXT, ""])
    print(f"{file}: {TEXT} -> {answers[0].text}")
    if not answers[0].text or answers[1].text:
        raise SystemExit(f"{file} should translate {TEXT!r}, and leave an empty text empty")
