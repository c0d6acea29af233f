"""SavedModel, TFLite and ONNX files that leave Python, their validation, and their runtime."""

from typing import TYPE_CHECKING

from attention_zoo.lazy_package import lazy_package

if TYPE_CHECKING:  # what type checkers and editors see; at run time NAMES decides
    from attention_zoo.export.exporter import export_model as export_model
    from attention_zoo.export.exporter import validate_directory as validate_directory
    from attention_zoo.export.runtime import LiteRTModel as LiteRTModel
    from attention_zoo.export.runtime import OnnxModel as OnnxModel
    from attention_zoo.export.runtime import SavedModel as SavedModel

NAMES = {
    "LiteRTModel": "runtime",
    "OnnxModel": "runtime",
    "SavedModel": "runtime",
    "export_model": "exporter",
    "validate_directory": "exporter",
}

__getattr__, __dir__ = lazy_package(__name__, NAMES)
__all__ = list(NAMES)
