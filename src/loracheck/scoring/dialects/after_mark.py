"""Dialects that put JSON behind a mark: whole calls, or a name and then its arguments."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

from loracheck.scoring.dialects.bare_text import json_text
from loracheck.scoring.dialects.dialect import MAX_CALLS, Call, Dialect, Finder, FoundCalls
from loracheck.scoring.parse import json_at

MAX_BROKEN = 16
"""A broken call can cost a look at the whole text; after so many the rest is not read."""

CLOSED = re.compile(r"\s*(?:```\s*)?(?=[<>\[]|\Z)")
"""A call is followed by a mark or by the end. Servers drop one with anything else behind it, even a brace too many."""

TEXT_BEHIND = re.compile(r"(?!\s*[\]}])")
"""Some servers let text through behind a call, but a bracket too many leaves no call for them either."""

_SPACE = re.compile(r"\s*")
_NEVER = r"(?!)"

Body: TypeAlias = "Callable[[str, re.Match[str]], tuple[list[Call | None], int] | None]"
"""Reads the calls behind a head, and tells where they end; None where nothing but the head is known to be broken."""


def scan(head: str, body: Body, sign: str) -> Finder:
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


def value_at(text: str, position: int) -> tuple[Any, int] | None:
    """The JSON object or array behind the white space at `position`, and where it ends."""
    gap = _SPACE.match(text, position)
    start = gap.end() if gap else position
    return json_at(text, start) if text.startswith(("{", "["), start) else None


def as_call(item: dict[str, Any], name: str = "name", arguments: str = "arguments") -> Call:
    """Name and arguments under their usual keys; what lacks one of them stays as it is."""
    key = arguments if arguments in item else "parameters"
    if name not in item or key not in item:
        return item
    value = item[key]
    if isinstance(value, str) and isinstance(spelled := json_text(value), dict):
        value = spelled
    return {"name": item[name], "arguments": value}


def calls_in(value: Any, call_of: Callable[[dict[str, Any]], Call] = as_call) -> list[Call]:
    """The calls a JSON value stands for: one object, or a list of them."""
    return [call_of(item) for item in (value if isinstance(value, list) else [value]) if isinstance(item, dict)]


def after(
    head: str,
    *,
    sign: str = _NEVER,
    then: str = _NEVER,
    call_of: Callable[[dict[str, Any]], Call] = as_call,
    closed: re.Pattern[str] = CLOSED,
) -> Finder:
    """A finder of JSON behind each `head`.

    With a group `name` that matched, the JSON is the arguments; otherwise it is one object or a list of
    them, each a call by `call_of`, and more may follow behind `then`. What is behind all has to match `closed`.
    """
    between = re.compile(then)

    def body(text: str, mark: re.Match[str]) -> tuple[list[Call | None], int] | None:
        tool = mark.groupdict().get("name")
        read = value_at(text, mark.end())
        if read is None:
            return None
        value, end = read
        calls: list[Call | None] = (
            [*calls_in(value, call_of)] if tool is None else [{"name": tool.strip(), "arguments": value}]
        )
        if value and not calls:
            return None
        while len(calls) < MAX_CALLS and (gap := between.match(text, end)) and (read := value_at(text, gap.end())):
            value, end = read
            calls += calls_in(value, call_of)
        behind = closed.match(text, end)
        return (calls, behind.end()) if behind else None

    return scan(head, body, sign)


def _but(find: Finder, *no_tools: str) -> Finder:
    """Without the calls of a tool that stands for none."""
    return lambda text: (call for call in find(text) if call is None or call.get("name") not in no_tools)


def _call_of_single_key(item: dict[str, Any]) -> Call:
    """The tool's name is the key, and its arguments the value."""
    if len(item) != 1:
        return as_call(item)
    ((name, arguments),) = item.items()
    return {"name": name, "arguments": arguments}


MISTRAL = Dialect(
    "mistral",
    "Mistral [TOOL_CALLS]",
    after(r"\[TOOL_CALLS\]\s*(?:(?P<name>[^\s\[\]{}]+)(?:\[CALL_ID\][^\[\]{}]*)?(?:\[ARGS\])?)?", closed=TEXT_BEHIND),
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
COMMAND_R = Dialect(
    "command_r",
    "Command R actions",
    _but(
        after(r"Action:\s*```(?:json)?|<\|START_ACTION\|>", call_of=partial(as_call, name="tool_name")),
        "directly_answer",
        "directly-answer",
    ),
    r'(<\|START_ACTION\|>)|("tool_name")',
)
GRANITE = Dialect(
    "granite",
    "Granite <|tool_call|>",
    after(r"<\|tool_call\|>|<tool_call>"),
    r"\A(?![\s\S]*<\|/tool_call\|>)[\s\S]*?(<\|tool_call\|>)",
)
PHI4 = Dialect(
    "phi4",
    "Phi-4 <|tool_call|> or functools",
    after(r"<\|tool_call\|>|functools(?=\s*\[)", closed=TEXT_BEHIND),
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
FUNCTION_CALL = Dialect(
    "function_call",
    "<function_call> with JSON",
    _but(after(r"<function_call>"), "no_function"),
    r"(<function_call>)",
)
HERMES = Dialect(
    "hermes",
    "Hermes <tool_call>",
    after(r"<(?:longcat_)?tool_call>"),
    r'(<(?:longcat_)?tool_call>)[\s\S]{0,200}?(?:\{"|tojson)',
)
APERTUS = Dialect(
    "apertus",
    "Apertus <|tools_prefix|>",
    after(r"<\|tools_prefix\|>", call_of=_call_of_single_key),
    r"(<\|tools_prefix\|>)",
)
INTERNLM2 = Dialect(
    "internlm2",
    "InternLM2 <|plugin|>",
    after(r"<\|action_start\|>\s*<\|plugin\|>"),
    r"(<\|action_start\|>)",
)
INKLING = Dialect(
    "inkling",
    "Inkling <|content_invoke_tool_json|>",
    after(r"<\|content_invoke_tool_json\|>", call_of=partial(as_call, arguments="args")),
    r"(<\|content_invoke_tool_json\|>)",
)
FUNCTIONARY = Dialect(
    "functionary",
    "Functionary >>>name",
    # The prompt ends with the first >>>, and `all` is the user.
    after(r"(?:>>>(?!all\b)|\A(?=[\w.-]+\n\{))(?P<name>[\w.-]+)\s*"),
    r"""(>>>)(?:\$\{recipient\}|all|['"])""",
)
