"""The examples in docstrings give what they say."""

import doctest
import importlib


def test_examples_in_docstrings(module_name, modules):
    if ">>> " not in modules[module_name].read_text(encoding="utf-8"):
        return
    module = importlib.import_module(module_name)
    assert any(found.examples for found in doctest.DocTestFinder().find(module))
    assert doctest.testmod(module).failed == 0
