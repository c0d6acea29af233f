"""Checks of sizes that are known only when a graph runs.

The one module of the layers that touches TensorFlow, and only when Keras runs on it: neither
``keras.ops`` nor Keras has an operation that raises inside a graph.
"""

import importlib

import keras
from keras import ops

from attention_zoo.layers.shapes import check_axes


def check_tensors(owner, tensors, fixed=None, fixes=None, at_least_one=()):
    """`check_axes` for tensors: what is known at once, and the rest when the graph runs.

    ``tensors`` maps a name to (tensor, names of its axes); a tensor of None is passed over. In a
    graph, axes without a static size are compared at run time and a difference raises
    ``InvalidArgumentError`` with the names of both tensors.
    """
    present = {name: (x, axes) for name, (x, axes) in tensors.items() if x is not None}
    static = {name: (tuple(x.shape), axes) for name, (x, axes) in present.items()}
    sizes = check_axes(owner, static, fixed, fixes, at_least_one)
    if keras.backend.backend() == "tensorflow":
        _assert_at_run_time(owner, present, fixed or {})
    return sizes


def _assert_at_run_time(owner, tensors, fixed):
    first: dict[str, tuple] = {}  # axis -> (size tensor or int, static size, who says)
    tf = None
    for name, (tensor, axes) in tensors.items():
        if isinstance(tensor, keras.KerasTensor):
            continue
        for i, axis in enumerate(axes):
            size = tensor.shape[i]
            if axis in fixed:
                continue  # widths of weights are static; check_axes has compared them
            if axis not in first:
                first[axis] = (ops.shape(tensor)[i], size, name)
                continue
            other, other_size, other_name = first[axis]
            if size is not None and other_size is not None:
                continue
            tf = tf or importlib.import_module("tensorflow")
            tf.debugging.assert_equal(
                ops.shape(tensor)[i],
                other,
                message=_disagreement(owner, name, other_name, axis),
            )


def _disagreement(owner, name, other_name, axis):
    return (
        f"{owner}: {name} has another size than {other_name} on the axis {axis}. Fix: pass {name} "
        f"and {other_name} with the same {axis}; nothing is broadcast."
    )


def tie_axes(owner, tensor, like, axes=("batch",)):
    """A tensor reshaped to the first axes of another; fails at run time if it differs in them.

    XLA drops assertions, and would broadcast a batch or a time of 1: a reshape it does not drop.
    Nothing is added where those axes are static.

    Args:
        owner: whose inputs these are.
        tensor: (name, tensor or None).
        like: (name, tensor).
        axes: the names of the axes, the first of both tensors.
    """
    (name, tensor), (other_name, like) = tensor, like
    count = len(axes)
    if tensor is None or isinstance(tensor, keras.KerasTensor):
        return tensor
    if None not in (*tensor.shape[:count], *like.shape[:count]):
        return tensor
    sizes = [_size(like, i) for i in range(count)]
    rest = [_size(tensor, i) for i in range(count, len(tensor.shape))]
    if keras.backend.backend() != "tensorflow":
        return ops.reshape(tensor, (*sizes, *rest))
    tf = importlib.import_module("tensorflow")
    # before the reshape, whose own error names nothing
    asserts = [
        tf.debugging.assert_equal(
            ops.shape(tensor)[i], size, message=_disagreement(owner, name, other_name, axes[i])
        )
        for i, size in enumerate(sizes)
    ]
    with tf.control_dependencies([op for op in asserts if op is not None]):
        # grappler may drop the reshape, and what it waits for with it, but no identity that waits
        tensor = tf.identity(tensor)
    return ops.reshape(tensor, (*sizes, *rest))


def check_ids(owner, name, ids, vocab, vocab_name):
    """The ids, if all of them are in [0, vocab); TensorFlow wraps negative ones without a word.

    At once a ValueError; in a graph an ``InvalidArgumentError`` when it runs. XLA drops the check.
    """
    if isinstance(ids, keras.KerasTensor) or keras.backend.backend() != "tensorflow":
        return ids
    tf = importlib.import_module("tensorflow")
    wanted = (
        f"expected ids from 0 to {vocab - 1} ({vocab_name} = {vocab}). Fix: turn the text into "
        "ids with the vocabulary that the model is made for."
    )
    if tf.executing_eagerly():
        values = ops.convert_to_numpy(ids)
        bad = values[(values < 0) | (values >= vocab)]
        if bad.size:
            raise ValueError(f"{owner}: {name} has id {bad[0]}; {wanted}")
        return ids
    limits = [
        tf.debugging.assert_non_negative(ids, f"{owner}: {name} has a negative id; {wanted}"),
        tf.debugging.assert_less(
            ids, tf.cast(vocab, ids.dtype), f"{owner}: {name} has an id too large; {wanted}"
        ),
    ]
    with tf.control_dependencies(limits):
        return tf.identity(ids)


def _size(tensor, axis):
    return tensor.shape[axis] if tensor.shape[axis] is not None else ops.shape(tensor)[axis]
