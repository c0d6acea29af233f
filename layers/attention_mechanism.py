"""What all attention mechanisms share: the call in Keras' manner, and the inner step."""

import keras
from keras import ops

from attention_zoo.layers.run_time_checks import check_tensors, tie_axes
from attention_zoo.layers.softmax import masked_softmax
from attention_zoo.layers.time_loop import time_loop


class AttentionMechanism(keras.layers.Layer):
    """Base of the mechanisms: ``a_t = softmax(score(query, keys))``, ``c_t = sum_i a_{t,i} h_i``.

    In the words of queries, keys and values: the query is a decoder state, keys and values are the
    encoder states (the *memory*). A subclass gives `score`, and `project` for what depends on the
    keys alone. One that needs the previous alignments or a coverage declares them in
    `initial_state` and renews them in `next_state`; cells carry them along.

    Args:
        dropout: share of the weights that is dropped in training, after the softmax, in [0, 1).
        seed: of the dropout.
    """

    def __init__(self, dropout=0.0, seed=None, **kwargs):
        super().__init__(**kwargs)
        if not 0.0 <= dropout < 1.0:
            raise ValueError(
                f"{type(self).__name__}: dropout is {dropout}; expected a number in [0, 1). "
                "Fix: dropout=0 switches it off."
            )
        self.dropout = dropout
        self.seed = seed
        self.supports_masking = True
        if dropout > 0:
            self.seed_generator = keras.random.SeedGenerator(seed)

    # What a subclass defines ---------------------------------------------------------------

    def project(self, keys):
        """What of the score depends on the keys alone, computed once a sequence."""
        return keys

    def split_values(self, values):
        """The values in the layout that `read` takes, made once a sequence."""
        return values

    def score(self, query, keys, state):
        """Scores (batch, T_enc) for a query (batch, d_s); (batch, T_dec, T_enc) for a sequence.

        In the compute type or in float32, in which the softmax is computed anyway.
        """
        raise NotImplementedError

    def query_weight(self):
        """The matrix (d_s, width) that the score begins with, ``query W``, or None.

        Where there is one, `compare` gives the scores of the projected query. None by default.
        """

    def compare(self, projected, keys):
        """`score` from the query's product with `query_weight`."""
        raise NotImplementedError

    def initial_state(self, values, mask):
        """Tensors (batch, ...) that the mechanism carries from step to step; none by default."""
        return ()

    def next_state(self, weights, state):
        """The carried tensors after a step with these weights."""
        return state

    def axes_of_scores(self):
        """Number of axes between batch and time in the weights (the heads)."""
        return 0

    # The inner step -------------------------------------------------------------------------

    def attend(self, query, keys, values, mask=None, state=(), training=False, projected=None):
        """One look at the memory, without checks.

        Args:
            query: (batch, d_s) or (batch, T_dec, d_s).
            keys: what `project` gave.
            values: what `split_values` gave.
            mask: (batch, T_enc) bool or None.
            state: what `initial_state` or the step before gave.
            training: whether dropout works.
            projected: the query's product with `query_weight`, if it is made already.

        Returns:
            context (batch[, T_dec], d_h), weights (batch[, T_dec], T_enc), the next state.
        """
        if projected is None:
            scores = self.score(query, keys, state)
        else:
            scores = self.compare(projected, keys)
        if mask is not None:
            for _ in range(len(scores.shape) - 2):
                mask = ops.expand_dims(mask, 1)  # (batch, 1, ..., T_enc)
        weights = self.cast(masked_softmax(scores, mask))
        used = weights
        if training and self.dropout > 0:
            used = keras.random.dropout(weights, self.dropout, seed=self.seed_generator)
        return self.read(used, values, query), weights, self.next_state(weights, state)

    def read(self, weights, values, query):
        """``c = sum_i a_i h_i``."""
        if len(query.shape) == 2:
            # (batch, 1, T_enc) x (batch, T_enc, d_h)
            return ops.squeeze(ops.matmul(ops.expand_dims(weights, 1), values), 1)
        return ops.matmul(weights, values)  # (batch, T_dec, d_h)

    def reads_plainly(self, training):
        """Whether `attend` gives ``sum_i a_i h_i`` of the weights that it returns."""
        base, own = AttentionMechanism, type(self)
        names = ("attend", "read", "split_values", "alignments", "axes_of_scores")
        is_own = all(getattr(own, name) is getattr(base, name) for name in names)
        return is_own and not (training and self.dropout > 0)

    def alignments(self, weights):
        """The weights as one row of (batch[, T_dec], T_enc): the mean over heads, if any."""
        return ops.mean(weights, axis=1) if self.axes_of_scores() else weights

    # The checked call ------------------------------------------------------------------------

    def call(self, inputs, mask=None, training=False, return_attention_scores=False):
        """Attend as `keras.layers.Attention` is called.

        Args:
            inputs: [query, value] or [query, value, key]; query (batch, d_s) or
                (batch, T_dec, d_s), value (batch, T_enc, d_h), key (batch, T_enc, d_h) if other
                than the value.
            mask: [query_mask, value_mask]: (batch, T_dec) and (batch, T_enc), or None each. The
                query mask sets the context to 0 where it is false.
            training: whether the dropout works.
            return_attention_scores: also return the weights.

        Returns:
            The context (batch[, T_dec], d_h); with ``return_attention_scores`` also the weights
            (batch[, T_dec], T_enc), or (batch, n_heads[, T_dec], T_enc) with several heads.
        """
        query, value, key, query_mask, mask = self._unpack(inputs, mask)
        self._check(query, value, key, query_mask, mask)
        memory, steps = ("memory (value)", value), ("batch", "T_enc")
        query = tie_axes(self.name, ("query", query), memory)
        mask = tie_axes(self.name, ("mask (value_mask)", mask), memory, steps)
        key = tie_axes(self.name, ("keys (key)", key), memory, steps)
        own = ("batch",) if len(query.shape) == 2 else ("batch", "T_dec")
        query_mask = tie_axes(self.name, ("query_mask", query_mask), ("query", query), own)
        value = without_padding(value, mask)
        keys = self.project(value if key is None else without_padding(key, mask))
        values = self.split_values(value)
        state = self.initial_state(values, mask)
        if state and len(query.shape) == 3:
            context, weights = self._attend_in_turn(query, keys, values, mask, state, training)
        else:
            context, weights, _ = self.attend(query, keys, values, mask, state, training)
        if query_mask is not None:
            context = ops.where(ops.expand_dims(query_mask, -1), context, 0)
        return (context, weights) if return_attention_scores else context

    def compute_mask(self, inputs, mask=None):
        return mask[0] if mask else None

    def _attend_in_turn(self, query, keys, values, mask, state, training):
        """A sequence of queries for a mechanism whose step depends on the step before."""

        def step(query_t, state):
            context, weights, state = self.attend(query_t, keys, values, mask, state, training)
            return (context, weights), list(state)

        (context, weights), _ = time_loop(step, query, list(state))
        # (batch, T_dec, n_heads, T_enc) -> (batch, n_heads, T_dec, T_enc)
        return context, ops.swapaxes(weights, 1, 2) if self.axes_of_scores() else weights

    def _unpack(self, inputs, mask):
        if not isinstance(inputs, (list, tuple)) or len(inputs) not in (2, 3):
            raise ValueError(
                f"{type(self).__name__}: inputs is {_describe(inputs)}; expected the list "
                "[query, value] or [query, value, key]. Fix: put the tensors into one list."
            )
        if mask is not None and (not isinstance(mask, (list, tuple)) or len(mask) not in (2, 3)):
            raise ValueError(
                f"{type(self).__name__}: mask is {_describe(mask)}; expected the list "
                "[query_mask, value_mask]. Fix: mask=[None, value_mask]."
            )
        query, value, *key = inputs
        query_mask, value_mask = mask[:2] if mask is not None else (None, None)
        return query, value, key[0] if key else None, query_mask, value_mask

    def _check(self, query, value, key, query_mask, mask):
        one = len(query.shape) == 2
        tensors = {
            "query": (query, ("batch", "d_s") if one else ("batch", "T_dec", "d_s")),
            "memory (value)": (value, ("batch", "T_enc", "d_h" if key is None else "d_v")),
            "keys (key)": (key, ("batch", "T_enc", "d_h")),
            "mask (value_mask)": (mask, ("batch", "T_enc")),
            "query_mask": (query_mask, ("batch",) if one else ("batch", "T_dec")),
        }
        check_tensors(self.name, tensors, self.fixed_axes(), at_least_one=("T_enc",))

    def fixed_axes(self):
        """axis -> (size, what fixed it), from the weights."""
        return {
            axis: (size, f"the weights of {self.name}") for axis, size in self._widths().items()
        }

    def _widths(self):
        return {}

    def cast(self, weight):
        """A tensor in the compute type, also outside of `__call__`'s autocast scope."""
        return ops.cast(weight, self.compute_dtype)

    def get_config(self):
        return {**super().get_config(), "dropout": self.dropout, "seed": self.seed}


def without_padding(memory, mask):
    """(batch, T_enc, d_h) with 0 in padded steps: weight 0 alone would let a NaN there through."""
    if mask is None:
        return memory
    return ops.where(ops.expand_dims(ops.cast(mask, "bool"), -1), memory, 0)


def shapes_of(input_shape, owner):
    """(shape of the query, of the value, of the keys) from what Keras gives `build`."""
    pair = isinstance(input_shape, (list, tuple)) and len(input_shape) in (2, 3)
    # one tensor alone has a shape of numbers
    if not pair or not all(isinstance(shape, (list, tuple)) for shape in input_shape):
        raise ValueError(
            f"{owner}: built with {input_shape}; expected the shapes of [query, value] or "
            "[query, value, key]. Fix: pass the tensors as one list."
        )
    query, value = input_shape[0], input_shape[1]
    keys = input_shape[2] if len(input_shape) == 3 else value
    for name, shape, axes in (
        ("query", query, "(batch, d_s) or (batch, T_dec, d_s)"),
        ("memory (value)", value, "(batch, T_enc, d_h)"),
        ("keys (key)", keys, "(batch, T_enc, d_h)"),
    ):
        ranks = (2, 3) if name == "query" else (3,)
        if len(shape) not in ranks or shape[-1] is None:
            raise ValueError(
                f"{owner}: {name} has shape {tuple(shape)}; expected {axes} with a known last "
                f"axis. Fix: reshape {name}, or give its Input a width."
            )
    return tuple(query), tuple(value), tuple(keys)


def vector_initializer(units, seed):
    """Glorot's limit for a matrix (units, 1), for a weight that is kept as a vector."""
    limit = (6.0 / (units + 1)) ** 0.5
    return keras.initializers.RandomUniform(-limit, limit, seed=seed)


def _describe(value):
    if isinstance(value, (list, tuple)):
        return f"a {type(value).__name__} of length {len(value)}"
    return f"a {type(value).__name__}"
