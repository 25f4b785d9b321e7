"""`loracheck cache`: what is kept between runs, and how to get rid of it."""

from __future__ import annotations

import click

EXAMPLES = "\b\nExamples:\n  loracheck cache info\n  loracheck cache clear"


@click.group(epilog=EXAMPLES)
def cache() -> None:
    """Show or empty what is kept between runs: answers, and the demo's model.

    It is in the user's cache folder; LORACHECK_CACHE moves it. Losing it costs time, never a result.
    """


@cache.command(epilog="\b\nExample:\n  loracheck cache info")
def info() -> None:
    """Show where the cache is and what it holds."""
    from loracheck.cached import look

    found = look()
    click.echo(f"folder   {found.folder}")
    click.echo(f"answers  {_amount(found.answers, 'answer')}, {_size(found.store_bytes)}")
    if found.converted:
        click.echo(f"adapters {_amount(found.converted, 'converted adapter')}, {_size(found.converted_bytes)}")
    for name, size in found.models.items():
        click.echo(f"model    {name}, {_size(size)}")
    if not found.models:
        click.echo("models   none fetched")
    for warning in found.warnings:
        click.echo(f"Warning: {warning}", err=True)


@cache.command(epilog="\b\nExamples:\n  loracheck cache clear\n  loracheck cache clear --models")
@click.option("--models", is_flag=True, help="Remove the fetched models as well.")
def clear(models: bool) -> None:
    """Remove the stored answers and the converted adapters."""
    from loracheck.cached import remove

    removed = remove(models=models)
    for path in removed:
        click.echo(f"removed {path}")
    if not removed:
        click.echo("nothing to remove")


def _amount(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def _size(count: float) -> str:
    for unit in ("B", "kB", "MB"):
        if count < 1000:
            return f"{count:.0f} {unit}"
        count /= 1000
    return f"{count:.1f} GB"
