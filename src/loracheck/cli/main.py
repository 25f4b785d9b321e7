"""The `loracheck` command: registers the commands and turns errors into messages and exit codes."""

from __future__ import annotations

import io
import os
import sys
from typing import TYPE_CHECKING

import click

from loracheck.cli.adapters import convert, inspect, null
from loracheck.cli.cases import cases
from loracheck.cli.check import check, demo
from loracheck.cli.completion import HOW_TO
from loracheck.cli.locate import locate
from loracheck.cli.machine import cache, doctor
from loracheck.cli.options import Commands
from loracheck.cli.quantize import quantize
from loracheck.cli.reports import diff, report, score
from loracheck.cli.sweep import sweep
from loracheck.errors import InputError, LoracheckError
from loracheck.text import visible

if TYPE_CHECKING:
    from loracheck.engine import Engine

INTERRUPTED = 130
# What a shell says of any program whose reader, such as `head`, went away.
CUT_SHORT = 141


@click.group(
    cls=Commands, epilog=HOW_TO, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(package_name="loracheck")
def cli() -> None:
    """Does this LoRA adapter still call tools the way its base does?

    \b
    Try it:
      loracheck demo
      loracheck check --base model.gguf --adapter mine.gguf
      loracheck inspect mine.gguf
    """


for _command in (
    check,
    sweep,
    locate,
    demo,
    cases,
    convert,
    inspect,
    null,
    quantize,
    score,
    report,
    diff,
    cache,
    doctor,
):
    cli.add_command(_command)


def main() -> None:
    """Entry point of the console script."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # Model output may hold letters that the terminal's encoding has not.
            stream.reconfigure(errors="backslashreplace")
    sys.exit(run())


def run(args: list[str] | None = None, engine: Engine | None = None) -> int:
    """Run the command line and give its exit code; every error is printed once, here.

    `engine` answers instead of llama.cpp where a check is run.
    """
    try:
        code = cli.main(args, prog_name="loracheck", standalone_mode=False, obj=engine)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except LoracheckError as error:
        # Messages quote names out of strangers' files.
        said = "\n".join(map(visible, str(error).split("\n")))
        click.echo(f"Error: {said}", err=True)
        return error.exit_code
    except (KeyboardInterrupt, click.Abort) as stop:
        # click puts an Abort around the interrupt, which may say what is kept.
        click.echo(" ".join(("Interrupted.", *map(str, (stop.__cause__ or stop).args))), err=True)
        return INTERRUPTED
    except OSError as error:
        # Most likely a full disk behind standard output: what is printed at the end, once more, would fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        click.echo(f"Error: {error.filename or 'standard output'}: {error.strerror}", err=True)
        return InputError.exit_code
    except SystemExit as end:
        # A shell was told how to complete a command; or click's own answer to a closed pipe.
        return CUT_SHORT if end.code else 0
    # What a command gave to `ctx.exit`, or None.
    return code or 0
