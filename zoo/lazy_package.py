"""Packages whose names are imported when they are first used.

`import attention_zoo` and `attention-zoo --help` must answer at once, and a server that only runs
an exported file has no TensorFlow to import. So each package of this project declares its public
names in a table, and a name's submodule is imported the first time somebody asks for that name.
"""

import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Any

from attention_zoo.registration import register_with_keras

ROOT = "attention_zoo"


def refuse_other_name(package: str) -> None:
    """Raise ImportError if `package` was imported under another name than the installed one.

    The folders stand at the top level of the checkout, so `import layers` works from there by
    accident and would create a second copy of every class: `isinstance` fails, and Keras registers
    each layer twice.
    """
    if package == ROOT or package.startswith(ROOT + "."):
        return
    # zoo/ itself is `attention_zoo`; the other folders are its subpackages
    installed = ROOT if package == "zoo" else f"{ROOT}.{package.removeprefix('zoo.')}"
    raise ImportError(
        f"this package is called {installed!r}, not {package!r}: importing the checkout's folder "
        f"would create a second copy of every class. Write `import {installed}` (after "
        "`pip install -e .` in the checkout).",
        name=package,
    )


def lazy_package(
    package: str, names: Mapping[str, str], subpackages: Iterable[str] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the module-level `__getattr__` and `__dir__` of a package with lazy names.

    package: the package's `__name__`.
    names: public name -> submodule that defines it, `{"ModelConfig": "model_config"}`.
    subpackages: names that stand for the submodule itself.

    Raises ImportError if the package was imported under a wrong name (`refuse_other_name`), and
    ValueError if a name is spelled like its submodule: importing that submodule would put the
    module in the name's place.
    """
    refuse_other_name(package)
    clashes = sorted(name for name, submodule in names.items() if name == submodule)
    if clashes:
        raise ValueError(
            f"{package}: {', '.join(clashes)} is the name of both a submodule and something in it; "
            "importing the submodule would hide the other: rename the file"
        )
    public = sorted({*names, *subpackages})

    def lazy_getattr(name: str) -> Any:
        if name in names:
            value = getattr(import_module(f"{package}.{names[name]}"), name)
            # the next access finds it without coming here
            setattr(sys.modules[package], name, value)
            register_with_keras()
            return value
        if name in subpackages:
            return import_module(f"{package}.{name}")
        raise AttributeError(f"module {package!r} has no attribute {name!r}", name=name)

    def lazy_dir() -> list[str]:
        return sorted({*vars(sys.modules[package]), *public})

    return lazy_getattr, lazy_dir
