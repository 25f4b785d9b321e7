"""What became of an answer, in words: the same ones on every screen, page and comment.

A *valid call* is one that fits its tool's schema, whichever tool it names; of what the cases asked for, that is the
right tool. So the outcome `valid` of the JSON report is never shown by that name.
"""

from __future__ import annotations

from loracheck.results import CaseReport, ViewAnswer
from loracheck.scoring import Outcome

OUTCOME_NAMES: dict[Outcome, str] = {
    "valid": "right tool",
    "wrong_tool": "wrong tool",
    "bad_arguments": "bad arguments",
    "malformed": "unreadable call",
    "truncated": "cut off",
    "no_call": "no call",
}

NOT_ASKED_FOR = "call not asked for"


def outcome_name(case: CaseReport, answer: ViewAnswer) -> str:
    """No tool is the right one where none should be called."""
    is_call = answer.outcome in ("valid", "wrong_tool")
    return NOT_ASKED_FOR if is_call and not case.expects_call else OUTCOME_NAMES[answer.outcome]


def outcome_change(case: CaseReport) -> str:
    """From the base to what was checked."""
    return f"{outcome_name(case, case.base)} to {outcome_name(case, case.ft)}"
