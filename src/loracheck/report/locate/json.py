"""What was located, as a JSON file."""

from __future__ import annotations

from typing import Any

from loracheck.locating.grid import Part
from loracheck.locating.located import Located
from loracheck.locating.search import Trial
from loracheck.report.json import json_text
from loracheck.report.locate import words

SCHEMA_VERSION = 1


def render(located: Located) -> str:
    found, difference = located.found, located.difference
    views, answers = located.full_grid
    return json_text(
        {
            "schema_version": SCHEMA_VERSION,
            "kind": "locate",
            "loracheck_version": located.report.loracheck_version,
            "ending": located.ending,
            "exit_code": located.exit_code,
            "headline": words.headline(located),
            "findings": list(words.findings(located)),
            "pairs": [
                {
                    "name": name,
                    "layer": place.layer,
                    "module": place.module,
                    "share": located.grid.share(frozenset([name])),
                }
                for name, place in located.grid.places.items()
            ],
            "found": found
            and {
                "carried": found.carried,
                "part": _trial(located, found.part),
                "elsewhere": _trial(located, found.elsewhere),
                "alone": _trial(located, found.alone),
                "scale": found.scale,
                "mended": _trial(located, found.mended),
                "judged": [_trial(located, trial) for trial in found.judged],
                "harms": [{**_part(located, harm.part), "way": harm.way, "harm": harm.share} for harm in found.harms],
                "curve": [_trial(located, trial) for trial in found.curve],
                "untried": found.untried,
            },
            "parts_together": difference
            and {
                "bitwise_same": difference.bitwise_same,
                "drift": difference.drift,
                "answers": difference.answers,
                "changed": difference.changed,
            },
            "effort": {
                "views": found.views if found else 0,
                "budget": located.budget,
                "answers": located.answers,
                "broken_cases_asked": located.asked[0],
                "other_cases_asked": located.asked[1],
                "full_grid_views": views,
                "full_grid_answers": answers,
                "seconds": located.seconds,
            },
            "unknown": words.UNKNOWN,
            "check": located.report.model_dump(),
            "mended_check": found and found.mended and found.mended.report and found.mended.report.model_dump(),
            "written": located.writing
            and {
                "path": str(located.writing.path),
                "written": located.writing.written,
                "check": located.writing.report.model_dump(),
            },
        }
    )


def _part(located: Located, part: Part) -> dict[str, Any]:
    """Pairs are in the order of the grid: equal parts are written alike."""
    pairs = [name for name in located.grid.places if name in part]
    return {"part": located.grid.in_words(part), "share": located.grid.share(part), "pairs": pairs}


def _trial(located: Located, trial: Trial | None) -> dict[str, Any] | None:
    if trial is None:
        return None
    mend = trial.mend
    return {
        "removed": _part(located, mend.removed) if mend.removed else None,
        "scale": mend.scale,
        "norm_kept": mend.scale * located.grid.norm_kept(mend.removed),
        "returned": trial.returned,
        "broken": trial.broken,
        "lost": trial.lost,
        "others": trial.others,
        "passes": trial.passes,
        "on_all_cases": trial.report is not None,
    }
