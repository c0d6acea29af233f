"""SavedModel, TFLite and ONNX files that leave Python, their validation, and their runtime."""

from attention_zoo.lazy_package import lazy_package

NAMES = {
    "LiteRTModel": "runtime",
    "OnnxModel": "runtime",
    "SavedModel": "runtime",
    "export_model": "exporter",
    "validate_directory": "exporter",
}

__getattr__, __dir__ = lazy_package(__name__, NAMES)
__all__ = list(NAMES)
