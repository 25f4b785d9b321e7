"""`loracheck null`: write noise adapters shaped like a given one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from loracheck.cli.options import INPUT, OUTPUT

if TYPE_CHECKING:
    from pathlib import Path


@click.command(epilog="\b\nExample:\n  loracheck null --like mine.gguf --seed 1000 --scale 0.02 -o null.gguf")
@click.option("--like", type=INPUT, required=True, help="The adapter whose shape to take.")
@click.option("-o", "--output", type=OUTPUT, required=True, help="Where to write the noise adapter.")
@click.option("--seed", type=int, default=1000, show_default=True, help="Same seed, same bytes.")
@click.option("--scale", type=float, default=0.02, show_default=True, help="Standard deviation of the noise.")
@click.option(
    "--rank-multiplier",
    type=float,
    default=1.0,
    show_default=True,
    help="Noise as strong as an adapter of so many times the rank would make it.",
)
def null(like: Path, output: Path, seed: int, scale: float, rank_multiplier: float) -> None:
    """Write a random-noise adapter with the tensors, shapes, rank and alpha of another."""
    from loracheck.adapters.null import write_null

    write_null(like, output, seed=seed, init_scale=scale, rank_multiplier=rank_multiplier)
    click.echo(f"wrote {output}")
