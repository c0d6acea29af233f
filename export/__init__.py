"""SavedModel, TFLite and ONNX files that leave Python, their validation, and their runtime."""

from typing import TYPE_CHECKING

from attention_zoo.lazy_package import lazy_package

if TYPE_CHECKING:  # what type checkers and editors see; at run time NAMES decides
    from attention_zoo.export.errors import ConversionError as ConversionError
    from attention_zoo.export.errors import ExportError as ExportError
    from attention_zoo.export.errors import FileLoadError as FileLoadError
    from attention_zoo.export.errors import ParityError as ParityError
    from attention_zoo.export.errors import QualityError as QualityError
    from attention_zoo.export.errors import UnsupportedOpsError as UnsupportedOpsError
    from attention_zoo.export.exporter import export_model as export_model
    from attention_zoo.export.exporter import validate_directory as validate_directory
    from attention_zoo.export.quality_gate import QualityGate as QualityGate
    from attention_zoo.export.runtime import LiteRTModel as LiteRTModel
    from attention_zoo.export.runtime import OnnxModel as OnnxModel
    from attention_zoo.export.runtime import SavedModel as SavedModel
    from attention_zoo.export.runtime import SplitOnnxModel as SplitOnnxModel
    from attention_zoo.export.timing import time_predict as time_predict
    from attention_zoo.export.translation import Translation as Translation
    from attention_zoo.export.translator import Translator as Translator
    from attention_zoo.export.validation import Report as Report

NAMES = {
    "ConversionError": "errors",
    "ExportError": "errors",
    "FileLoadError": "errors",
    "LiteRTModel": "runtime",
    "OnnxModel": "runtime",
    "ParityError": "errors",
    "QualityError": "errors",
    "QualityGate": "quality_gate",
    "Report": "validation",
    "SavedModel": "runtime",
    "SplitOnnxModel": "runtime",
    "Translation": "translation",
    "Translator": "translator",
    "UnsupportedOpsError": "errors",
    "export_model": "exporter",
    "time_predict": "timing",
    "validate_directory": "exporter",
}

__getattr__, __dir__ = lazy_package(__name__, NAMES)
__all__ = list(NAMES)
