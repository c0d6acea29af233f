"""From the encoder's last states to the decoder's first."""

import keras
from keras import ops


@keras.saving.register_keras_serializable(package="attention_zoo")
class Bridge(keras.layers.Layer):
    """Initial decoder states, one list for each decoder layer.

    "copy": s_0 = h_T (Luong et al. 2015; the baseline's s_0 = c), needs d_s = d_h.
    "project": s_0 = tanh(W h_T + b), for each state of each layer.
    "backward": s_0 = tanh(W h<-_1 + b), from the backward half of a bidirectional encoder
    (Bahdanau et al. 2014, A.2.2; the paper has no bias).

    Args:
        d_s: width of the decoder states.
        n_layers: decoder layers. The top ones start from the encoder's top ones, layer by layer;
            where the decoder has more, those above the encoder's last layer start from it.
        kind: "copy", "project" or "backward".
    """

    def __init__(self, d_s, n_layers=1, kind="project", **kwargs):
        super().__init__(**kwargs)
        if kind not in ("copy", "project", "backward"):
            raise ValueError(
                f"Bridge: kind is {kind!r}; expected one of copy, project, backward. "
                'Fix: kind="project".'
            )
        self.d_s = d_s
        self.n_layers = n_layers
        self.kind = kind
        self.projections = []

    def build(self, states_shape, **_):
        if self.built:
            return
        d_h = states_shape[0][0][-1]
        if self.kind == "copy" and d_h != self.d_s:
            raise ValueError(
                f"{self.name}: states have width d_h = {d_h}; expected d_s = {self.d_s} to copy "
                'them. Fix: kind="project".'
            )
        if self.kind != "copy":
            width = d_h // 2 if self.kind == "backward" else d_h
            for layer in range(self.n_layers):
                dense = [
                    keras.layers.Dense(
                        self.d_s, "tanh", name=f"projection_{layer}_{i}", dtype=self.dtype_policy
                    )
                    for i in range(len(states_shape[0]))
                ]
                for projection in dense:
                    projection.build((None, width))
                self.projections += dense
        self.built = True

    def call(self, states):
        """Encoder states, a list (layers) of lists of (batch, d_h) -> flat list of (batch, d_s)."""
        first = []
        # a deeper encoder is read from its top: its last layer holds what the others found
        below = max(0, len(states) - self.n_layers)
        for layer in range(self.n_layers):
            own = states[min(below + layer, len(states) - 1)]
            for i, state in enumerate(own):
                if self.kind == "copy":
                    first.append(state)
                    continue
                if self.kind == "backward":
                    state = ops.split(state, 2, axis=-1)[1]  # h<-_1: (batch, d_h / 2)
                first.append(self.projections[layer * len(own) + i](state))
        return first

    def get_config(self):
        return {
            **super().get_config(),
            "d_s": self.d_s,
            "n_layers": self.n_layers,
            "kind": self.kind,
        }
