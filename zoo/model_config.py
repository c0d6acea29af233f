"""What a model is made of, checked field by field."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from difflib import get_close_matches
from numbers import Integral
from typing import Any

from attention_zoo.vocabulary import FIRST_SYMBOL

CHOICES = {
    "attention": ("none", "bahdanau", "luong", "uniform"),
    "score": ("dot", "general", "concat"),
    "cell": ("gru", "lstm"),
    "tied_embeddings": ("none", "target", "all"),
}

_WHOLE = {
    "vocab_source": FIRST_SYMBOL + 1,
    "vocab_target": FIRST_SYMBOL + 1,
    "d_emb": 1,
    "units": 1,
    "d_s": 1,
    "d_attn": 1,
    "n_heads": 1,
    "encoder_layers": 1,
    "decoder_layers": 1,
    "max_length": 1,
}


@dataclass(frozen=True)
class ModelConfig:
    """Everything that `Seq2Seq` is built from.

    Attributes:
        attention: "none" (the baseline), "bahdanau", "luong", or "uniform": Bahdanau's model with
            every weight frozen to 1 / T_enc, in training too (Wiegreffe and Pinter 2019).
        score: of Luong attention: "dot", "general" or "concat"; the others ignore it.
        cell: "gru" or "lstm", in encoder and decoder.
        vocab_source: number of source ids, the four special ones included.
        vocab_target: number of target ids, likewise.
        d_emb: width of the embeddings.
        units: width of one encoder direction; d_h = units, or 2 x units if bidirectional.
        d_s: width of the decoder state; ``units`` if None.
        d_attn: width of the hidden layer of the additive and the concat score; d_s if None.
        n_heads: groups of the Luong dot or general score; 1 = the paper.
        bidirectional: run the encoder in both directions.
        encoder_layers: layers of the encoder.
        decoder_layers: layers of the decoder.
        dropout: on embeddings, between encoder layers and before the output layer, in [0, 1).
        dropout_embedding: on embeddings alone; ``dropout`` if None.
        dropout_memory: on the encoder states that the decoder attends to.
        dropout_readout: before the output layer alone; ``dropout`` if None.
        layer_norm: normalise the encoder states that the decoder attends to (Ba et al. 2016).
        tied_embeddings: "none"; "target": the output layer uses the target embedding; "all": the
            source embedding is that matrix too.
        input_feeding: of Luong's decoder (section 3.3): s~_{t-1} is part of the next input.
        conditional: of Bahdanau's decoder: a second cell, so that the query has seen y_{t-1} and
            the context enters a step of its own (Sennrich et al. 2017).
        max_length: how many tokens decoding writes at most, eos included.

    Raises:
        ValueError: names the field, what was expected, what came, and the fix.
    """

    attention: str = "bahdanau"
    score: str = "general"
    cell: str = "gru"
    vocab_source: int = 8000
    vocab_target: int = 8000
    d_emb: int = 256
    units: int = 256
    d_s: int | None = None
    d_attn: int | None = None
    n_heads: int = 1
    bidirectional: bool = False
    encoder_layers: int = 1
    decoder_layers: int = 1
    dropout: float = 0.0
    dropout_embedding: float | None = None
    dropout_memory: float = 0.0
    dropout_readout: float | None = None
    layer_norm: bool = False
    tied_embeddings: str = "none"
    input_feeding: bool = False
    conditional: bool = False
    max_length: int = 64

    def __post_init__(self):
        for name, allowed in CHOICES.items():
            if getattr(self, name) not in allowed:
                self._refuse(name, f"one of {', '.join(allowed)}", f"{name}={allowed[0]!r}")
        for name, least in _WHOLE.items():
            self._check_whole(name, least)
        for name in ("bidirectional", "input_feeding", "conditional", "layer_norm"):
            if not isinstance(getattr(self, name), bool):
                self._refuse(name, "True or False", f"{name}=False")
        for name in ("dropout", "dropout_embedding", "dropout_memory", "dropout_readout"):
            self._check_share(name)
        self._check_together()

    def _check_share(self, name):
        value = getattr(self, name)
        if value is None and name in ("dropout_embedding", "dropout_readout"):
            return
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not number or not 0.0 <= value < 1.0:
            self._refuse(name, "a number in [0, 1)", f"{name}=0.0")

    def _check_whole(self, name, least):
        value = getattr(self, name)
        if value is None and name in ("d_s", "d_attn"):
            return
        if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
            self._refuse(name, f"a whole number of at least {least}", f"{name}={least}")
        object.__setattr__(self, name, int(value))  # NumPy's numbers do not go into JSON

    def _check_together(self):
        luong = self.attention == "luong"
        if luong and self.score == "dot" and self.width_of_state != self.d_h:
            self._refuse(
                "d_s" if self.d_s else "score",
                f'd_s = d_h for the score "dot" (d_s = {self.width_of_state}, d_h = {self.d_h}'
                f"{', a bidirectional encoder doubles d_h' if self.bidirectional else ''})",
                f'd_s={self.d_h}, or score="general"',
            )
        if self.n_heads > 1 and (not luong or self.score == "concat"):
            self._refuse(
                "n_heads",
                'n_heads=1 unless Luong attention scores "dot" or "general"',
                'n_heads=1, or attention="luong", score="general"',
            )
        if self.d_h % self.n_heads:
            self._refuse("n_heads", f"a divisor of d_h = {self.d_h}", "n_heads=1")
        if self.input_feeding and not luong:
            self._refuse(
                "input_feeding",
                'False unless attention is "luong"',
                "input_feeding=False (Bahdanau's context is part of the input already)",
            )
        if self.conditional and not (self.attends_first and self.decoder_layers == 1):
            self._refuse(
                "conditional",
                'False unless attention is "bahdanau" or "uniform" and decoder_layers is 1',
                "conditional=False",
            )
        if self.tied_embeddings == "all" and self.vocab_source != self.vocab_target:
            self._refuse(
                "tied_embeddings",
                f'"none" or "target" where vocab_source ({self.vocab_source}) and vocab_target '
                f"({self.vocab_target}) differ",
                'tied_embeddings="target", or one vocabulary for both sides',
            )
        if self.attention == "none" and (self.layer_norm or self.dropout_memory):
            name = "layer_norm" if self.layer_norm else "dropout_memory"
            self._refuse(
                name,
                'left out where the attention is "none": nothing reads the encoder states',
                f"leave {name} out",
            )
        self._check_tied_baseline()

    def _check_tied_baseline(self):
        baseline = self.attention == "none" and self.tied_embeddings != "none"
        if baseline and self.width_of_state != self.d_emb:
            self._refuse(
                "tied_embeddings",
                f'"none" where d_s ({self.width_of_state}) and d_emb ({self.d_emb}) differ and no '
                "readout stands between state and output layer",
                f"d_s={self.d_emb}",
            )

    def _refuse(self, name, expected, fix):
        raise ValueError(
            f"ModelConfig: {name} is {getattr(self, name)!r}; expected {expected}. Fix: {fix}."
        )

    @property
    def d_h(self) -> int:
        """Width of the encoder states."""
        return self.units * (2 if self.bidirectional else 1)

    @property
    def attends_first(self) -> bool:
        """Whether the context is made before the step, enters it, and is read out after it."""
        return self.attention in ("bahdanau", "uniform")

    @property
    def width_of_state(self) -> int:
        """d_s with its default filled in."""
        return self.d_s or self.units

    def dropout_of(self, part: str) -> float:
        """The dropout of "embedding" or "readout", with its default filled in."""
        own = getattr(self, f"dropout_{part}")
        return self.dropout if own is None else own

    def replace(self, **changes: Any) -> "ModelConfig":
        """A config with some fields changed, checked again."""
        return self.from_dict({**self.to_dict(), **changes})

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "ModelConfig":
        """The config of these fields; a name that is no field is refused with the nearest ones."""
        check_names("ModelConfig field", values, [field.name for field in fields(cls)])
        return cls(**values)


def check_names(kind: str, given: Iterable[str], known: Collection[str]) -> None:
    """Refuse names that are not known, with the nearest that are."""
    for name in given:
        if name not in known:
            near = get_close_matches(str(name), known, n=3, cutoff=0.5)
            hint = (
                f"did you mean {' or '.join(near)}?" if near else f"use one of {', '.join(known)}."
            )
            raise ValueError(
                f"{name!r} is no {kind}; expected one of {len(known)} known names. Fix: {hint}"
            )
