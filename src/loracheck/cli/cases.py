"""`loracheck cases`: cases from other formats, and the built-in ones."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from loracheck.cli.options import INPUT, OUTPUT, LazyChoice
from loracheck.text import counted, visible

if TYPE_CHECKING:
    from rich.table import Table

_REASONS_SHOWN = 12
_LINES_SHOWN = 5
_WIDEST = 24
_LONGEST_REQUEST = 120

EXAMPLES = """\b
Examples:
  loracheck cases list
  loracheck cases show core
  loracheck cases import train.jsonl -o cases.jsonl"""

IMPORT_EXAMPLES = """\b
Examples:
  loracheck cases import train.jsonl -o cases.jsonl
  loracheck cases import xlam.json --sample 100 --seed 1 -o cases.jsonl
  loracheck cases import questions.json --answers answers.json -o cases.jsonl"""


def _format_names() -> Iterable[str]:
    from loracheck.cases.importers import FORMATS

    return FORMATS


@click.group(epilog=EXAMPLES)
def cases() -> None:
    """Import cases from other formats; list and show the built-in ones."""


@cases.command("import", epilog=IMPORT_EXAMPLES)
@click.argument("file", type=INPUT)
@click.option("-o", "--output", type=OUTPUT, required=True, help="Where to write the cases, as JSON lines.")
@click.option(
    "--format", type=LazyChoice(_format_names), help="The format of FILE.  [default: detected from its records]"
)
@click.option("--answers", type=INPUT, help="BFCL's accepted answers, if they are not where BFCL keeps them.")
@click.option("--limit", type=click.IntRange(1), help="Take only this many cases, the first ones.")
@click.option("--sample", type=click.IntRange(1), help="Take only this many cases, drawn at random.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Same seed, same sample.")
def import_(
    file: Path,
    output: Path,
    format: str | None,  # noqa: A002 - the option's own name, which its messages use
    answers: Path | None,
    limit: int | None,
    sample: int | None,
    seed: int,
) -> None:
    """Turn fine-tuning or benchmark data into cases.

    FILE is JSON lines or one JSON array: OpenAI's fine-tuning format, BFCL v3 or v4, ShareGPT the way Hermes and others
    use it, or xLAM (APIGen).

    Each conversation becomes one case. The assistant's last turn is the expected answer, and everything before it is
    the question. If that turn has several calls in a row, the last one is expected; of calls made at once, the first.
    A turn without a call becomes a case that expects no call.

    Records that cannot be used are counted on standard error, with the reason.
    """
    from loracheck.cases.importers import import_cases, write_cases
    from loracheck.cases.read import read_text_file
    from loracheck.errors import CasesError

    if limit and sample:
        raise click.UsageError("--limit and --sample exclude each other")
    if output.exists() and file.exists() and output.samefile(file):
        raise click.UsageError(f"-o {output}: this is the file to import; name another")
    if not output.absolute().parent.is_dir():
        raise click.UsageError(f"-o {output}: the folder does not exist; make it first")
    imported = import_cases(read_text_file(file), format, answers=answers, limit=limit, sample=sample, seed=seed)
    _tell("not used", [(skipped.line, skipped.reason) for skipped in imported.skipped])
    _tell("used, but", imported.notes)
    if not imported.cases:
        raise CasesError(f"{file}: no record could be used")
    write_cases(output, imported.cases)
    no_calls = sum(case.expect == "no_call" for case in imported.cases)
    click.echo(f"wrote {output}: {counted(len(imported.cases), 'case')}, {no_calls} of them without a call")


@cases.command("list", epilog="\b\nExample:\n  loracheck cases list")
def list_() -> None:
    """List the built-in packs of cases."""
    from loracheck.cases.load import PACKS, load_pack, pack_names

    table = _table("pack", "cases", "tools", "no call", "")
    for name in pack_names():
        pack = load_pack(name)
        tools = {tool.name for case in pack for tool in case.surface}
        no_calls = sum(case.expect == "no_call" for case in pack)
        table.add_row(name, str(len(pack)), str(len(tools)), str(no_calls), PACKS[name])
    _print(table)


@cases.command(epilog="\b\nExamples:\n  loracheck cases show core\n  loracheck cases show my.jsonl --id 12 --json")
@click.argument("pack")
@click.option("--id", "case_id", help="Show only this case, in full.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON lines instead of a table.")
def show(pack: str, case_id: str | None, as_json: bool) -> None:
    """Show the cases of a built-in PACK, or of a file of cases."""
    import json

    from loracheck.cases.load import find_cases
    from loracheck.errors import CasesError

    chosen = find_cases(pack)
    if case_id is not None:
        chosen = tuple(case for case in chosen if case.id == case_id)
        if not chosen:
            raise CasesError(f"{pack}: no case has the id {case_id!r}; `loracheck cases show {pack}` lists them")
    if as_json:
        for case in chosen:
            click.echo(json.dumps(case.model_dump(exclude_unset=True)))
    elif case_id is not None:
        for key, value in chosen[0].model_dump(exclude_unset=True).items():
            text = value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)
            click.echo(f"{key}: " + "\n".join(map(visible, text.split("\n"))))
    else:
        table = _table("id", "expects", "tools", "request")
        for case in chosen:
            expected = "no call" if case.expect == "no_call" else visible(case.gold or "")
            # A request may be a page long, and its beginning is enough to recognize it.
            request = visible(case.question)
            if len(request) > _LONGEST_REQUEST:
                request = f"{request[: _LONGEST_REQUEST - 1]}…"
            table.add_row(visible(case.id), expected, str(len(case.surface)), request)
        _print(table)


def _tell(title: str, remarks: Iterable[tuple[int, str]]) -> None:
    """A table of remarks on standard error, the most frequent first."""
    lines: dict[str, list[int]] = {}
    for line, remark in remarks:
        lines.setdefault(remark, []).append(line)
    if not lines:
        return
    table = _table("records", "lines", title)
    ranked = sorted(lines.items(), key=lambda item: -len(item[1]))
    for remark, numbers in ranked[:_REASONS_SHOWN]:
        more = ", …" if len(numbers) > _LINES_SHOWN else ""
        table.add_row(str(len(numbers)), ", ".join(map(str, numbers[:_LINES_SHOWN])) + more, visible(remark))
    rest = ranked[_REASONS_SHOWN:]
    if rest:
        table.add_row(str(sum(len(numbers) for _, numbers in rest)), "", f"{len(rest)} other reasons")
    _print(table, stderr=True)


def _table(*columns: str) -> Table:
    """The last column takes what the others leave."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), expand=True)
    for column in columns[:-1]:
        table.add_column(column, no_wrap=True, max_width=_WIDEST)
    table.add_column(columns[-1], ratio=1)
    return table


def _print(table: Table, *, stderr: bool = False) -> None:
    from rich.console import Console

    Console(stderr=stderr, highlight=False, emoji=False, markup=False).print(table)
