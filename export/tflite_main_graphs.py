"""Keeps delegates out of the graphs that the signatures of a TFLite file call.

LiteRT hands what it can of a graph to XNNPACK. In a graph that calls loops, such parts gave wrong
values from the second call with the same T_enc on (ai-edge-litert 2.3 and TensorFlow 2.21): beam
search of a small model in 10 to 30 of 100 interpreters, `step` of another in all of them. Never in
the first call, never after T_enc had changed, and never without XNNPACK.

So the graphs of the signatures get a name by which LiteRT passes them over. The bodies of loops,
where nearly all of the time goes, keep XNNPACK: greedy decoding and beam search take as long as
before (0.96 to 1.05 times). `encode` takes 1.4 to 1.6 times as long, and an int8 `step` 1.3 times.
"""

from __future__ import annotations

from attention_zoo.export.tflite_flatbuffer import packed, unpacked

# kValidationSubgraphNamePrefix in LiteRT's tflite/util.h: a graph of this name is for a check on
# the device, must answer with the built-in kernels, and is offered to no delegate
PASSED_OVER = b"VALIDATION:"


def pass_over_main_graphs(content: bytes) -> bytes:
    """The same file, in which no delegate gets the graph of a signature; it changes no value."""
    model = unpacked(content)
    for signature in model.signatureDefs or ():
        graph = model.subgraphs[signature.subgraphIndex]
        if not graph.name.startswith(PASSED_OVER):
            graph.name = PASSED_OVER + graph.name
    return packed(model)
