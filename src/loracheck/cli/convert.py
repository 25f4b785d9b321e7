"""`loracheck convert`: a PEFT adapter folder to GGUF."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from loracheck.cli.options import INPUT, OUTPUT

if TYPE_CHECKING:
    from pathlib import Path

_EXAMPLES = """\b
Examples:
  loracheck convert my-adapter --base model.gguf -o my-adapter.gguf
  loracheck convert outputs/checkpoint-500 --base model.gguf --outtype f16 -o adapter.gguf
"""
_PATIENCE = 2.0


@click.command(epilog=_EXAMPLES)
@click.argument("peft", metavar="PEFT_DIR", type=INPUT)
@click.option("--base", type=INPUT, required=True, help="The GGUF model that the adapter is for.")
@click.option("-o", "--output", type=OUTPUT, required=True, help="Where to write the GGUF adapter.")
@click.option(
    "--outtype",
    type=click.Choice(["f32", "f16"]),
    default="f32",
    show_default=True,
    help="How to store the numbers: f32 loses nothing, f16 takes half the room.",
)
def convert(peft: Path, base: Path, output: Path, outtype: str) -> None:
    """Convert a PEFT LoRA adapter (a folder with adapter_config.json) to GGUF, without PyTorch.

    What a GGUF adapter cannot express, such as DoRA or modules trained in full, is refused by name.
    """
    from threading import Timer

    from loracheck.adapters.peft import convert
    from loracheck.report.text import visible

    note = Timer(_PATIENCE, click.echo, [f"converting {peft} ..."], {"err": True})
    note.start()
    try:
        done = convert(peft, base, output, outtype)
    finally:
        note.cancel()
    for name in done.left_out:
        click.echo(f"left out {visible(name)}: a copy of the base's own weights", err=True)
    ranks = ", ".join(map(str, done.ranks))
    facts = f"{len(done.updates)} pairs, rank {ranks}, alpha {done.alpha:g}, {output.stat().st_size:,} bytes"
    click.echo(f"wrote {output}: {facts}")
