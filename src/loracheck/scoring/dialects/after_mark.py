"""Dialects that put JSON behind a mark: whole calls, or a name and then its arguments."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeAlias

from loracheck.scoring.dialects.dialect import MAX_CALLS, Call, Dialect, FoundCalls, json_text
from loracheck.scoring.parse import json_at

MAX_BROKEN = 16
"""A broken call can cost a look at the whole text; after so many the rest is not read."""

CLOSED = re.compile(r"\s*(?:```\s*)?(?=[<>\[]|\Z)")
"""A call is followed by a mark or by the end. Servers drop one with anything else behind it, even a brace too many."""

_SPACE = re.compile(r"\s*")
_NEVER = r"(?!)"

Body: TypeAlias = "Callable[[str, re.Match[str]], tuple[list[Call], int] | None]"
"""Reads the calls behind a head, and tells where they end."""


def scan(head: str, body: Body, sign: str) -> Callable[[str], FoundCalls]:
    """A finder of what `body` reads behind each `head`. A text without a head that shows `sign` is an attempt."""
    heads, signs = re.compile(head), re.compile(sign)

    def find(text: str) -> FoundCalls:
        position = broken = 0
        while broken < MAX_BROKEN and (mark := heads.search(text, position)):
            read = body(text, mark)
            if read is None:
                broken += 1
                position = mark.end()
                yield None
            else:
                calls, position = read
                yield from calls
        if position == 0 and signs.search(text):
            yield None

    return find


def after(head: str, *, sign: str = _NEVER, then: str = _NEVER, name: str = "name") -> Callable[[str], FoundCalls]:
    """A finder of JSON behind each `head`.

    With a group `name` that matched, the JSON is the arguments; otherwise it is one call or a list of
    them, with the tool under the key `name`, and more may follow behind `then`.
    """
    between = re.compile(then)

    def body(text: str, mark: re.Match[str]) -> tuple[list[Call], int] | None:
        tool = mark.groupdict().get("name")
        read = value_at(text, mark.end())
        if read is None:
            return None
        value, end = read
        calls = calls_in(value, name) if tool is None else [{"name": tool.strip(), "arguments": value}]
        if value and not calls:
            return None
        while len(calls) < MAX_CALLS and (gap := between.match(text, end)) and (read := value_at(text, gap.end())):
            value, end = read
            calls += calls_in(value, name)
        closed = CLOSED.match(text, end)
        return (calls, closed.end()) if closed else None

    return scan(head, body, sign)


def value_at(text: str, position: int) -> tuple[Any, int] | None:
    """The JSON object or array behind the white space at `position`, and where it ends."""
    gap = _SPACE.match(text, position)
    start = gap.end() if gap else position
    return json_at(text, start) if text.startswith(("{", "["), start) else None


def calls_in(value: Any, name: str = "name") -> list[Call]:
    """The calls a JSON value stands for: one object, or a list of them."""
    return [as_call(item, name) for item in (value if isinstance(value, list) else [value]) if isinstance(item, dict)]


def as_call(item: dict[str, Any], name: str = "name") -> Call:
    """Name and arguments under their usual keys; what lacks one of them stays as it is."""
    key = "arguments" if "arguments" in item else "parameters"
    if name not in item or key not in item:
        return item
    arguments = item[key]
    if isinstance(arguments, str) and isinstance(spelled := json_text(arguments), dict):
        arguments = spelled
    return {"name": item[name], "arguments": arguments}


def _command_r(text: str) -> FoundCalls:
    return (call for call in _ACTIONS(text) if call is None or call.get("name") not in _NO_TOOL)


_ACTIONS = after(r"Action:\s*```(?:json)?|<\|START_ACTION\|>", name="tool_name")
_NO_TOOL = ("directly_answer", "directly-answer")
"""A tool that stands for none."""

MISTRAL = Dialect(
    "mistral",
    "Mistral [TOOL_CALLS]",
    after(r"\[TOOL_CALLS\]\s*(?:(?P<name>[^\s\[\]{}]+)(?:\[CALL_ID\][^\[\]{}]*)?(?:\[ARGS\])?)?"),
    r"(\[TOOL_CALLS\])",
)
DEEPSEEK_R1 = Dialect(
    "deepseek_r1",
    "DeepSeek R1 and V3 <｜tool▁call▁begin｜>",
    # The distilled models often leave out the mark in front.
    after(r"function<｜tool▁sep｜>(?P<name>[^\n<{]+)\n```(?:json)?", sign=r"<｜tool▁(?:calls?▁begin|sep)｜>"),
    r"(<｜tool▁sep｜>)[^<]{0,200}```json",
)
DEEPSEEK_V3 = Dialect(
    "deepseek_v3",
    "DeepSeek V3.1 <｜tool▁call▁begin｜>",
    after(r"<｜tool▁call▁begin｜>(?P<name>[^\n<{]+)<｜tool▁sep｜>", sign=r"<｜tool▁(?:calls?▁begin|sep)｜>"),
    r"(<｜tool▁sep｜>)",
)
KIMI_K2 = Dialect(
    "kimi_k2",
    "Kimi K2 <|tool_call_begin|>",
    after(
        r"<\|tool_call_begin\|>\s*(?:functions\.)?(?P<name>[^\s<:{]+)(?::\d+)?\s*<\|tool_call_argument_begin\|>",
        sign=r"<\|tool_call(?:s_section)?_begin\|>",
    ),
    r"(<\|tool_call_argument_begin\|>)",
)
SOLAR = Dialect(
    "solar",
    "Solar <|tool_call:begin|>",
    after(r"<\|tool_call:name\|>(?P<name>[^\n<{]+)<\|tool_call:args\|>", sign=r"<\|tool_call:begin\|>"),
    r"(<\|tool_call:args\|>)",
)
COMMAND_R = Dialect("command_r", "Command R actions", _command_r, r'(<\|START_ACTION\|>)|("tool_name")')
GRANITE = Dialect(
    "granite",
    "Granite <|tool_call|>",
    after(r"<\|tool_call\|>|<tool_call>"),
    r"\A(?![\s\S]*<\|/tool_call\|>)[\s\S]*?(<\|tool_call\|>)",
)
PHI4 = Dialect(
    "phi4",
    "Phi-4 <|tool_call|> or functools",
    after(r"<\|tool_call\|>|functools(?=\s*\[)"),
    r"(<\|/tool_call\|>)|(<\|/tool\|>)|(functools)\[",
)
GIGACHAT = Dialect(
    "gigachat",
    "GigaChat function call",
    after(r"<\|function_call\|>|function call<\|role_sep\|>"),
    r"(<\|function_call\|>)|(<\|role_sep\|>)",
)
FUNCTION_TAG = Dialect(
    "function_tag",
    "<function=name> with JSON",
    after(r"<function=(?P<name>[^<>{}\n]+)>", sign=r"<function="),
    r"(<function=)",
)
TOOL_CALLS = Dialect(
    "tool_calls",
    "JSON in <tool_calls>",
    after(r"<tool_calls>|<TOOLCALL>", then=r"\s*"),
    r"(<tool_calls>)(?:\\n|\s)*[\[{]|(<TOOLCALL>)",
)
HERMES = Dialect("hermes", "Hermes <tool_call>", after(r"<tool_call>"), r'(<tool_call>)[\s\S]{0,200}?(?:\{"|tojson)')
FUNCTIONARY = Dialect(
    "functionary",
    "Functionary >>>name",
    # The prompt ends with the first >>>, and `all` is the user.
    after(r"(?:>>>(?!all\b)|\A(?=[\w.-]+\n\{))(?P<name>[\w.-]+)\s*"),
    r"""(>>>)(?:\$\{recipient\}|all|['"])""",
)
