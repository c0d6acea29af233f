"""Runs the exported files of a preset where TensorFlow is not installed."""

from importlib.util import find_spec

import numpy as np

from attention_zoo import preset_folder
from attention_zoo.export.runtime import LiteRTModel, OnnxModel

PRESET = "bahdanau_gru.copy"
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
