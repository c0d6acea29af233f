"""Writes a SavedModel with the signatures `serving_default` (greedy) and `beam`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import tensorflow as tf

from attention_zoo.export.decode_functions import (
    BEAM,
    GREEDY,
    DecodeSettings,
    beam_function,
    describe,
    greedy_function,
)
from attention_zoo.export.errors import ConversionError

FOLDER = "saved_model/1"
SERVING = "serving_default"


def write_saved_model(model: Any, folder: Path, settings: DecodeSettings) -> dict[str, Any]:
    """Write `saved_model/1` into `folder`, and return what the manifest says of its signatures.

    The module that is saved holds the variables and the two traced functions, nothing of this
    package and nothing of Keras: any process with TensorFlow loads it. Batch and T_enc are open,
    the weights are stored once for both signatures.

    Raises:
        ConversionError: TensorFlow refused to trace or save the model.
    """
    functions = (
        greedy_function(model, settings, batch=None),
        beam_function(model, settings, batch=None),
    )
    try:
        module = tf.Module()
        module.model_variables = [variable.value for variable in model.variables]
        traced = {function.name: function.concrete() for function in functions}
        tf.saved_model.save(
            module,
            str(folder / FOLDER),
            signatures={SERVING: traced[GREEDY], BEAM: traced[BEAM]},
        )
    except Exception as error:
        raise ConversionError(f"SavedModel: TensorFlow refused the model: {error}") from error
    return {
        SERVING: describe(model, GREEDY, traced[GREEDY]),
        BEAM: describe(model, BEAM, traced[BEAM]),
    }
