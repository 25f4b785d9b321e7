"""Dialects of Python calls: [f(a=1), g()]. They are read as syntax, and never run."""

from __future__ import annotations

import ast
import re
import warnings
from typing import Any

from loracheck.scoring.dialects.after_mark import MAX_BROKEN, as_call
from loracheck.scoring.dialects.dialect import Call, Dialect, Finder, FoundCalls
from loracheck.scoring.parse import MAX_INTEGER_DIGITS

MAX_SOURCE = 20_000
"""Python's parser takes memory and stack by the length of what it reads."""

_LONG_NUMBER = re.compile(rf"[\d_]{{{MAX_INTEGER_DIGITS + 1}}}")
_OPENING = r"<\|tool_call_start\|>|<\|python_start\|>"
_LIST = re.compile(r"\[\s*[^\W\d][\w.]*\(")
_STRING_OR_BRACKET = re.compile(r""""[^"\\]*(?:\\.[^"\\]*)*"?|'[^'\\]*(?:\\.[^'\\]*)*'?|([\[({])|([\])}])""", re.DOTALL)
_CONSTANTS = {"true": True, "false": False, "null": None}


def python_calls(source: str) -> list[Call] | None:
    """The calls of a list, or of one call a line; None when there is anything but calls with literal arguments."""
    source = source.strip()
    if len(source) > MAX_SOURCE or _LONG_NUMBER.search(source):
        return None
    try:
        with warnings.catch_warnings():
            # A path such as "C:\dir" has an escape that Python only frowns at.
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
        return [_call(node) for statement in tree.body for node in _parts(statement)]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _parts(statement: ast.stmt) -> list[ast.expr]:
    if not isinstance(statement, ast.Expr):
        raise ValueError("a statement")
    value = statement.value
    return value.elts if isinstance(value, (ast.List, ast.Tuple)) else [value]


def _call(node: ast.expr) -> Call:
    if isinstance(node, ast.Dict):
        # Asked for JSON, the same models put JSON between the same marks.
        return as_call(_literal(node))
    if not isinstance(node, ast.Call):
        raise ValueError("not a call")
    name = ast.unparse(node.func)
    if name == "print" and len(node.args) == 1 and not node.keywords:
        return _call(node.args[0])
    # An argument behind ** has no name.
    if node.args or not all(keyword.arg for keyword in node.keywords) or not name.replace(".", "").isidentifier():
        raise ValueError("not a call with named arguments")
    return {"name": name, "arguments": {keyword.arg: _literal(keyword.value) for keyword in node.keywords}}


def _literal(node: ast.expr) -> Any:
    """The JSON value a node spells. JSON's own names for constants are read too."""
    match node:
        case ast.Constant(value=str() | int() | float() | None as value):
            return value
        case ast.Name(id="true" | "false" | "null" as name):
            return _CONSTANTS[name]
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            return -value
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return [_literal(item) for item in items]
        case ast.Dict(keys=keys, values=values):
            return {_key(key): _literal(value) for key, value in zip(keys, values, strict=True)}
    raise ValueError("not a literal")


def _key(node: ast.expr | None) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    raise ValueError("not a text key")


def _between(opening: str, closing: str) -> Finder:
    """A finder of the calls between two marks. Where the closing one is missing, they go on to the end."""
    blocks = re.compile(rf"(?:{opening})(.*?)(?:{closing}|\Z)", re.DOTALL)

    def find(text: str) -> FoundCalls:
        broken = 0
        for block in blocks.finditer(text):
            calls = python_calls(block[1])
            yield from (None,) if calls is None else calls
            broken += calls is None
            if broken == MAX_BROKEN:
                return

    return find


def _find(text: str) -> FoundCalls:
    if re.search(_OPENING, text):
        yield from _marked(text)
    elif start := _LIST.search(text):
        yield from python_calls(_balanced(text[start.start() : start.start() + MAX_SOURCE])) or (None,)


def _balanced(text: str) -> str:
    """Up to where the bracket that opens the text is closed."""
    depth = 0
    for token in _STRING_OR_BRACKET.finditer(text):
        depth += bool(token[1]) - bool(token[2])
        if depth == 0 and token[2]:
            return text[: token.end()]
    return text


_marked = _between(_OPENING, r"<\|tool_call_end\|>|<\|python_end\|>")

PYTHONIC = Dialect(
    "pythonic",
    "Python calls [name(key=value)]",
    _find,
    r"(<\|tool_call_start\|>)|(<\|tool_list_start\|>)|(List of tools: \[)|(\[func_name1\()",
    has_marks=False,
    find_marked=_marked,
)
OLMO3 = Dialect(
    "olmo3",
    "Olmo 3 <function_calls>",
    _between(r"<function_calls>", r"</function_calls>"),
    r"(<function_calls>)",
)
