"""How models write tool calls, each family in its own way: from an answer's text to its calls."""

from .bare import PLAIN
from .dialect import MAX_CALLS, Calls, Dialect
from .registry import DIALECTS, Detection, detect, other_dialect, read_calls

__all__ = ["DIALECTS", "MAX_CALLS", "PLAIN", "Calls", "Detection", "Dialect", "detect", "other_dialect", "read_calls"]
