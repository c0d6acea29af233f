"""The model: encoder, bridge, decoder and output layer around one decode step."""

import keras
import tensorflow as tf
from keras import ops

from attention_zoo.beam import beam_decode, check_beam
from attention_zoo.bridge import Bridge
from attention_zoo.decoder_parts import decoder_cell, kind_of_bridge
from attention_zoo.greedy import greedy_decode
from attention_zoo.layers.attention_decoder import AttentionDecoder
from attention_zoo.layers.recurrent_encoder import RecurrentEncoder
from attention_zoo.layers.run_time_checks import check_ids, check_tensors
from attention_zoo.model_config import ModelConfig
from attention_zoo.output_layer import OutputLayer
from attention_zoo.source_batch import source_batch
from attention_zoo.vocabulary import BOS, PAD


@keras.saving.register_keras_serializable(package="attention_zoo")
class Seq2Seq(keras.Model):
    """A recurrent encoder-decoder, with or without attention, built from a `ModelConfig`.

    | attention | readout o_t                    | logits          |
    |-----------|--------------------------------|-----------------|
    | none      | s_t                            | W_y s_t + b     |
    | bahdanau  | tanh(W_r [s_t; c_t; y_{t-1}])  | W_y o_t + b     |
    | uniform   | as bahdanau                    | as bahdanau     |
    | luong     | s~_t = tanh(W_c [c_t; s_t])    | W_y s~_t + b    |

    Bahdanau's paper has a maxout readout; here it is one tanh layer of width d_emb. The model is
    built as soon as it is made. Batches are ``{"source", "target"}``, int arrays (batch, T_enc) and
    (batch, T_dec) padded with 0. A target is its tokens and then eos, without bos: the model
    shifts it and puts bos first. Where `fit` is given no labels, the target is the label.

    Example:
        >>> model = attention_zoo.create_model("bahdanau_gru", vocab_source=20,   # doctest: +SKIP
        ...                                    vocab_target=20, units=64)
        >>> model.compile("adam", loss=MaskedCrossEntropy(),                      # doctest: +SKIP
        ...               metrics=[TokenAccuracy()])
        >>> model.fit({"source": source, "target": target})                       # doctest: +SKIP
        >>> model.greedy(source)["tokens"]                                        # doctest: +SKIP
    """

    def __init__(self, config, **kwargs):
        super().__init__(**kwargs)
        self.config = config if isinstance(config, ModelConfig) else ModelConfig.from_dict(config)
        self._make_layers()
        self._build_layers()
        self._searches = {}
        self.built = True

    # Layers -----------------------------------------------------------------------------------

    def _make_layers(self):
        config, dtype = self.config, self.dtype_policy
        if config.tied_embeddings != "all":
            self.source_embedding = keras.layers.Embedding(
                config.vocab_source, config.d_emb, _spread(), dtype=dtype, name="source_embedding"
            )
        # a tied matrix is the output layer's too, whose logits it would blow up at that size
        tied = config.tied_embeddings != "none"
        spread = _spread(config.d_emb**-0.5 if tied else 1.0)
        self.target_embedding = keras.layers.Embedding(
            config.vocab_target, config.d_emb, spread, dtype=dtype, name="target_embedding"
        )
        self.encoder = RecurrentEncoder(
            config.units,
            config.cell,
            config.encoder_layers,
            config.bidirectional,
            config.dropout,
            dtype=dtype,
            name="encoder",
        )
        self.bridge = Bridge(
            config.width_of_state, config.decoder_layers, kind_of_bridge(config), dtype=dtype
        )
        self.decoder = AttentionDecoder(decoder_cell(config, dtype), dtype=dtype, name="decoder")
        if config.attends_first:
            self.readout = keras.layers.Dense(config.d_emb, "tanh", dtype=dtype, name="readout")
        self.output_layer = OutputLayer(config.vocab_target, tied, dtype=dtype, name="output")
        self.embedding_dropout = keras.layers.Dropout(config.dropout_of("embedding"), dtype=dtype)
        self.readout_dropout = keras.layers.Dropout(config.dropout_of("readout"), dtype=dtype)
        if config.dropout_memory:
            self.memory_dropout = keras.layers.Dropout(config.dropout_memory, dtype=dtype)
        if config.layer_norm:
            self.memory_norm = keras.layers.LayerNormalization(dtype=dtype, name="memory_norm")

    def _build_layers(self):
        config = self.config
        memory = (None, None, config.d_h)
        for embedding in {id(e): e for e in (self._source(), self.target_embedding)}.values():
            embedding.build((None, None))
        self.encoder.build((None, None, config.d_emb))
        if config.layer_norm:
            self.memory_norm.build(memory)
        n_states = 2 if config.cell == "lstm" else 1
        self.bridge.build([[(None, config.d_h)] * n_states] * config.encoder_layers)
        attends = config.attention != "none"
        self.decoder.build((None, None, config.d_emb), memory if attends else None)
        width = self.decoder.cell.output_width
        if config.attends_first:
            self.readout.build((None, None, width + config.d_h + config.d_emb))
            width = config.d_emb
        self.output_layer.build((None, None, width))

    def _source(self):
        tied = self.config.tied_embeddings == "all"
        return self.target_embedding if tied else self.source_embedding

    def build(self, input_shape=None):
        """Nothing is left to build: the config says every width."""

    # Teacher forcing ----------------------------------------------------------------------------

    def call(self, inputs, training=False):
        """Logits of each target token given the source and the tokens before it.

        Args:
            inputs: dict of "source" (batch, T_enc) and "target" (batch, T_dec), whole numbers.
                With "read" (batch, T_dec) the decoder reads these tokens, shifted as the target
                is, in place of the target's own.
            training: whether dropout works.

        Returns:
            logits (batch, T_dec, vocab_target), float32.

        Raises:
            ValueError: a missing entry, another type than whole numbers, or axes that disagree.
        """
        source, target = self._unpack(inputs)
        encoded = self._encode(source, training)
        read = inputs.get("read", target)
        embedded = self._embed(self.target_embedding, _shift(read), training)
        result = self.decoder(embedded, training=training, **encoded)
        return self._logits(result["outputs"], result.get("contexts"), embedded, training)

    def alignments(self, inputs):
        """The weights (batch, T_dec, T_enc) with which each given target token is written.

        Zeros for a model without attention.
        """
        source, target = self._unpack(inputs)
        encoded = self._encode(source)
        embedded = self._embed(self.target_embedding, _shift(target))
        result = self.decoder(embedded, return_alignments=True, **encoded)
        if "alignments" in result:
            return ops.cast(result["alignments"], "float32")
        return ops.zeros((*ops.shape(target), ops.shape(source)[1]))

    def _unpack(self, inputs):
        for name in ("source", "target"):
            if not isinstance(inputs, dict) or name not in inputs:
                got = sorted(inputs) if isinstance(inputs, dict) else type(inputs).__name__
                raise ValueError(
                    f"{self.name}: {name} is missing; expected a dict of source and target, got "
                    f"{got}. Fix: pass {{'source': ids, 'target': ids}}; to decode without a "
                    "target call model.greedy(source) or model.beam_search(source)."
                )
        source, target = (ops.convert_to_tensor(inputs[n]) for n in ("source", "target"))
        for name, ids in (("source", source), ("target", target)):
            if "int" not in keras.backend.standardize_dtype(ids.dtype):
                raise ValueError(
                    f"{self.name}: {name} has dtype {keras.backend.standardize_dtype(ids.dtype)}; "
                    "expected whole numbers (int32). Fix: pass ids, not embeddings or text."
                )
        axes = {
            "source": (source, ("batch", "T_enc")),
            "target": (target, ("batch", "T_dec")),
        }
        check_tensors(self.name, axes, at_least_one=("T_enc", "T_dec"))
        sizes = {"source": self.config.vocab_source, "target": self.config.vocab_target}
        source, target = (
            check_ids(self.name, name, ids, sizes[name], f"vocab_{name}")
            for name, ids in (("source", source), ("target", target))
        )
        return source, target

    def _embed(self, embedding, ids, training=False):
        return self.embedding_dropout(embedding(ids), training=training)  # (..., d_emb)

    def _encode(self, source, training=False):
        """Keyword arguments of the decoder."""
        embedded = self._embed(self._source(), source, training)
        return self._encode_embedded(embedded, ops.not_equal(source, PAD), training)

    def _encode_embedded(self, embedded, mask, training=False):
        """The same from the embeddings (batch, T_enc, d_emb) and the mask (batch, T_enc)."""
        encoded = self.encoder(embedded, mask=mask, training=training)
        arguments = {"initial_state": self.bridge(encoded["states"])}
        if self.config.attention != "none":
            memory = encoded["memory"]  # (batch, T_enc, d_h)
            if self.config.layer_norm:
                memory = self.memory_norm(memory)
            if self.config.dropout_memory:
                memory = self.memory_dropout(memory, training=training)
            arguments.update(memory=memory, memory_mask=mask)
        return arguments

    def _logits(self, output, context, embedded, training=False):
        """(batch[, T_dec], ...) -> logits (batch[, T_dec], vocab_target)."""
        if self.config.attends_first:
            output = self.readout(ops.concatenate([output, context, embedded], axis=-1))
        output = self.readout_dropout(output, training=training)
        tied = self.config.tied_embeddings != "none"
        return self.output_layer(output, self.target_embedding.embeddings if tied else None)

    # Labels -------------------------------------------------------------------------------------

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        y = x["target"] if y is None else y
        return super().compute_loss(x, y, y_pred, sample_weight, training)

    def compute_metrics(self, x, y, y_pred, sample_weight=None):
        y = x["target"] if y is None else y
        return super().compute_metrics(x, y, y_pred, sample_weight)

    # One step at a time -------------------------------------------------------------------------

    def start(self, source):
        """What decoding begins with.

        Args:
            source: (batch, T_enc) int tensor.

        Returns:
            states: flat list of (batch, width).
            prepared: dict of what the steps read: "mask" (batch, T_enc), and for models that attend
                "keys" and "memory", batch first.
        """
        return self.start_embedded(self.embed_source(source), ops.not_equal(source, PAD))

    def embed_source(self, source):
        """The embeddings (batch, T_enc, d_emb) of source ids, for `start_embedded`."""
        return self._embed(self._source(), source)

    def start_embedded(self, embedded, mask):
        """As `start`, from embeddings (batch, T_enc, d_emb), by which one may then differentiate.

        Args:
            embedded: what `embed_source` gave.
            mask: (batch, T_enc) bool, true for real tokens.
        """
        encoded = self._encode_embedded(embedded, mask)
        cell = self.decoder.cell
        prepared = cell.prepare(encoded.get("memory"), encoded.get("memory_mask"))
        states = cell.initial_states(encoded["initial_state"], prepared)
        return states, {"mask": mask, **prepared}

    def loop_weights(self):
        """Weights in the form that the steps read; pass them to `decode_step` in a loop."""
        return self.decoder.cell.loop_weights()

    def decode_step(self, tokens, states, prepared, weights=None):
        """The one step that training, search and export share.

        Args:
            tokens: (batch,) int, the token before; bos at first.
            states: from `start` or the step before.
            prepared: from `start`.
            weights: from `loop_weights`, or None.

        Returns:
            logits (batch, vocab_target), alignments (batch, T_enc) float32, the next states.
        """
        embedded = self._embed(self.target_embedding, tokens)
        cell = self.decoder.cell
        projected = cell.project_inputs(embedded, weights)
        (output, context, alignments), states = cell.step(
            projected, list(states), prepared, weights
        )
        logits = self._logits(output, context, embedded)
        if alignments is None:
            alignments = ops.zeros_like(prepared["mask"], dtype="float32")
        return logits, ops.cast(alignments, "float32"), states

    # Search ---------------------------------------------------------------------------------------

    def greedy(self, source, max_length=None):
        """Decode by taking the likeliest token in each step.

        Args:
            source: (batch, T_enc) ids, an array or lists of ids; padded with 0.
            max_length: T_dec, how many tokens at most; the config's if None.

        Returns:
            A dict of arrays: ``tokens`` (batch, T_dec) int32, 0 after eos; ``lengths`` (batch,),
            eos counted; ``scores`` (batch,), the sum of log-probabilities; ``alignments``
            (batch, T_dec, T_enc), 0 after eos and for models without attention.
        """
        max_length = self._max_length(max_length)
        return self._search(("greedy", max_length), source, greedy_decode, max_length=max_length)

    def beam_search(self, source, beam_width=4, length_penalty=1.0, n_best=1, max_length=None):
        """Decode by keeping the ``beam_width`` likeliest beginnings in each step.

        Scores are ``log p / ((5 + length) / 6) ** length_penalty`` (Wu et al. 2016, section 7).

        Args:
            source: as for `greedy`.
            beam_width: beginnings kept.
            length_penalty: 0 = none; larger favours longer answers.
            n_best: how many answers to return, at most ``beam_width``.
            max_length: as for `greedy`.

        Returns:
            As `greedy` with an axis of n_best after batch, best first. Where fewer answers exist
            than asked for, the rest have length 0 and score -1e9.
        """
        check_beam(self.name, beam_width, length_penalty, n_best)
        arguments = {
            "max_length": self._max_length(max_length),
            "beam_width": beam_width,
            "length_penalty": float(length_penalty),
            "n_best": n_best,
        }
        return self._search(("beam", *arguments.values()), source, beam_decode, **arguments)

    def _max_length(self, max_length):
        max_length = self.config.max_length if max_length is None else max_length
        if not isinstance(max_length, int) or isinstance(max_length, bool) or max_length < 1:
            raise ValueError(
                f"{self.name}: max_length is {max_length!r}; expected a whole number of at least "
                "1. Fix: leave max_length out for the config's."
            )
        return max_length

    def _search(self, key, source, decode, **arguments):
        """Run a search as one graph, traced once for each set of arguments."""
        source = source_batch(source, self.config.vocab_source, self.name)
        if key not in self._searches:

            @tf.function(input_signature=[tf.TensorSpec((None, None), tf.int32)])
            def search(source):
                return decode(self, source, **arguments)

            self._searches[key] = search
        result = self._searches[key](tf.constant(source))
        return {name: value.numpy() for name, value in result.items()}

    # Keras ----------------------------------------------------------------------------------------

    def get_config(self):
        return {**super().get_config(), "config": self.config.to_dict()}

    @classmethod
    def from_config(cls, config, custom_objects=None):
        return cls(**config)


def _spread(stddev=1.0):
    """Initial embeddings: N(0, 1). Keras' default, uniform within 0.05, starves the cells: the copy
    task at length 20 then took over twice the steps."""
    return keras.initializers.RandomNormal(stddev=stddev)


def _shift(target):
    """y_1 ... y_T -> bos, y_1 ... y_{T-1}: (batch, T_dec)."""
    first = ops.full_like(target[:, :1], BOS)
    return ops.concatenate([first, target[:, :-1]], axis=1)
