"""Dialects that put each argument between tags, as bare text."""

from __future__ import annotations

import re
from collections.abc import Callable

from loracheck.scoring.dialects.after_mark import CLOSED, scan
from loracheck.scoring.dialects.dialect import BareText, Call, Dialect, FoundCalls

_NAME = r'"(?P<name>[^"<>]+)"'
_PREFIX = r"(?:\w{1,16}:|｜DSML｜)?"


def tagged(head: str, opening: str, closing: str, sign: str) -> Callable[[str], FoundCalls]:
    """A finder of calls whose name is in `head`, and whose arguments are between `opening` and `closing`."""
    openings, closings = re.compile(r"\s*" + opening), re.compile(closing)

    def body(text: str, mark: re.Match[str]) -> tuple[list[Call], int] | None:
        arguments: dict[str, str] = {}
        position = mark.end()
        while key := openings.match(text, position):
            end = closings.search(text, key.end())
            if end is None:
                return None
            value = _inner(text[key.end() : end.start()])
            says_string = key.groupdict().get("string") == "true"
            arguments[key["name"].strip()] = value if says_string else BareText(value)
            position = end.end()
        closed = CLOSED.match(text, position)
        return ([{"name": mark["name"].strip(), "arguments": arguments}], closed.end()) if closed else None

    return scan(head, body, sign)


def _inner(text: str) -> str:
    """Without the line breaks next to the tags, and out of a CDATA block."""
    text = text.removeprefix("\n").removesuffix("\n")
    return text[9:-3] if text.startswith("<![CDATA[") and text.endswith("]]>") else text


QWEN3_CODER = Dialect(
    "qwen3_coder",
    "Qwen3-Coder <function=name><parameter=...>",
    tagged(r"<function=(?P<name>[^<>{}\n]+)>", r"<parameter=(?P<name>[^<>\n]+)>", r"</parameter>", sign=r"<function="),
    r"(<parameter=)",
)
GLM = Dialect(
    "glm",
    "GLM <arg_key>",
    tagged(
        r"<tool_call>\s*(?P<name>[\w.-]+)(?=\s*(?:<|\Z))",
        r"<arg_key>(?P<name>[^<]*)</arg_key>\s*<arg_value>",
        r"</arg_value>",
        sign=r"<tool_call>",
    ),
    r"(<arg_key>)",
)
INVOKE = Dialect(
    "invoke",
    "<invoke name=...>",
    # MiniMax M2, and with a prefix DeepSeek V3.2, which also says what is a string.
    tagged(
        rf"<{_PREFIX}invoke name={_NAME}>",
        rf'<{_PREFIX}parameter name={_NAME}(?: string="(?P<string>true|false)")?>',
        rf"</{_PREFIX}parameter>",
        sign=rf"<{_PREFIX}invoke\b",
    ),
    r'(<(?:\w{1,16}:)?parameter name=)"|(｜DSML｜)',
)
MINICPM = Dialect(
    "minicpm",
    "MiniCPM <function name=...>",
    tagged(rf"<function name={_NAME}>", rf"<param name={_NAME}>", r"</param>", sign=r"<function name="),
    r'(<param name=)"',
)
