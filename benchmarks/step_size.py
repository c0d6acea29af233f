"""The size of a training step, and the multiply-adds that its matrix products take."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class StepSize:
    """A batch of sentence pairs and a bidirectional GRU model with Bahdanau attention.

    `width` is d_emb, the units of one encoder direction, d_s and d_attn alike, so d_h = 2 x width;
    sources and targets have `length` tokens, without padding.
    """

    batch: int
    length: int
    vocab: int
    width: int

    @classmethod
    def parse(cls, text: str) -> StepSize:
        """From "batch,length,vocab,width".

        Raises:
            ValueError: not four whole numbers, or too small ones.
        """
        parts = text.split(",")
        if len(parts) != 4 or not all(part.strip().isdigit() for part in parts):
            raise ValueError(
                f"a size must be BATCH,LENGTH,VOCAB,WIDTH, got {text!r}. Fix: 64,20,4096,256."
            )
        size = cls(*map(int, parts))
        if min(size.batch, size.length, size.width) < 1 or size.vocab < 6:
            raise ValueError(f"a size must be at least 1,1,6,1, got {text!r}. Fix: 64,20,4096,256.")
        return size

    def __str__(self) -> str:
        return (
            f"batch {self.batch}, length {self.length}, vocabulary {self.vocab}, width {self.width}"
        )

    @property
    def tokens(self) -> int:
        """Target tokens a step."""
        return self.batch * self.length

    def forward_multiply_adds(self) -> dict[str, int]:
        """Multiply-adds of each product of a forward pass, in the letters of the paper.

        For each row of the batch, with T_enc = T_dec = T: a product with a matrix (a, b) takes
        a x b multiply-adds for each vector; the scores and the context take d_attn and d_h for
        each pair of steps. Sums, activations and the softmax are not products and are not counted.
        """
        d_emb = d_s = d_attn = self.width
        d_h = 2 * self.width
        steps = self.tokens
        pairs = self.batch * self.length**2
        return {
            "encoder": 2 * steps * 3 * d_s * (d_emb + d_s),
            "bridge": self.batch * d_s * d_s,
            "keys U_a h_i": steps * d_h * d_attn,
            "query W_a s_{t-1}": steps * d_s * d_attn,
            "scores v_a": pairs * d_attn,
            "contexts c_t": pairs * d_h,
            "decoder": steps * 3 * d_s * (d_emb + d_h + d_s),
            "readout": steps * (d_s + d_h + d_emb) * d_emb,
            "output": steps * d_emb * self.vocab,
        }

    def step_multiply_adds(self) -> int:
        """Multiply-adds of a training step: three times a forward pass.

        For a product A B the backward pass makes two of the same size, for the gradients of A and
        of B. The optimizer makes none.
        """
        return 3 * sum(self.forward_multiply_adds().values())
