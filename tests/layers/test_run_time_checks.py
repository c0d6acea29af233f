"""Checks that a graph makes when it runs."""

import tensorflow as tf

from attention_zoo.layers.run_time_checks import tie_axes


def test_what_reads_a_tied_tensor_waits_for_its_check():
    """Through an identity: the graph optimiser may drop the reshape with what it waits for."""

    @tf.function(input_signature=[tf.TensorSpec((None, 3)), tf.TensorSpec((None, 5))])
    def tied(state, like):
        return tie_axes("owner", ("state", state), ("like", like))

    graph = tied.get_concrete_function().graph
    (reshape,) = (op for op in graph.get_operations() if op.type == "Reshape")
    waiting = reshape.inputs[0].op
    assert waiting.type == "Identity"
    checks = {op.type for op in waiting.control_inputs}
    assert checks & {"If", "StatelessIf", "Assert", "NoOp", "Identity"}, checks
    assert waiting.inputs[0] is graph.inputs[0]
