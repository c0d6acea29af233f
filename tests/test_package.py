"""The package as it is installed: names, guards, metadata."""

import ast
import importlib
import inspect
import re
import sys
import tomllib
from importlib.metadata import metadata, version
from types import ModuleType

import pytest

from attention_zoo.lazy_package import lazy_package, refuse_other_name

PACKAGES = [
    "attention_zoo",
    "attention_zoo.layers",
    "attention_zoo.training",
    "attention_zoo.explain",
    "attention_zoo.export",
]


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_can_be_imported_and_is_not_a_module(package):
    module = importlib.import_module(package)
    assert module.__all__
    for name in module.__all__:
        value = getattr(module, name)
        assert not inspect.ismodule(value), f"{package}.{name} is a module"
        assert name in dir(module)


@pytest.mark.parametrize("package", PACKAGES)
def test_type_checkers_see_the_names_that_there_are(package, modules):
    tree = ast.parse(modules[package].read_text(encoding="utf-8"))
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    assert ast.unparse(block.test) == "TYPE_CHECKING"
    seen = {alias.asname: (node.module, alias.name) for node in block.body for alias in node.names}
    names = importlib.import_module(package).NAMES
    assert seen == {name: (f"{package}.{module}", name) for name, module in names.items()}


@pytest.mark.parametrize("package", PACKAGES)
def test_an_unknown_name_is_an_attribute_error(package):
    module = importlib.import_module(package)
    with pytest.raises(AttributeError, match=f"{package}.*no_such_name"):
        module.no_such_name  # noqa: B018


def test_subpackages_are_attributes_of_the_package(run_python):
    done = run_python("import attention_zoo as az; print(az.layers.__name__, az.export.__name__)")
    assert done.stdout.split() == ["attention_zoo.layers", "attention_zoo.export"], done.stderr


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        ("zoo", "attention_zoo"),
        ("zoo.commands", "attention_zoo"),
        ("layers", "attention_zoo.layers"),
        ("layers.shapes", "attention_zoo.layers"),
        ("training", "attention_zoo.training"),
        ("explain", "attention_zoo.explain"),
        ("export", "attention_zoo.export"),
        ("saved_models", "attention_zoo.saved_models"),
    ],
)
def test_the_checkout_s_folders_cannot_be_imported(run_python, checkout, folder, name):
    done = run_python(f"import {folder}", cwd=checkout)
    assert done.returncode == 1
    assert f"ImportError: this package is called '{name}'" in done.stderr
    assert f"import {name}" in done.stderr


@pytest.mark.parametrize("name", ["attention_zoo", "attention_zoo.layers", "attention_zoo.x.y"])
def test_installed_names_are_not_refused(name):
    assert refuse_other_name(name) is None


def test_a_name_spelled_like_its_submodule_is_refused():
    with pytest.raises(ValueError, match=r"softmax.*rename the file"):
        lazy_package("attention_zoo.layers", {"softmax": "softmax", "Other": "other"})


def test_a_lazy_name_is_imported_once_and_kept(monkeypatch):
    package = ModuleType("attention_zoo.tried")
    submodule = ModuleType("attention_zoo.tried.part")
    submodule.Thing = object()
    monkeypatch.setitem(sys.modules, package.__name__, package)
    monkeypatch.setitem(sys.modules, submodule.__name__, submodule)
    package.__getattr__, package.__dir__ = lazy_package(package.__name__, {"Thing": "part"})
    assert "Thing" in dir(package)
    assert "Thing" not in vars(package)
    assert package.Thing is submodule.Thing
    assert vars(package)["Thing"] is submodule.Thing


def test_packages_of_pyproject_are_the_folders_with_code(checkout, modules):
    with (checkout / "pyproject.toml").open("rb") as file:
        setuptools = tomllib.load(file)["tool"]["setuptools"]
    found = {name for name, path in modules.items() if path.name == "__init__.py"}
    assert set(setuptools["packages"]) == found
    for package, folder in setuptools["package-dir"].items():
        assert (checkout / folder / "__init__.py").samefile(modules[package])


def test_metadata(checkout):
    assert metadata("attention-zoo")["License-Expression"] == "Apache-2.0"
    assert "Apache License" in (checkout / "LICENSE").read_text()
    assert re.fullmatch(r"\d+\.\d+\.\d+", version("attention-zoo"))


def test_no_library_code_asserts(modules):
    # `python -O` drops asserts: user errors are ValueErrors
    found = [
        f"{name}:{node.lineno}"
        for name, path in modules.items()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Assert)
    ]
    assert found == []
