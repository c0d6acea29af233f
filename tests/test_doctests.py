"""The examples in docstrings give what they say."""

import doctest
import importlib


def test_examples_in_docstrings(module_name, modules):
    if ">>>" not in modules[module_name].read_text(encoding="utf-8"):
        return
    result = doctest.testmod(importlib.import_module(module_name))
    assert result.attempted > 0
    assert result.failed == 0
