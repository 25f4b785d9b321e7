"""Chat templates as transformers runs them: Jinja in a sandbox, with its extras.

Only these imports bring Jinja, which the process that asks a child to render has no use for.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime, timezone
from functools import cache, lru_cache
from typing import Any, NoReturn

from jinja2 import Environment, Template, TemplateError, meta, nodes
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

# Some templates print today's date. A verdict must not change overnight, so theirs is always this one.
TEMPLATE_DATE = datetime(2025, 1, 1, tzinfo=timezone.utc)
# More than the longest context of any model holds.
MAX_LETTERS = 4_000_000


def run(source: str, /, **variables: Any) -> str:
    """What the template writes. It is a stranger's program: any exception may come of it."""
    written: list[str] = []
    letters = 0
    for piece in _compile(source).generate(**variables):
        written.append(piece)
        letters += len(piece)
        if letters > MAX_LETTERS:
            raise TemplateError(f"it writes more than {MAX_LETTERS:,} characters")
    return "".join(written)


def variables(source: str) -> set[str]:
    """The variables that the template reads, but for those that every template has; where in doubt, one more."""
    return meta.find_undeclared_variables(_environment().parse(source)) - _environment().globals.keys()


class _Generation(Extension):
    """{% generation %} marks what a model is trained on; it writes nothing itself."""

    tags = {"generation"}  # noqa: RUF012 - Jinja's own attribute

    def parse(self, parser: Parser) -> nodes.Node:
        line = next(parser.stream).lineno
        return nodes.Scope(parser.parse_statements(("name:endgeneration",), drop_needle=True)).set_lineno(line)


@lru_cache(maxsize=8)
def _compile(source: str) -> Template:
    return _environment().from_string(source)


@cache
def _environment() -> Environment:
    # The sandbox keeps templates from Python's internals, but neither from time nor from memory.
    env = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols, _Generation])
    env.filters["tojson"] = _tojson
    env.globals["raise_exception"] = _raise_exception
    env.globals["strftime_now"] = TEMPLATE_DATE.strftime
    return env


def _tojson(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """As transformers has it. Jinja's own filter escapes for HTML, which no model was trained to read."""
    return json.dumps(
        value,
        ensure_ascii=ensure_ascii,
        indent=indent,
        separators=separators,
        sort_keys=sort_keys,
        default=_as_list,
    )


def _as_list(value: Any) -> list[Any]:
    """llama.cpp's filters give lists where Jinja's give generators, and templates for it write them as JSON."""
    if isinstance(value, Iterator):
        return list(value)
    raise TypeError(f"{type(value).__name__} is not JSON")


def _raise_exception(message: str) -> NoReturn:
    raise TemplateError(message)
