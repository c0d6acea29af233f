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
                message=(
                    f"{owner}: {name} has another size than {other_name} on the axis {axis}; "
                    f"expected {name} with axes ({', '.join(axes)}). Fix: pass {name} and "
                    f"{other_name} with the same {axis}; nothing is broadcast."
                ),
            )


def tie_axes(tensor, like, count=1):
    """``tensor`` reshaped to the first ``count`` axes of ``like``; fails at run time if it differs.

    XLA drops assertions, and would broadcast a batch or a time of 1: a reshape it does not drop.
    Nothing is added where those axes are static.
    """
    if tensor is None or isinstance(tensor, keras.KerasTensor):
        return tensor
    if None not in (*tensor.shape[:count], *like.shape[:count]):
        return tensor
    sizes = [_size(like, i) for i in range(count)]
    rest = [_size(tensor, i) for i in range(count, len(tensor.shape))]
    return ops.reshape(tensor, (*sizes, *rest))


def _size(tensor, axis):
    return tensor.shape[axis] if tensor.shape[axis] is not None else ops.shape(tensor)[axis]
