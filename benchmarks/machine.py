"""On what a benchmark ran: processor and versions."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from attention_zoo.export.answer_cost import processor


def machine(packages: Sequence[str]) -> str:
    """Processor and versions in one sentence; of the packages those that are installed."""
    found = [one for one in packages if importlib.util.find_spec(one.replace("-", "_"))]
    versions = ", ".join(f"{package} {version(package)}" for package in found)
    return f"{os.cpu_count()} cores, {processor()}; {versions}."


def caches() -> list[str]:
    """The data caches of the first processor, such as "L2 2048K", where the system tells them."""
    found = []
    for index in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        kind, level, size = ((index / one).read_text().strip() for one in ("type", "level", "size"))
        if kind != "Instruction":
            found.append(f"L{level} {size}")
    return found
