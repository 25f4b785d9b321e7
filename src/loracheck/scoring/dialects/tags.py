"""Dialects that put each argument between tags, as bare text."""

from __future__ import annotations

import re

from loracheck.scoring.dialects.after_mark import CLOSED, scan, value_at
from loracheck.scoring.dialects.bare_text import BareText
from loracheck.scoring.dialects.dialect import Call, Dialect, Finder, FoundCalls

_NAME = r'"(?P<name>[^"<>]+)"'
# Muse's prefix, atem, is a dialect of its own.
_PREFIX = r"(?:(?!atem:)\w{1,16}:|｜DSML｜)?"
_SUFFIX = r"(?::\w{1,32})?"
_END = re.compile(r"\s*(?=</|<\|close\|>)")
"""A call without arguments has to be closed: it may have been cut off ahead of them."""
_CUT_OFF = r"<[^</>]*\Z"


def tagged(
    head: str, opening: str, closing: str, *, sign: str, stray: str, skipped: str = "", json_body: bool = False
) -> Finder:
    """A finder of calls whose name is in `head`, and whose arguments are between `opening` and `closing`.

    A head may have a group `empty`, for a tag that closes itself. An opening may have groups `string`, where the
    model says that the value is one, `line`, where the value has lines to itself, and `cdata`. What is `skipped`
    may stand ahead of any tag; what is `stray` is the beginning of an argument that cannot be read. With
    `json_body`, one object may hold all the arguments.
    """
    gaps, openings = re.compile(rf"\s*{skipped}"), re.compile(opening)
    closings, closings_of_cdata = re.compile(closing), re.compile(rf"\]\]>\s*(?:{closing})")
    strays = re.compile(rf"{stray}|{_CUT_OFF}")

    def past_gap(text: str, position: int) -> int:
        gap = gaps.match(text, position)
        return gap.end() if gap else position

    def body(text: str, mark: re.Match[str]) -> tuple[list[Call | None], int] | None:
        call: Call = {"name": mark["name"].strip(), "arguments": {}}
        if mark.groupdict().get("empty"):
            return [call], mark.end()
        position = past_gap(text, mark.end())
        while key := openings.match(text, position):
            form = key.groupdict()
            end = (closings_of_cdata if form.get("cdata") else closings).search(text, key.end())
            if end is None:
                # The value takes up the rest of the text.
                return [None], len(text)
            value = text[key.end() : end.start()]
            value = value.removesuffix("\n") if form.get("line") else value
            says_string = form.get("string") in ("true", "string")
            call["arguments"][key["name"].strip()] = value if says_string else BareText(value)
            position = past_gap(text, end.end())
        if json_body and not call["arguments"] and (read := value_at(text, position)) and isinstance(read[0], dict):
            call["arguments"], position = read
        closed = (CLOSED if call["arguments"] else _END).match(text, position)
        return ([call], closed.end()) if closed and not strays.match(text, position) else None

    return scan(head, body, sign)


def _keyed(head: str, sign: str) -> Finder:
    """A finder of calls whose arguments are keys and values in turn. A key without a value is no argument."""
    key = rf"<(?:longcat_)?arg_key{_SUFFIX}>%s</(?:longcat_)?arg_key{_SUFFIX}>"
    value = rf"<(?:longcat_)?arg_value{_SUFFIX}>"
    return tagged(
        head,
        rf"{key % '(?P<name>[^<]*)'}\s*{value}",
        value.replace("<", "</", 1),
        sign=sign,
        stray=r"<(?:longcat_)?arg_(?:key|value)\b",
        # At the very end, it is the value that was cut off.
        skipped=rf"(?:{key % '[^<]*'}(?!\s*(?:{value}|\Z))\s*)*",
    )


def _kimi_k3(text: str) -> FoundCalls:
    for call in _XTML(text):
        yield call and {
            "name": _unescaped(call["name"]),
            "arguments": {_unescaped(key): value for key, value in call["arguments"].items()},
        }


def _unescaped(attribute: str) -> str:
    return attribute.replace("&quot;", '"').replace("&amp;", "&")


_XTML = tagged(
    rf"<\|open\|>call tool={_NAME}[^<>]*<\|sep\|>",
    rf'<\|open\|>argument key={_NAME}(?: type="(?:(?P<string>string)|\w+)")?<\|sep\|>',
    r"<\|close\|>argument<\|sep\|>",
    sign=r"<\|open\|>(?:tools<\|sep\|>|call )",
    stray=r"<\|open\|>(?!call )",
)

QWEN3_CODER = Dialect(
    "qwen3_coder",
    "Qwen3-Coder <function=name><parameter=...>",
    tagged(
        r"<function=(?P<name>[^<>{}\n]+)>",
        # Qwen writes a value on lines of its own, Seed right behind its tag.
        r"<parameter=(?P<name>[^<>\n]+)>(?P<line>\n)?",
        # The closing tag is the one that models forget.
        r"</parameter>|(?=\n<parameter=[^<>\n]+>)|(?=\n?</function>\s*(?:</(?:\w{1,16}:)?tool_call>|\Z))",
        sign=r"<function=",
        stray=r"<parameter\b",
    ),
    r"(<parameter=)",
)
GLM = Dialect(
    "glm",
    "GLM <arg_key>",
    _keyed(r"<(?:longcat_)?tool_call>\s*(?P<name>[\w.-]+)(?=\s*(?:<(?!tool_sep)|\Z))", r"<(?:longcat_)?tool_call>"),
    r"(<(?:longcat_)?arg_key>)",
)
HY3 = Dialect(
    "hy3",
    "Hunyuan 3 <tool_sep>",
    _keyed(rf"<tool_call{_SUFFIX}>\s*(?P<name>[\w.-]+)\s*<tool_sep{_SUFFIX}>", rf"<tool_calls?{_SUFFIX}>"),
    r"(<tool_sep)\b[\s\S]{0,200}?<arg_key",
)
INVOKE = Dialect(
    "invoke",
    "<invoke name=...>",
    # MiniMax M2, and with a prefix Step 3 and DeepSeek V3.2, which also says what is a string.
    tagged(
        rf"<{_PREFIX}invoke name={_NAME}\s*(?P<empty>/)?>",
        rf'<{_PREFIX}parameter name={_NAME}(?: string="(?P<string>true|false)")?>',
        rf"</{_PREFIX}parameter>",
        sign=rf"<{_PREFIX}invoke\b",
        stray=rf"<{_PREFIX}parameter\b",
        json_body=True,
    ),
    r'(<(?:\w{1,16}:)?parameter name=)"|(｜DSML｜)',
)
MINICPM = Dialect(
    "minicpm",
    "MiniCPM <function name=...>",
    tagged(
        rf"<function name={_NAME}>",
        rf"<param name={_NAME}>(?P<cdata><!\[CDATA\[)?",
        r"</param>",
        sign=r"<function name=",
        stray=r"<param\b",
    ),
    r'(<param name=)"',
)
KIMI_K3 = Dialect("kimi_k3", "Kimi K3 <|open|>call", _kimi_k3, r"(<\|open\|>)")
