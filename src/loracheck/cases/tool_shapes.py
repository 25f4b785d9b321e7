"""The shapes that people have their tools in: OpenAI's, MCP's and Anthropic's."""

from __future__ import annotations

from typing import Any

from loracheck.scoring.schema import as_dict, unwrapped

_SCHEMA_KEYS = ("inputSchema", "input_schema")
"""Where MCP and Anthropic have what is `parameters` here."""


def plain_tool(value: Any, *, needs_type: bool = True) -> Any:
    """The tool as name, description and parameters, whichever known shape it comes in; anything else as it is.

    OpenAI's wrapper may lack its `type` where that need not be there.
    """
    inner = unwrapped(value, needs_type=needs_type)
    tool = as_dict(inner)
    schema_key = next((key for key in _SCHEMA_KEYS if key in tool), None)
    if schema_key is not None and "parameters" not in tool:
        # Programs write these, with more (annotations, cache_control) that is not for the model to read.
        return {key: tool[key] for key in ("name", "description") if key in tool} | {"parameters": tool[schema_key]}
    if "name" in tool and tool.get("type") == "function":
        # OpenAI's newer format has no wrapper, and the `type` beside the name.
        return {key: tool[key] for key in tool if key != "type"}
    return inner
