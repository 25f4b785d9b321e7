"""The verdict as a badge: an SVG for a README or a model card. Nothing in it is the user's own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields

from loracheck.results import Report, Verdict
from loracheck.scoring import Limits
from loracheck.text import counted

LABEL = "tool calls"

# White letters stand out from each of them by 4.5 to 1 or more.
_GROUNDS: dict[Verdict, str] = {
    "pass": "#17703f",
    "fail": "#b3261e",
    "warn": "#805300",
    "skip": "#62626a",
    "error": "#b3261e",
}
_LABEL_GROUND = "#3f3f46"
_LIMITS = tuple(field.name for field in fields(Limits))
_PADDING, _LABEL_WIDTH = 7, 50
# Of bold letters, in pixels; the others take as much as most of their kind do.
_WIDTHS = dict.fromkeys("WMm", 11.8) | dict.fromkeys("EFLP", 7.4) | dict.fromkeys(" ,ilI", 4.0)


def render(report: Report) -> str:
    words = report.verdict.upper()
    if [probe.comparison.grade for probe in report.judged] == ["may_be_chance"]:
        # As beside every verdict: without it a badge would say more than the report does.
        words += ", may be chance"
    cases = sum(len(probe.cases) for probe in report.judged)
    about = f"{counted(cases, 'case')}, loracheck {report.loracheck_version}"
    return draw(report.verdict, words, about, report.judged_with or {})


def draw(verdict: Verdict, words: str, about: str, judged_with: Mapping[str, float] | None = None) -> str:
    """`words` stand beside the label, `about` in the title alone; a PASS by other limits is told as that."""
    # Without the name of a probe, which is the user's own.
    limits = {spelled.rpartition(".")[2]: bound for spelled, bound in (judged_with or {}).items()}
    if told := ", ".join(f"{name} = {bound:g}" for name, bound in limits.items() if name in _LIMITS):
        words, about = f"{words}, other limits", f"{about}. Judged again with {told}"
    value = round(sum(_WIDTHS.get(letter, 8.4 if letter.isupper() else 7.3) for letter in words))
    left, width = _LABEL_WIDTH + 2 * _PADDING, _LABEL_WIDTH + value + 4 * _PADDING
    title = f"{LABEL}: {words} ({_escaped(about)})"
    return f"""\
<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="20" role="img" aria-label="{title}">
<title>{title}</title>
<path fill="{_LABEL_GROUND}" d="M{left} 0H4a4 4 0 0 0-4 4v12a4 4 0 0 0 4 4H{left}z"/>
<path fill="{_GROUNDS[verdict]}" d="M{left} 0H{width - 4}a4 4 0 0 1 4 4v12a4 4 0 0 1-4 4H{left}z"/>
<g fill="#fff" font-family="Verdana, DejaVu Sans, Geneva, sans-serif" font-size="11">
<text x="{_PADDING}" y="14" textLength="{_LABEL_WIDTH}">{LABEL}</text>
<text x="{left + _PADDING}" y="14" textLength="{value}" font-weight="bold">{words}</text>
</g>
</svg>
"""


def _escaped(text: str) -> str:
    """A version comes from a file, which may be a stranger's."""
    return "".join(letter if letter.isalnum() or letter in " .,+-_=" else "?" for letter in text[:200])
