"""The dropout masks that a Keras RNN cell keeps on itself."""

from contextlib import contextmanager

from keras import ops


@contextmanager
def held_dropout(cells, batch, training):
    """Make the dropout masks of ``cells`` before their loop, and forget them after it.

    A Keras cell with dropout makes a mask when it is first called and uses it until it is told to
    forget, so that all steps of a sequence drop the same units. Made inside of a loop the mask
    would be a tensor of the loop's graph, that no other graph can read; kept after it, the next
    batch would meet the masks of this one.

    Args:
        cells: the cells, built.
        batch: number of rows, a number or a tensor.
        training: whether dropout works.
    """
    own = [cell for cell in cells if hasattr(cell, "reset_dropout_mask")]
    try:
        for cell in own if training else ():
            width = cell.kernel.shape[0]
            cell.get_dropout_mask(ops.ones((batch, width), dtype=cell.compute_dtype))
            cell.get_recurrent_dropout_mask(ops.ones((batch, cell.units), cell.compute_dtype))
        yield
    finally:
        for cell in own:
            cell.reset_dropout_mask()
            cell.reset_recurrent_dropout_mask()
