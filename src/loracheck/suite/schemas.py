"""Are the tools' own schemas fit for a strict check?"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from loracheck.scoring.strict import check_schema

if TYPE_CHECKING:
    from collections.abc import Iterable

    from loracheck.suite.case import Case


def find_bad_schema(cases: Iterable[Case]) -> str | None:
    """The first tool whose `parameters` are no JSON Schema, with its case and what is wrong; None when all are."""
    # Cases share their tools, and a schema takes milliseconds.
    checked: set[str] = set()
    for case in cases:
        for tool in case.surface:
            if tool.parameters is None:
                continue
            spelled = json.dumps(tool.parameters)
            if spelled not in checked and (complaint := check_schema(tool.parameters)):
                return f"case {case.id!r}, tool {tool.name!r}: parameters: {complaint}"
            checked.add(spelled)
    return None
