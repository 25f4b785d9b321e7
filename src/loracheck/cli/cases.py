"""`loracheck cases`: cases from other formats, whether cases fit their tools, and the built-in ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from loracheck.cases import PACKS
from loracheck.cli.asking import TOOLS
from loracheck.cli.completion import CASES_OR_PACK, RECORDS_FILE
from loracheck.cli.options import OUTPUT, Commands, OneOf
from loracheck.text import counted, visible

if TYPE_CHECKING:
    from rich.table import Table

    from loracheck.cases.case import Case, Tool
    from loracheck.cases.fit import CasesFit

_REASONS_SHOWN = 12
_LINES_SHOWN = 5
_WIDEST = 24
_LONGEST_REQUEST = 120
_MISFITS_SHOWN = 40
_NAMES_SHOWN = 8
_LONGEST_NAME = 36

EXAMPLES = """\b
Examples:
  loracheck cases list
  loracheck cases show core
  loracheck cases import train.jsonl -o cases.jsonl
  loracheck cases check cases.jsonl"""

IMPORT_EXAMPLES = """\b
Examples:
  loracheck cases import train.jsonl -o cases.jsonl
  loracheck cases import xlam.json --sample 100 --seed 1 -o cases.jsonl
  loracheck cases import questions.json --answers answers.json -o cases.jsonl"""

CHECK_EXAMPLES = """\b
Examples:
  loracheck cases check cases.jsonl
  loracheck cases check prompts.yaml --tools mcp-tools.json

\b
Exit codes: 0 all cases fit, 2 some do not, or bad input."""


def _format_names() -> Iterable[str]:
    from loracheck.cases.importers import FORMATS

    return FORMATS


@click.group(cls=Commands, epilog=EXAMPLES)
def cases() -> None:
    """Import cases from other formats; check your own; list and show the built-in ones."""


@cases.command("import", epilog=IMPORT_EXAMPLES)
@click.argument("file", type=RECORDS_FILE)
@click.option("-o", "--output", type=OUTPUT, required=True, help="Where to write the cases, as JSON lines.")
@click.option("--format", type=OneOf(_format_names), help="The format of FILE.  [default: detected from its records]")
@click.option("--answers", type=RECORDS_FILE, help="BFCL's accepted answers, if they are not where BFCL keeps them.")
@TOOLS
@click.option("--limit", type=click.IntRange(1), help="Take only this many cases, the first ones.")
@click.option("--sample", type=click.IntRange(1), help="Take only this many cases, drawn at random.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Same seed, same sample.")
def import_(
    file: Path,
    output: Path,
    format: str | None,  # noqa: A002 - the option's own name, which its messages use
    answers: Path | None,
    tools_file: Path | None,
    limit: int | None,
    sample: int | None,
    seed: int,
) -> None:
    """Turn fine-tuning or benchmark data into cases.

    FILE is JSON lines or one JSON array: OpenAI's fine-tuning format, BFCL v3 or v4, ShareGPT the way Hermes and others
    use it, or xLAM (APIGen).

    Each conversation becomes one case. The assistant's last turn is the expected answer, and everything before it is
    the question. Of several calls in a row in that turn, the last one is expected; of calls made at once, all are. A
    turn without a call becomes a case that expects no call.

    Records that cannot be used are counted on standard error, with the reason.
    """
    from loracheck.cases.importers import import_cases, write_cases
    from loracheck.cases.read import read_text_file
    from loracheck.errors import CasesError

    if limit and sample:
        raise click.UsageError("--limit and --sample exclude each other; give one of them")
    if output.exists() and file.exists() and output.samefile(file):
        raise click.UsageError(f"-o {output}: this is the file to import; name another")
    if not output.absolute().parent.is_dir():
        raise click.UsageError(f"-o {output}: the folder does not exist; make it first")
    source = read_text_file(file, tools=_tools(tools_file))
    imported = import_cases(source, format, answers=answers, limit=limit, sample=sample, seed=seed)
    _tell("not used", [(skipped.line, skipped.reason) for skipped in imported.skipped])
    _tell("used, but", imported.notes)
    if not imported.cases:
        raise CasesError(f"{file}: no record could be used; the reasons are above")
    write_cases(output, imported.cases)
    no_calls = sum(not case.expects_call for case in imported.cases)
    several = sum(len(case.expected_calls) > 1 for case in imported.cases)
    with_several = f", {several} with several calls" if several else ""
    click.echo(
        f"wrote {output}: {counted(len(imported.cases), 'case')}, {no_calls} of them without a call{with_several}"
    )


@cases.command(epilog=CHECK_EXAMPLES)
@click.argument("file", shell_complete=CASES_OR_PACK.shell_complete)
@TOOLS
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, with every case in it.")
@click.pass_context
def check(ctx: click.Context, file: str, tools_file: Path | None, as_json: bool) -> None:
    """Check whether the calls that cases expect fit their tools.

    FILE is a file of cases, ours or one that can be imported, or a built-in pack. Each expected call must name a tool
    that is on offer, and all the arguments it accepts must fit the whole JSON Schema of that tool. Also told are tools
    that no case asks for, and tools whose names are easy to confuse.
    """
    from loracheck.cases.fit import fit_of
    from loracheck.cases.load import find_cases, tell_if_not_used

    tell = partial(click.echo, err=True)
    tools = _tools(tools_file)
    checked = find_cases(file, tell, tools)
    if tools:
        tell_if_not_used(tools, checked, tell)
    fit = fit_of(checked)
    if as_json:
        click.echo(_as_json(checked, fit))
    else:
        _show_fit(checked, fit)
    ctx.exit(2 if fit.misfits else 0)


def _tools(file: Path | None) -> tuple[Tool, ...]:
    from loracheck.cases.load import load_tools

    return load_tools(file) if file else ()


def _as_json(checked: Sequence[Case], fit: CasesFit) -> str:
    import json

    problems: dict[str, list[dict[str, str]]] = {case.id: [] for case in checked}
    for misfit in fit.misfits:
        problems[misfit.case].append({"tool": misfit.tool, "problem": misfit.problem})
    listed = [{"id": name, "fits": not found, "problems": found} for name, found in problems.items()]
    return json.dumps({"cases": listed, "not_asked_for": fit.not_asked_for, "near": fit.near}, indent=2)


def _show_fit(checked: Sequence[Case], fit: CasesFit) -> None:
    if fit.misfits:
        table = _table("case", "tool", "what does not fit")
        for misfit in fit.misfits[:_MISFITS_SHOWN]:
            table.add_row(visible(misfit.case), visible(misfit.tool), visible(misfit.problem))
        if len(fit.misfits) > _MISFITS_SHOWN:
            table.add_row("…", "", f"{len(fit.misfits) - _MISFITS_SHOWN} more; --json lists all")
        _print(table)
    fitting = len(checked) - len({misfit.case for misfit in fit.misfits})
    click.echo(f"{fitting} of {counted(len(checked), 'case')} fit their tools.")
    _show_names("No case asks for:", [_short(name) for name in fit.not_asked_for])
    _show_names("Easy to confuse:", [" and ".join(map(_short, both)) for both in fit.near])


def _show_names(title: str, names: Sequence[str]) -> None:
    if not names:
        return
    click.echo(title)
    for name in names[:_NAMES_SHOWN]:
        click.echo(f"  {name}")
    if len(names) > _NAMES_SHOWN:
        click.echo(f"  … {len(names) - _NAMES_SHOWN} more; --json lists all")


def _short(name: str) -> str:
    name = visible(name)
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"


@cases.command("list", epilog="\b\nExample:\n  loracheck cases list")
def list_() -> None:
    """List the built-in packs of cases."""
    from loracheck.cases.load import load_pack, pack_names

    table = _table("pack", "cases", "tools", "no call", "")
    for name in pack_names():
        pack = load_pack(name)
        tools = {tool.name for case in pack for tool in case.surface}
        no_calls = sum(not case.expects_call for case in pack)
        table.add_row(name, str(len(pack)), str(len(tools)), str(no_calls), PACKS[name])
    _print(table)


@cases.command(epilog="\b\nExamples:\n  loracheck cases show core\n  loracheck cases show my.jsonl --id 12 --json")
@click.argument("pack", shell_complete=CASES_OR_PACK.shell_complete)
@click.option("--id", "case_id", help="Show only this case, in full.")
@TOOLS
@click.option("--json", "as_json", is_flag=True, help="Print JSON lines instead of a table.")
def show(pack: str, case_id: str | None, tools_file: Path | None, as_json: bool) -> None:
    """Show the cases of a built-in PACK, or of a file of cases."""
    import json

    from loracheck.cases.load import find_cases
    from loracheck.errors import CasesError

    chosen = find_cases(pack, tools=_tools(tools_file))
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
            names = [visible(call.name) for call in case.expected_calls]
            expected = ", ".join(names) or ("any call" if case.expects_call else "no call")
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
