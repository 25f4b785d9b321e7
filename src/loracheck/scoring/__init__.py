"""What the answers mean: from text to calls, rates, z and a verdict. No files, no model."""

from .calibrate import Calibration, calibrate, z_score
from .compare import field_disagreement, same_value
from .judgement import Judgement
from .outcome import Answer, Expectation, Outcome, Reading, read_answer
from .parse import parse_tool_call
from .recorded import score_recorded
from .schema import matches_schema
from .verdict import Limits, judge

__all__ = [
    "Answer",
    "Calibration",
    "Expectation",
    "Judgement",
    "Limits",
    "Outcome",
    "Reading",
    "calibrate",
    "field_disagreement",
    "judge",
    "matches_schema",
    "parse_tool_call",
    "read_answer",
    "same_value",
    "score_recorded",
    "z_score",
]
