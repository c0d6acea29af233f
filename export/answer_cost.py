"""What an answer of an exported file costs on this machine: memory of a fresh process, and time.

    python -m attention_zoo.export.answer_cost CLASS PATH VOCABULARY MAX_LENGTH

is that process. It opens PATH with the class of `runtime.py`, answers one row, and says on its last
line what this took, as JSON.
"""

from __future__ import annotations

import dataclasses
import importlib
import json
import platform
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from attention_zoo.export.errors import FileLoadError
from attention_zoo.export.runnable import Runnable
from attention_zoo.export.timing import time_predict
from attention_zoo.vocabulary import EOS

LENGTH = 16
"""Ids of the source that is answered, eos included."""
REPEATS = 15
"""Answers that are timed."""
_WARM_UP = 2
_LIBRARY = {
    "LiteRTModel": "ai_edge_litert.interpreter",
    "OnnxModel": "onnxruntime",
    "SplitOnnxModel": "onnxruntime",
}


@dataclasses.dataclass(frozen=True)
class AnswerCost:
    """What one row of `LENGTH` ids took, with one thread.

    Attributes:
        library: bytes resident at most before the file was opened: Python, NumPy, the runtime.
        peak: bytes resident at most after the first answer. Both are None where the system does
            not tell.
        milliseconds: median of later answers.
        cpu_milliseconds: time of the processor for one of them, the mean; on a machine that has
            nothing else to do the same.
        tokens: ids that the answer has.
    """

    library: int | None
    peak: int | None
    milliseconds: float
    cpu_milliseconds: float
    tokens: int


def answer_cost(
    one: Runnable, folder: Path, vocab_source: int, max_length: int, timeout: float = 300.0
) -> AnswerCost:
    """Measure a file in a process of its own.

    Args:
        one: what to open.
        folder: where its files lie.
        vocab_source: ids are below it.
        max_length: steps at most, where the host drives the loop.
        timeout: seconds that all of it may take.

    Raises:
        FileLoadError: the process ended with an error or did not end.
    """
    path = folder / one.files[0]
    words = [one.runtime, path, vocab_source, max_length]
    command = [sys.executable, "-m", __name__, *map(str, words)]
    try:
        child = subprocess.run(command, capture_output=True, text=True, timeout=timeout)
    except subprocess.TimeoutExpired as error:
        raise FileLoadError(
            f"{path}: {one.runtime} did not answer {REPEATS} sequences within {timeout:g} seconds."
        ) from error
    if child.returncode != 0:
        said = "\n".join(child.stderr.strip().splitlines()[-5:])
        raise FileLoadError(
            f"{path}: a process that timed it with {one.runtime} ended with {child.returncode}. "
            f"It said:\n{said}"
        )
    return AnswerCost(**json.loads(child.stdout.splitlines()[-1]))


def source_row(vocab_source: int) -> list[int]:
    """The source that every file answers: `LENGTH` ids without padding, eos last."""
    return [*(1 + (3 + 7 * index) % (vocab_source - 1) for index in range(LENGTH - 1)), EOS]


def peak_bytes() -> int | None:
    """The most memory that this process has had resident so far."""
    try:
        # not ru_maxrss, which also holds the peak of the process that started this one
        with open("/proc/self/status") as status:
            return next(int(line.split()[1]) * 1024 for line in status if line[:6] == "VmHWM:")
    except (OSError, StopIteration):
        return None


def processor() -> str:
    """The name of this machine's processor."""
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text(errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _main(kind: str, path: str, vocab_source: str, max_length: str) -> None:
    from attention_zoo.export import runtime
    from attention_zoo.export.step_loop import step_loop

    importlib.import_module(_LIBRARY[kind])
    library = peak_bytes()
    model: Any = getattr(runtime, kind)(path, vocab_source=int(vocab_source), threads=1)
    if not hasattr(model, "predict"):
        stepper = model
        model = SimpleNamespace(predict=lambda source: step_loop(stepper, source, int(max_length)))
    source = [source_row(int(vocab_source))]
    tokens = int(model.predict(source)["lengths"][0])
    peak = peak_bytes()
    began = time.process_time()
    milliseconds = time_predict(model, source, REPEATS, _WARM_UP)
    cpu = (time.process_time() - began) * 1e3 / (REPEATS + _WARM_UP)
    cost = AnswerCost(library, peak, milliseconds, cpu, tokens)
    print(json.dumps(dataclasses.asdict(cost)))


if __name__ == "__main__":
    _main(*sys.argv[1:])
