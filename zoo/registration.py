"""Makes the zoo's classes known to Keras, so that `load_model` needs no `custom_objects`.

Keras finds a class of another package only after the module that defines it has been imported, and
`import attention_zoo` imports nothing heavy. So the modules are imported together with Keras: at
once where Keras is there already, otherwise as soon as somebody imports it. They are named as
strings, since `training` stands above this package and is not to be imported by it otherwise.
"""

import importlib
import importlib.abc
import importlib.util
import sys
from types import FrameType

MODULES = (
    "attention_zoo.layers.attention_decoder",
    "attention_zoo.layers.bahdanau_attention",
    "attention_zoo.layers.bahdanau_cell",
    "attention_zoo.layers.luong_attention",
    "attention_zoo.layers.luong_cell",
    "attention_zoo.layers.plain_cell",
    "attention_zoo.layers.recurrent_encoder",
    "attention_zoo.layers.uniform_attention",
    "attention_zoo.seq2seq",
    "attention_zoo.training.fused_adam",
    "attention_zoo.training.losses",
    "attention_zoo.training.metrics",
    "attention_zoo.training.sampled_seq2seq",
)
"""The modules whose classes a saved model may name. A test compares them with the classes."""


_registered = False


def register_with_keras() -> None:
    """Import the modules now if Keras is imported, else right after it."""
    global _registered
    if _registered:
        return
    if "keras" in sys.modules:
        _import_all()
    elif not any(isinstance(finder, _AfterKeras) for finder in sys.meta_path):
        sys.meta_path.insert(0, _AfterKeras())


def _import_all() -> None:
    global _registered
    _registered = True
    for module in MODULES:
        importlib.import_module(module)


class _AfterKeras(importlib.abc.MetaPathFinder):
    """Finds nothing itself: adds `_import_all` to the end of the import of `keras`."""

    def find_spec(self, fullname, path=None, target=None):
        if fullname != "keras":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec("keras")
        if spec is not None and spec.loader is not None:
            spec.loader = _LoaderThenImportAll(spec.loader)
        return spec


class _LoaderThenImportAll(importlib.abc.Loader):
    def __init__(self, loader):
        self.loader = loader

    def create_module(self, spec):
        return self.loader.create_module(spec)

    def exec_module(self, module):
        module.__spec__.loader = module.__loader__ = self.loader
        self.loader.exec_module(module)
        # a module of ours that is half imported cannot be imported by the others: it is finished
        # first, and the name that was asked for registers the rest (`lazy_package`)
        if not _asked_by_us():
            _import_all()


def _asked_by_us() -> bool:
    """Whether one of this project's modules is importing Keras at this moment."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        if name.startswith("attention_zoo.") and name != __name__:
            return True
        frame = frame.f_back
    return False
