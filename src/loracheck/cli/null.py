"""`loracheck null`: write noise adapters shaped like a given one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import click

from loracheck.cli.options import INPUT, OUTPUT

if TYPE_CHECKING:
    from pathlib import Path


EXAMPLES = """\b
Examples:
  loracheck null --like mine.gguf --seed 1000 --scale 0.02 -o null.gguf
  loracheck null --like mine.gguf --match norm -o null.gguf"""


@click.command(epilog=EXAMPLES)
@click.option("--like", type=INPUT, required=True, help="The adapter whose shape to take.")
@click.option("-o", "--output", type=OUTPUT, required=True, help="Where to write the noise adapter.")
@click.option("--seed", type=int, default=1000, show_default=True, help="Same seed, same bytes.")
@click.option(
    "--match",
    type=click.Choice(["scale", "norm"]),
    default="scale",
    show_default=True,
    help="Size the noise by --scale, or give each pair the update norm that it has in the adapter.",
)
@click.option(
    "--scale",
    type=float,
    default=0.02,
    show_default=True,
    help="Standard deviation of the noise; not used with --match norm.",
)
@click.option(
    "--rank-multiplier",
    type=float,
    default=1.0,
    show_default=True,
    help="Noise as strong as an adapter of so many times the rank would make it.",
)
def null(
    like: Path, output: Path, seed: int, match: Literal["scale", "norm"], scale: float, rank_multiplier: float
) -> None:
    """Write a random-noise adapter with the tensors, shapes, rank and alpha of another."""
    from loracheck.adapters.null import write_null

    write_null(like, output, seed=seed, init_scale=scale, rank_multiplier=rank_multiplier, match=match)
    size = f"the update norms of {like}" if match == "norm" else f"--scale {scale:g}"
    click.echo(f"wrote {output}: noise sized by {size}")
