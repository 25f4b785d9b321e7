"""gpt-oss: messages with a recipient in their header."""

from __future__ import annotations

import re

from loracheck.scoring.dialects.dialect import Dialect, FoundCalls, json_text

_BETWEEN_MESSAGES = re.compile(r"<\|(?:start|end|call|return)\|>")
_RECIPIENT = re.compile(r"\bto=functions\.(?P<name>[\w.-]+)")


def _find(text: str) -> FoundCalls:
    for message in _BETWEEN_MESSAGES.split(text):
        header, _, content = message.partition("<|message|>")
        recipient = _RECIPIENT.search(header)
        if recipient:
            arguments = json_text(content)
            yield {"name": recipient["name"], "arguments": arguments} if isinstance(arguments, dict) else None


HARMONY = Dialect("harmony", "Harmony to=functions.name", _find, r"(<\|channel\|>)")
