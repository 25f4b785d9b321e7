"""Messages with a recipient in their header: gpt-oss and Muse."""

from __future__ import annotations

import re

from loracheck.scoring.dialects.bare_text import json_text
from loracheck.scoring.dialects.dialect import Dialect, FoundCalls
from loracheck.scoring.dialects.tags import tagged

_BETWEEN_MESSAGES = re.compile(r"<\|(?:start|end|call|return)\|>")
# Without its prefix, the name of a tool is known by the channel next to it. Some are built in, and none of ours.
_BARE = r"(?!functions\.|browser\.|container\.|(?:python|assistant|user)\b)[\w.-]+"
_RECIPIENT = re.compile(
    rf"\bto=functions\.([\w.-]+)|\bto=({_BARE})\s*<\|channel\|>|<\|channel\|>commentary\s+to=({_BARE})"
)

_BETWEEN_MUSES_MESSAGES = re.compile(r"<\|eo[mt]\|>")
_MUSES_RECIPIENT = re.compile(r"\bto=(?!(?:user|self)\b)[\w.-]+\s*\Z")
_ATEM = tagged(
    r'<atem:invoke name="(?P<name>[^"<>]+)">',
    r'<atem:parameter name="(?P<name>[^"<>]+)">',
    r"</atem:parameter>",
    sign=r"",
    stray=r"<atem:parameter\b",
)


def _harmony(text: str) -> FoundCalls:
    for message in _BETWEEN_MESSAGES.split(text):
        header, _, content = message.partition("<|message|>")
        recipient = _RECIPIENT.search(header)
        if recipient:
            arguments = json_text(content)
            name = next(filter(None, recipient.groups()))
            yield {"name": name, "arguments": arguments} if isinstance(arguments, dict) else None


def _muse(text: str) -> FoundCalls:
    for message in _BETWEEN_MUSES_MESSAGES.split(text):
        header, _, content = message.partition("<|message|>")
        if _MUSES_RECIPIENT.search(header):
            for call in _ATEM(content):
                yield call and {**call, "name": _once(call["name"])}


def _once(name: str) -> str:
    """A tool without a namespace is called by its name twice."""
    namespace, _, tool = name.partition(".")
    return tool if tool == namespace else name


HARMONY = Dialect("harmony", "Harmony to=functions.name", _harmony, r"(<\|channel\|>)")
MUSE = Dialect("muse", "Muse to=name <atem:invoke>", _muse, r"(<atem:invoke)\b")
