"""Loads and runs a new file in a process of its own before this one trusts it.

A bad ONNX or TFLite file can abort the whole process that loads it, without an exception; in a
child, that is an exit status.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

from attention_zoo.export.errors import FileLoadError

_PROGRAM = """
import sys
from attention_zoo.export import runtime
kind, path = sys.argv[1:]
model = getattr(runtime, kind)(path, vocab_source=2**31)
if hasattr(model, "predict"):
    model.predict([[0]])
    model.beam_search([[0, 0]])
if hasattr(model, "step"):
    model.step([1], model.encode([[0, 0]]))
"""


def check_loads(kind: str, path: Path, timeout: float = 300.0) -> None:
    """Run one sequence through `path` in a child process.

    Args:
        kind: a class of `runtime.py`: "OnnxModel", "LiteRTModel" or "SplitOnnxModel".
        path: the file; of the split form, the encoder.
        timeout: seconds the child may take.

    Raises:
        FileLoadError: the child ended with an error, was killed by a signal, or did not end.
    """
    command = [sys.executable, "-c", _PROGRAM, kind, str(path)]
    try:
        child = subprocess.run(command, capture_output=True, text=True, timeout=timeout)
    except subprocess.TimeoutExpired as error:
        raise FileLoadError(
            f"{path}: {kind} did not answer one sequence within {timeout:g} seconds."
        ) from error
    if child.returncode == 0:
        return
    if child.returncode < 0:
        how = f"killed by {signal.Signals(-child.returncode).name}"
    else:
        how = f"exit status {child.returncode}"
    said = "\n".join(child.stderr.strip().splitlines()[-5:])
    raise FileLoadError(
        f"{path}: a process that loaded it with {kind} ended with {how}. It said:\n{said}"
    )
