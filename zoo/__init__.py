"""Recurrent encoder-decoder models with attention for Keras 3 that leave Python.

`import attention_zoo` imports neither TensorFlow nor Keras: each name below is imported when it is
first used.
"""

from typing import TYPE_CHECKING

from attention_zoo.lazy_package import lazy_package
from attention_zoo.registration import register_with_keras

if TYPE_CHECKING:  # what type checkers and editors see; at run time NAMES decides
    from attention_zoo.model_config import ModelConfig as ModelConfig
    from attention_zoo.presets import list_presets as list_presets
    from attention_zoo.presets import load_pretrained as load_pretrained
    from attention_zoo.presets import load_tokenizers as load_tokenizers
    from attention_zoo.presets import preset_folder as preset_folder
    from attention_zoo.registry import create_model as create_model
    from attention_zoo.registry import list_models as list_models
    from attention_zoo.seq2seq import Seq2Seq as Seq2Seq
    from attention_zoo.tokenizer import Tokenizer as Tokenizer
    from attention_zoo.tokenizer import TokenizerPair as TokenizerPair

NAMES = {
    "ModelConfig": "model_config",
    "Seq2Seq": "seq2seq",
    "Tokenizer": "tokenizer",
    "TokenizerPair": "tokenizer",
    "create_model": "registry",
    "list_models": "registry",
    "list_presets": "presets",
    "load_pretrained": "presets",
    "load_tokenizers": "presets",
    "preset_folder": "presets",
}

__getattr__, __dir__ = lazy_package(
    __name__, NAMES, ("explain", "export", "layers", "saved_models", "training")
)
__all__ = list(NAMES)

register_with_keras()
