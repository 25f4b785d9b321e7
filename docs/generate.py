"""Writes what the code already knows into docs/: `python docs/generate.py`; with --check, only says what is stale.

cli.md is made from --help, suite.md from the models of the suite file. On the other pages, a ```console block has a
command in its first line, and the lines below it are what that command prints. The commands find an adapter mine.gguf
in their folder, and no base model.
"""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
import types
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import dedent
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin

import annotated_types
import click
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from loracheck.cases.case import Case, GoldCall, Message, Tool
from loracheck.cases.entries import Entry
from loracheck.cases.suite import AdapterEntry, BaseEntry, Defaults, FtEntry, Models, SweepEntry
from loracheck.cli.main import cli
from loracheck.probes import suite_type
from loracheck.scoring.dialects import DIALECTS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    Model = type[BaseModel]

DOCS = Path(__file__).parent
WIDTH = 80

CLI_HEAD = """\
# The command line

<!-- Written by `make docs` from --help. -->
"""

COMPLETION = """
## Completion

The tab key completes commands, options and their values, once your shell knows how. Add one line to its start file, and
open a new shell:

| shell | start file | line |
| --- | --- | --- |
| bash 4.4 or newer | `~/.bashrc` | `eval "$(_LORACHECK_COMPLETE=bash_source loracheck)"` |
| zsh | `~/.zshrc`, below `compinit` | `eval "$(_LORACHECK_COMPLETE=zsh_source loracheck)"` |
| fish | `~/.config/fish/config.fish` | `_LORACHECK_COMPLETE=fish_source loracheck \\| source` |

To spare the shell that step at each start, write the script to a file once, and read that instead:

```sh
_LORACHECK_COMPLETE=bash_source loracheck > ~/.loracheck-completion.bash
echo 'source ~/.loracheck-completion.bash' >> ~/.bashrc
```

What is offered is what fits: `--base` and `--candidate` complete to GGUF models, `--adapter` to GGUF adapters and PEFT
folders, SUITE to suite files, `report`, `diff` and `--like` to saved reports, `--cases` and `cases show` to files and
the built-in packs, `--dialect`, `--quantize`, `--format`, and `demo --model` and `--adapter` to their names. Files are
told apart by their first bytes, in the folder you are typing and one below it. Where nothing fits, the shell completes
files as it always does.
"""

SUITE_HEAD = """\
# The suite file

<!-- Written by `make docs` from the models in src/loracheck/cases. -->

```yaml
{example}```

Relative paths start at the file's folder, and options on the command line win over the file. A key that is not listed
here, a key that is there twice, or a name that is used twice is an error, and the message gives the file, the line and
the fix. `yes`, `on` and dates are plain text here, as in JSON.
"""

NAMES: dict[Model, str] = {
    suite_type(): "The file",
    Models: "models",
    BaseEntry: "base",
    FtEntry: "ft",
    AdapterEntry: "adapter",
    Defaults: "defaults",
    SweepEntry: "sweep",
    Case: "case",
    Message: "message",
    GoldCall: "call",
    Tool: "tool",
}
WORDS = {str: "text", int: "whole number", float: "number", bool: "true or false", dict: "mapping", Path: "path"}


def pages() -> dict[Path, str]:
    """What stands in docs/ when nothing is stale."""
    made = {DOCS / "cli.md": cli_page(), DOCS / "suite.md": suite_page()}
    written = (page for page in sorted(DOCS.glob("*.md")) if page not in made)
    return made | {page: with_outputs(page.read_text(encoding="utf-8")) for page in written}


def cli_page() -> str:
    top = click.Context(cli, info_name="loracheck", terminal_width=WIDTH, **cli.context_settings)
    return CLI_HEAD + "".join(_help(top, 2)) + COMPLETION


def _help(context: click.Context, level: int) -> Iterator[str]:
    yield f"\n{'#' * level} {context.command_path}\n\n```text\n{context.get_help().rstrip()}\n```\n"
    if isinstance(context.command, click.Group):
        # A group's own commands are one level down; those of the program stand beside it.
        below = level + (context.parent is not None)
        for name, command in context.command.commands.items():
            yield from _help(click.Context(command, info_name=name, parent=context), below)


def suite_page() -> str:
    head = SUITE_HEAD.format(example=(DOCS / "example.yaml").read_text(encoding="utf-8"))
    return head + "".join(map(_section, models_below(suite_type()))) + _dialects()


def _dialects() -> str:
    rows = [f"| `{name}` | {_plain(dialect.title)} |" for name, dialect in DIALECTS.items()]
    return "\n".join(["", "## dialect", "", "| name | calls are written as |", "| --- | --- |", *rows, ""])


def _plain(text: str) -> str:
    """Safe from being read as HTML, emphasis or the end of a table's cell."""
    return re.sub(r"([<|_*])", r"\\\1", text)


def models_below(model: Model) -> list[Model]:
    """The model and those inside it, each where it first occurs."""
    models = [model]
    for field in model.model_fields.values():
        models += [below for inner in _models_in(field.annotation) for below in models_below(inner)]
    return list(dict.fromkeys(models))


def _models_in(annotation: Any) -> Iterator[Model]:
    if inspect.isclass(annotation) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from _models_in(argument)


def _section(model: Model) -> str:
    meaning = meanings(model)
    rows = [
        f"| `{field.alias or name}` | {_takes(field)} | {_default(field)} | {meaning.get(name, '')} |"
        for name, field in fields(model).items()
    ]
    head = "| key | takes | default | meaning |\n| --- | --- | --- | --- |"
    return "\n".join(["", f"## {_name(model)}", "", *_about(model), head, *rows, ""])


def fields(model: Model) -> dict[str, FieldInfo]:
    """The fields to explain: the name and kind that every entry has are explained once."""
    common = Entry.model_fields if issubclass(model, Entry) else {}
    return {name: field for name, field in model.model_fields.items() if name not in common}


def meanings(model: Model) -> dict[str, str]:
    """The docstrings under a model's fields. They are read here: pydantic would read them at every start."""
    (written,) = ast.parse(dedent(inspect.getsource(model))).body
    assert isinstance(written, ast.ClassDef)
    docstrings = {}
    for field, below in zip(written.body, written.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant):
            docstrings[ast.unparse(field.target)] = " ".join(str(below.value.value).split())
    return docstrings


def _name(model: Model) -> str:
    return model.model_fields["kind"].default if issubclass(model, Entry) else NAMES[model]


def _about(model: Model) -> list[str]:
    return [model.__doc__.strip(), ""] if model.__doc__ else []


def _takes(field: FieldInfo) -> str:
    return ", ".join([_kind(field.annotation), *_bounds(field.metadata)])


def _kind(annotation: Any, s: str = "") -> str:
    """A type in plain words; `s` makes them several."""
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        bounds = [bound for each in inner[1:] if isinstance(each, FieldInfo) for bound in _bounds(each.metadata)]
        return ", each ".join([_kind(inner[0], s), *bounds])
    if origin in (Union, types.UnionType):
        return " or ".join(_kind(each, s) for each in inner if each is not types.NoneType)
    if origin is Literal:
        *others, last = (f"`{value}`" for value in inner)
        return f"{', '.join(others)} or {last}" if others else last
    if origin is tuple:
        return f"list of {_kind(inner[0], 's')}"
    if inspect.isclass(annotation) and issubclass(annotation, BaseModel):
        name = _name(annotation)
        return f"[{name}{'' if issubclass(annotation, Entry) else s}](#{name})"
    return WORDS[origin or annotation] + s


def _bounds(metadata: Iterable[Any]) -> Iterator[str]:
    low = high = below = None
    for bound in metadata:
        match bound:
            case annotated_types.MinLen():
                yield "not empty"
            case annotated_types.Gt():
                yield f"above {bound.gt}"
            case annotated_types.Lt():
                below = bound.lt
            case annotated_types.Ge():
                low = bound.ge
            case annotated_types.Le():
                high = bound.le
    if low is not None:
        yield f"{low} or more" if high is None else f"{low} to {high}"
    elif high is not None:
        yield f"at most {high}"
    if below is not None:
        yield f"below {below}"


def _default(field: FieldInfo) -> str:
    value = field.default
    if field.is_required():
        return "needed"
    if field.default_factory or value in (None, "") or isinstance(value, BaseModel):
        return "–"
    return f"`{list(value) if isinstance(value, tuple) else value}`"


def with_outputs(page: str) -> str:
    return re.sub(r"```console\n\$ loracheck (.*)\n(?:.*\n)*?```", _with_output, page)


def _with_output(block: re.Match[str]) -> str:
    with TemporaryDirectory() as folder:
        Path(folder, "mine.gguf").symlink_to(DOCS.parent / "models" / "toolcaller.gguf")
        output = subprocess.check_output(  # noqa: S603 - our own pages
            [sys.executable, "-m", "loracheck", *block[1].split()],
            cwd=folder,
            env={"COLUMNS": str(WIDTH), "PYTHONUTF8": "1"},
            encoding="utf-8",
        )
    lines = "\n".join(line.rstrip() for line in output.splitlines())
    return f"```console\n$ loracheck {block[1]}\n{lines}\n```"


@click.command()
@click.option("--check", is_flag=True, help="Write nothing; exit with 1 when a page is stale.")
def main(check: bool) -> None:
    """Bring docs/ up to date."""
    stale = {
        path: text for path, text in pages().items() if not path.exists() or path.read_text(encoding="utf-8") != text
    }
    for path, text in stale.items():
        click.echo(f"{path.name} is stale; `make docs` writes it anew" if check else f"wrote {path.name}")
        if not check:
            path.write_text(text, encoding="utf-8")
    sys.exit(bool(stale) and check)


if __name__ == "__main__":
    main()
