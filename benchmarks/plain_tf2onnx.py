"""A plain tf2onnx conversion of greedy decoding: the ONNX file that this project's has to beat."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

OPSET = 18


def write_plain_onnx(model: Any, path: Path, max_length: int) -> None:
    """Write `model`'s greedy decoding as `tf2onnx.convert.from_function` gives it, in float32.

    `source` (batch, T_enc) int32 -> tokens, lengths, scores, alignments; both axes are open. No
    graph is rewritten and no operator replaced: each GRU or LSTM is an ONNX Loop of small ops.

    Args:
        model: a `Seq2Seq`.
        path: the file to write.
        max_length: T_dec.
    """
    import onnx
    import tensorflow as tf
    import tf2onnx

    from attention_zoo.greedy import greedy_decode

    def greedy(source: Any) -> dict[str, Any]:
        outputs = greedy_decode(model, source, max_length)
        return {name: tf.identity(tensor, name=name) for name, tensor in outputs.items()}

    logger = logging.getLogger("tf2onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        graph, _ = tf2onnx.convert.from_function(
            tf.function(greedy, autograph=False),
            input_signature=[tf.TensorSpec((None, None), tf.int32, name="source")],
            opset=OPSET,
        )
    finally:
        logger.setLevel(level)
    onnx.save(graph, str(path))
