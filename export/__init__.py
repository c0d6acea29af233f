"""SavedModel, TFLite and ONNX files that leave Python, their validation, and their runtime."""

from attention_zoo.lazy_package import lazy_package

NAMES: dict[str, str] = {}

__getattr__, __dir__ = lazy_package(__name__, NAMES)
__all__ = list(NAMES)
