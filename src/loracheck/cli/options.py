"""Option types that several commands share, and where a report goes."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from loracheck.cases import did_you_mean
from loracheck.report import FORMS, Form, write_text
from loracheck.report.sweep import SWEEP_FORMS

if TYPE_CHECKING:
    from loracheck.results import Report
    from loracheck.sweeping.results import Sweep


# Not ParamType[str], which older versions of click do not know.
class OneOf(click.ParamType):  # type: ignore[type-arg]
    """One of some names, with the nearest of them for a name that is none.

    A function gives names that only modules know which `loracheck --help` need not wait for.
    """

    name = "choice"

    def __init__(self, names: Iterable[str] | Callable[[], Iterable[str]]) -> None:
        self._names = names

    @property
    def names(self) -> list[str]:
        return list(self._names() if callable(self._names) else self._names)

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:  # noqa: ARG002 - of click
        return f"[{'|'.join(self.names)}]"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002 - of click
        return [CompletionItem(name) for name in self.names if name.startswith(incomplete)]

    def convert(self, value: Any, param: Any, ctx: Any) -> str:
        names = self.names
        if value not in names:
            hint = did_you_mean(str(value), names) or f"; give one of {', '.join(names)}"
            # As the option is spelled, which need not be its parameter's name.
            what = param.opts[-1].lstrip("-") if param else self.name
            self.fail(f"no {what} {value!r}{hint}", param, ctx)
        return str(value)


_TYPED = "loracheck.typed"


class Commands(click.Group):
    """A group that knows what a misspelt command was meant to be, which not every version of click does.

    It also remembers the command line as it was typed, to say how it goes on.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if ctx.parent is None:
            ctx.meta[_TYPED] = ("loracheck", *args)
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if self.get_command(ctx, name) is None and not name.startswith("-") and not ctx.resilient_parsing:
            known = self.list_commands(ctx)
            hint = did_you_mean(name, known) or f"; there are {', '.join(known)}"
            ctx.fail(f"no command {name!r}{hint}")
        return super().resolve_command(ctx, args)


_COLORS_HELP = "Colours.  [default: on a terminal, unless NO_COLOR is set]"
COLOR = click.option("--color/--no-color", default=None, help=_COLORS_HELP)
VERBOSE = click.option("-v", "--verbose", is_flag=True, help="Everything that the report says, not one screen of it.")
OUTPUT = click.Path(dir_okay=False, path_type=Path)


def typed_command() -> tuple[str, ...]:
    typed: tuple[str, ...] = click.get_current_context().meta.get(_TYPED, ())
    return typed


@dataclass(frozen=True, slots=True)
class Outputs:
    """Where a report goes: the screen, files, and what a CI system offers."""

    files: dict[str, Path]
    """By form."""
    color: bool | None
    verbose: bool = False

    def __post_init__(self) -> None:
        # Said before the work, not after it.
        for form, path in self.files.items():
            if not path.absolute().parent.is_dir():
                raise click.UsageError(f"--{form} {path}: the folder does not exist; make it first")

    def write(self, report: Report) -> None:
        from loracheck.report.ci import annotations, append_step_summary
        from loracheck.report.next_steps import Origin
        from loracheck.report.terminal import show

        for form, path in self.files.items():
            write_text(path, FORMS[form].render(report))
        show(report, color=self.color, verbose=self.verbose, origin=Origin(typed_command(), self.files))
        append_step_summary(report)
        for line in annotations(report):
            click.echo(line)


@dataclass(frozen=True, slots=True)
class SweepOutputs(Outputs):
    """Where a sweep goes."""

    def write_sweep(self, sweep: Sweep, reports: Path | None) -> None:
        """`reports` is a folder for the report of each cell."""
        from loracheck.report.sweep.ci import annotations, append_step_summary
        from loracheck.report.sweep.pages import write_pages
        from loracheck.report.sweep.terminal import show_sweep

        if reports:
            page = self.files.get("html") or self.files.get("json")
            sweep = write_pages(sweep, reports, page.parent if page else Path())
        for form, path in self.files.items():
            write_text(path, SWEEP_FORMS[form].render(sweep))
        show_sweep(sweep, color=self.color)
        append_step_summary(sweep)
        for line in annotations(sweep):
            click.echo(line)


def _output_options(
    forms: Mapping[str, Form[Any]], outputs: type[Outputs], *more: Callable[..., Any]
) -> Callable[..., Any]:
    """Options for every form, and more; the command gets them as `outputs`."""

    def add_options(command: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(command)
        def with_outputs(*args: Any, color: bool | None, verbose: bool = False, **options: Any) -> None:
            files = {form: path for form in forms if (path := options.pop(f"{form}_file")) is not None}
            command(*args, outputs=outputs(files, color, verbose), **options)

        decorated: Any = with_outputs
        for option in (*more, COLOR):
            decorated = option(decorated)
        for name, form in reversed(list(forms.items())):
            decorated = click.option(f"--{name}", f"{name}_file", type=OUTPUT, help=form.about)(decorated)
        return decorated  # type: ignore[no-any-return]

    return add_options


output_options = _output_options(FORMS, Outputs, VERBOSE)
sweep_output_options = _output_options(SWEEP_FORMS, SweepOutputs)
