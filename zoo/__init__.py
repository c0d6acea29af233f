"""Recurrent encoder-decoder models with attention for Keras 3 that leave Python.

`import attention_zoo` imports neither TensorFlow nor Keras: each name below is imported when it is
first used.
"""

from attention_zoo.lazy_package import lazy_package
from attention_zoo.registration import register_with_keras

NAMES = {
    "ModelConfig": "model_config",
    "Seq2Seq": "seq2seq",
    "create_model": "registry",
    "list_models": "registry",
    "list_presets": "presets",
    "load_pretrained": "presets",
    "preset_folder": "presets",
}

__getattr__, __dir__ = lazy_package(
    __name__, NAMES, ("export", "layers", "saved_models", "training")
)
__all__ = list(NAMES)

register_with_keras()
