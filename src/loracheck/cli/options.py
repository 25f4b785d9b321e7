"""Option types that several commands share, and where a report goes."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from loracheck.cases import did_you_mean
from loracheck.report import FORMS, write_text

if TYPE_CHECKING:
    from loracheck.results import Report


# Not ParamType[str], which older versions of click do not know.
class LazyChoice(click.ParamType):  # type: ignore[type-arg]
    """One of some names that are known only to modules which `loracheck --help` need not wait for."""

    name = "choice"

    def __init__(self, names: Callable[[], Iterable[str]]) -> None:
        self._names = names

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:  # noqa: ARG002 - of click
        return f"[{'|'.join(self._names())}]"

    def convert(self, value: Any, param: Any, ctx: Any) -> str:
        names = list(self._names())
        if value not in names:
            hint = did_you_mean(str(value), names) or f"; give one of {', '.join(names)}"
            # As the option is spelled, which need not be its parameter's name.
            what = param.opts[-1].lstrip("-") if param else self.name
            self.fail(f"no {what} {value!r}{hint}", param, ctx)
        return str(value)


_COLORS_HELP = "Colours.  [default: on a terminal, unless NO_COLOR is set]"
COLOR = click.option("--color/--no-color", default=None, help=_COLORS_HELP)
VERBOSE = click.option("-v", "--verbose", is_flag=True, help="More figures on the terminal, as on the pages.")
OUTPUT = click.Path(dir_okay=False, path_type=Path)
INPUT = click.Path(path_type=Path)


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
                raise click.UsageError(f"--{form} {path}: the folder does not exist")

    def write(self, report: Report) -> None:
        from loracheck.report.ci import annotations, append_step_summary
        from loracheck.report.terminal import show

        for form, path in self.files.items():
            write_text(path, FORMS[form].render(report))
        show(report, color=self.color, verbose=self.verbose)
        append_step_summary(report)
        for line in annotations(report):
            click.echo(line)


def output_options(command: Callable[..., None]) -> Callable[..., None]:
    """Options for every form of a report; the command gets them as `outputs`."""

    @functools.wraps(command)
    def with_outputs(*args: Any, color: bool | None, verbose: bool, **options: Any) -> None:
        files = {form: path for form in FORMS if (path := options.pop(f"{form}_file")) is not None}
        command(*args, outputs=Outputs(files, color, verbose), **options)

    decorated: Any = COLOR(VERBOSE(with_outputs))
    for name, form in reversed(FORMS.items()):
        decorated = click.option(f"--{name}", f"{name}_file", type=OUTPUT, help=form.about)(decorated)
    return decorated  # type: ignore[no-any-return]
