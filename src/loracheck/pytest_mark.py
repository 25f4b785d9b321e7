"""What stands in `@pytest.mark.loracheck(...)`, as a suite."""

from __future__ import annotations

import inspect
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import pytest
from click import ClickException

from loracheck.cli.options import AdapterOption
from loracheck.errors import InputError, LoracheckError
from loracheck.suite.load import find_cases, load_suite, pack_names, quick_suite

if TYPE_CHECKING:
    from collections.abc import Sequence

    from loracheck.suite.suite import AdapterEntry, Suite

AnyPath: TypeAlias = "str | PathLike[str]"


def marked_suite(mark: pytest.Mark, folder: Path) -> Suite:
    """The suite; whatever is wrong with it is a collection error without a traceback."""
    try:
        return _called(mark, folder)
    except ClickException as error:
        said = error.format_message()
    except (LoracheckError, ValueError) as error:
        said = str(error)
    raise pytest.Collector.CollectError(f"@pytest.mark.loracheck: {said}")


def _called(mark: pytest.Mark, folder: Path) -> Suite:
    signature = inspect.signature(_suite)
    try:
        given = signature.bind(folder, *mark.args, **mark.kwargs)
    except TypeError as error:
        raise InputError(f"{error}; it takes {', '.join(list(signature.parameters)[1:])}") from None
    return _suite(*given.args, **given.kwargs)


def _suite(
    folder: Path,
    suite: AnyPath | None = None,
    *,
    base: AnyPath | None = None,
    adapter: AnyPath | Sequence[AnyPath] = (),
    base_adapter: AnyPath | Sequence[AnyPath] = (),
    cases: AnyPath | None = None,
) -> Suite:
    """The keywords mean what the options of `loracheck check` do; relative paths start at the folder."""
    model = None if base is None else _beside(folder, base)
    adapters, base_adapters = _adapters(folder, adapter), _adapters(folder, base_adapter)
    asked = None
    if cases is not None:
        file = _beside(folder, cases)
        asked = find_cases(file if file.is_file() or str(cases) not in pack_names() else str(cases))
    if suite is not None:
        found = load_suite(_beside(folder, suite)).with_models(model, adapters, base_adapters)
        return found if asked is None else found.with_cases(asked)
    if model is None or not adapters:
        raise InputError('give suite="tools.yaml", or both base="model.gguf" and adapter="mine.gguf"')
    return quick_suite(model, adapters, base_adapters, asked)


def _adapters(folder: Path, given: AnyPath | Sequence[AnyPath]) -> list[AdapterEntry]:
    several = [given] if isinstance(given, str | PathLike) else given
    return [AdapterOption().convert(_beside(folder, path), None, None) for path in several]


def _beside(folder: Path, path: AnyPath) -> Path:
    return folder / Path(path).expanduser()
