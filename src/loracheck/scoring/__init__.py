"""What the answers mean: from text to calls, rates, z and a verdict. No files and no model."""

from loracheck.scoring.arguments import field_disagreement
from loracheck.scoring.calibrate import Calibration, NullSample
from loracheck.scoring.evidence import Evidence
from loracheck.scoring.limits import Limits
from loracheck.scoring.outcome import Answer, Expectation, Outcome, Reading, read_answer
from loracheck.scoring.parse import parse_tool_call
from loracheck.scoring.recorded import score_recorded
from loracheck.scoring.schema import matches_schema
from loracheck.scoring.verdict import Trial, judge

__all__ = [
    "Answer",
    "Calibration",
    "Evidence",
    "Expectation",
    "Limits",
    "NullSample",
    "Outcome",
    "Reading",
    "Trial",
    "field_disagreement",
    "judge",
    "matches_schema",
    "parse_tool_call",
    "read_answer",
    "score_recorded",
]
