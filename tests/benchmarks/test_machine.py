"""On what a benchmark ran."""

import os

import numpy as np
from machine import machine


def test_versions_are_those_that_are_installed():
    told = machine(["numpy", "no-such-package"])
    assert told.endswith(f"; numpy {np.__version__}.")
    assert told.startswith(f"{os.cpu_count()} cores, ")
