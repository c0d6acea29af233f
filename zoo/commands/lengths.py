"""Lists of lengths on the command line."""

from __future__ import annotations

import click

STUDY_LENGTHS = (5, 10, 20, 40, 80)


class Lengths(click.ParamType):
    """Lengths separated by commas, as a tuple of different whole numbers from 1."""

    name = "lengths"

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        """How help shows it."""
        return "N,N,..."

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, ...]:
        """The lengths in increasing order, or a usage error."""
        if isinstance(value, tuple):
            return value
        try:
            lengths = sorted({int(word) for word in str(value).split(",")})
        except ValueError:
            self.fail(f"expected lengths such as 5,10,20, got {value!r}", param, ctx)
        if lengths[0] < 1:
            self.fail(f"expected lengths from 1, got {lengths[0]}", param, ctx)
        return tuple(lengths)


LENGTHS = Lengths()


def default_lengths(max_length: int) -> tuple[int, ...]:
    """The study's lengths that fit with their eos into `max_length` tokens; else the longest."""
    return tuple(n for n in STUDY_LENGTHS if n < max_length) or (max_length - 1,)
