"""Two reports side by side."""

from loracheck.report.diff.compare import Diff, Match, ProbeDiff, diff

__all__ = ["Diff", "Match", "ProbeDiff", "diff"]
