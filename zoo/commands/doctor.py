"""`attention-zoo doctor`: which tensor of a broken attention has the wrong shape."""

from __future__ import annotations

import json

import click

from attention_zoo.layers.attention_axes import MECHANISMS

SOMETHING_IS_WRONG = 1


@click.command("doctor", short_help="Name the tensor of a broken attention that is wrong.")
@click.argument("file")
@click.option(
    "--mechanism", type=click.Choice(MECHANISMS), required=True, help="What the arrays are of."
)
@click.option("--n-heads", type=click.IntRange(1), default=1, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="One JSON object, the test included.")
@click.option("--test", "as_test", is_flag=True, help="Print only a test to paste, for pytest.")
@click.pass_context
def command(
    ctx: click.Context, file: str, mechanism: str, n_heads: int, as_json: bool, as_test: bool
) -> None:
    """Find out which of the arrays in FILE, an .npz of NumPy's `savez`, has a wrong shape.

    Names of arrays: query, keys, memory, mask, W_a, U_a, v_a, W_c, scores, weights, context, and
    state_before and state_after for s_{t-1} and s_t; any of them will do, the more the better.

    \b
    Ends with exit code
      0  healthy: all tensors agree
      1  something is wrong, or ambiguous
      2  the file, or a name in it, is of no use

    \b
    Examples:
      attention-zoo doctor step.npz --mechanism bahdanau
      attention-zoo doctor step.npz --mechanism luong_general --json
      attention-zoo doctor step.npz --mechanism luong_dot --test > test_shapes.py
    """
    from attention_zoo.commands.array_file import read_arrays
    from attention_zoo.layers import diagnose

    if as_json and as_test:
        raise click.UsageError("--json and --test: choose one; the JSON has the test too.")
    arrays = read_arrays(file)
    for name, option in (("mechanism", "--mechanism"), ("n_heads", "--n-heads")):
        if name in arrays:
            raise ValueError(f"{file}: {name} is no tensor. Fix: leave it out and give {option}.")
    diagnosis = diagnose(mechanism, n_heads=n_heads, **arrays)
    if as_json:
        click.echo(json.dumps(diagnosis.to_dict(), indent=2))
    elif as_test:
        click.echo(diagnosis.regression_test(), nl=False)
    else:
        click.echo(str(diagnosis))
    ctx.exit(0 if diagnosis.verdict == "healthy" else SOMETHING_IS_WRONG)
