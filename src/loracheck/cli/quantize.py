"""`loracheck quantize`: a smaller copy of a model, by llama.cpp's own quantizer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from loracheck.cli.completion import MODEL_FILE
from loracheck.cli.options import OUTPUT
from loracheck.engine import TIMEOUT
from loracheck.errors import InputError
from loracheck.file_types import MAKEABLE

EXAMPLES = """\b
Examples:
  loracheck quantize model-F16.gguf --to Q4_K_M -o model-Q4_K_M.gguf
  loracheck check --base model-F16.gguf --candidate model-Q4_K_M.gguf
"""


# Not ParamType[str], which older versions of click do not know.
class FileType(click.ParamType):  # type: ignore[type-arg]
    """A quantization that can be made without an importance matrix, in capitals or not."""

    name = "type"

    def shell_complete(self, ctx: Any, param: Any, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002 - of click
        return [CompletionItem(name) for name in MAKEABLE if name.startswith(incomplete.upper())]

    def convert(self, value: Any, param: Any, ctx: Any) -> str:
        from loracheck.quantized import file_type

        try:
            return file_type(str(value))
        except InputError as error:
            self.fail(str(error), param, ctx)


@click.command(epilog=EXAMPLES)
@click.argument("model", type=MODEL_FILE)
@click.option("--to", type=FileType(), required=True, help=f"One of {', '.join(MAKEABLE)}.")
@click.option("-o", "--output", type=OUTPUT, required=True, help="Where to write the quantized model.")
@click.option("--force", is_flag=True, help="Replace the file that is there.")
@click.option("--threads", type=click.IntRange(1, 512), help="CPU threads.  [default: by the machine]")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=TIMEOUT,
    show_default=True,
    help="Seconds without a byte written after which llama.cpp is stopped.",
)
@click.option("-q", "--quiet", is_flag=True, help="No progress.")
def quantize(model: Path, to: str, output: Path, force: bool, threads: int | None, timeout: float, quiet: bool) -> None:
    """Write a quantized copy of a GGUF model, by llama.cpp's own quantizer.

    The file is written whole or not at all. A model split over several files, named by its first, becomes one file.
    Types that need an importance matrix are not made here.
    """
    from loracheck.quantized import quantize, requantizing

    warning = requantizing(model)
    if warning:
        click.echo(f"Warning: {warning}", err=True)
    tell = None if quiet else lambda line: click.echo(line, err=True)
    quantize(model, to, output, force=force, threads=threads, timeout=timeout, tell=tell)
    click.echo(f"wrote {output}: {to}, {output.stat().st_size:,} bytes")
