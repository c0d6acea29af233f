"""Importing TensorFlow without its notes to developers."""

import os
import sys
import tempfile

LOG_LEVEL = "TF_CPP_MIN_LOG_LEVEL"
SILENT = "3"


def import_tensorflow() -> None:
    """Import TensorFlow; its lines about oneDNN and CUDA stay off the terminal.

    They come from C++ before any log level is read, so stderr itself points elsewhere for the time
    of the import. If the import fails they are shown, and they always are where the user has set
    TF_CPP_MIN_LOG_LEVEL to another level than the command does.
    """
    if "tensorflow" in sys.modules or os.environ.get(LOG_LEVEL) != SILENT:
        return
    sys.stderr.flush()
    terminal = os.dup(2)
    with tempfile.TemporaryFile() as notes:
        os.dup2(notes.fileno(), 2)
        try:
            import tensorflow  # noqa: F401
        except BaseException:
            notes.seek(0)
            os.write(terminal, notes.read())
            raise
        finally:
            os.dup2(terminal, 2)
            os.close(terminal)
