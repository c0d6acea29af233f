"""One contender of the training benchmark: it waits for its turns on stdin.

    python training_worker.py NAME BATCH,LENGTH,VOCAB,WIDTH

NAME is that of a contender (`contender_process.py`), or a type of which the matrix peak is
measured. The first line of the answer says how many seconds the first step took; after that each
line read, a number of steps, is answered by the seconds of a step, the median of so many; for a
type by multiply-adds a second. A worker that is not asked reads from stdin and takes no time.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable

from contender_process import KERAS, PEAKS
from step_size import StepSize

from attention_zoo.commands.quiet_import import LOG_LEVEL, SILENT, import_tensorflow


def prepared(name: str, size: StepSize) -> tuple[float, Callable[[int], float]]:
    """Seconds of the first step, and what measures a turn."""
    if name in PEAKS:
        from matrix_peak import MatrixPeak

        return 0.0, MatrixPeak(name).measure
    from contenders import keras_contender, our_contender

    contender = keras_contender(size) if name == KERAS else our_contender(name, size)
    return contender.first_step, contender.round


def main(name: str, numbers: str) -> None:
    """Answer until there is nothing more to read."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print is no answer
    os.environ.setdefault(LOG_LEVEL, SILENT)
    import_tensorflow()
    first_step, turn = prepared(name, StepSize.parse(numbers))
    print(json.dumps(first_step), file=answers, flush=True)
    for line in sys.stdin:
        print(json.dumps(turn(int(line))), file=answers, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
