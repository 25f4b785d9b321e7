"""Saved reports that cannot be read, judged, compared or run again, and reports that cannot be written."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from cli.messages.rows import Row, file

if TYPE_CHECKING:
    from collections.abc import Callable

    from cli.messages.rows import Prepare, World

FILES = "--base base.gguf --adapter adapter.gguf --no-null -q"
NO_CASES = "no_one.assert_z_gte=1"


def edited(name: str, change: Callable[[dict[str, Any]], object]) -> Prepare:
    """my.json, a saved report that somebody has changed."""

    def prepare(world: World) -> None:
        report = json.loads((world.folder / name).read_text(encoding="utf-8"))
        change(report)
        world.write("my.json", json.dumps(report))

    return prepare


def other_cases(report: dict[str, Any]) -> None:
    for case in report["probes"][0]["cases"]:
        case["id"] += " of another"


def other_cells(sweep: dict[str, Any]) -> None:
    for cell in sweep["cells"]:
        cell["adapter"] = "another"


def full_disk(world: World) -> None:
    def no_room(*_: object) -> None:
        raise OSError(28, "No space left on device")

    world.patch.setattr("loracheck.report.write_atomically", no_room)


def no_summary(world: World) -> None:
    world.patch.setenv("GITHUB_STEP_SUMMARY", "there/summary.md")


def redacted(report: dict[str, Any]) -> None:
    report["redacted"] = True


ROWS = [
    Row(
        "diff report.json my.json",
        "one of the two reports is redacted and the other is not, so their cases cannot be matched; ",
        edited("report.json", redacted),
    ),
    Row(
        "check --like my.json -q",
        "my.json: the report is redacted and does not hold its suite; give the whole report",
        edited("report.json", redacted),
    ),
    Row(
        "report my.json",
        "my.json: what `locate` found, not the report of a check; `loracheck locate` writes it as a page",
        edited("report.json", lambda report: report.update(kind="locate")),
    ),
    Row("report there.json", "there.json: no such file; check the path"),
    Row("report my.json", "my.json: not a loracheck report; ", file("my.json", "[]")),
    Row(
        "report my.json",
        "my.json: a report of schema version 99; this loracheck reads 1; use the version that wrote it",
        edited("report.json", lambda report: report.update(schema_version=99)),
    ),
    Row(
        "report my.json",
        "my.json: a sweep of schema version 99; this loracheck reads 1; use the version that wrote it",
        edited("sweep.json", lambda report: report.update(schema_version=99)),
    ),
    Row(
        "report my.json",
        "my.json: not a whole report: probes: Field required; was it edited, or cut short?",
        edited("report.json", lambda report: report.pop("probes")),
    ),
    Row(
        "report report.json --format csv",
        "--format csv is for a sweep; a single report has json, html, markdown, junit",
    ),
    Row("report report.json --limit asert_z_gte=1", "no limit 'asert_z_gte'; there are "),
    Row("report report.json --limit asert_z_gte=1", "; did you mean 'assert_z_gte'?"),
    Row(
        "report report.json --limit tool_intact.assert_z_gte=1",
        "no probe 'tool_intact' in the report; it has tools_intact; did you mean 'tools_intact'?",
    ),
    Row(
        "report report.json --limit assert_abstention_gte=1",
        "tools_intact: assert_abstention_gte needs cases with expect: no_call, and there are none; leave it out",
    ),
    Row("report report.json --format html -o new.html", "new.html: could not be written: No space left", full_disk),
    Row(
        f"check {FILES} --html new.html",
        "new.html: could not be written: No space left on device; write it",
        full_disk,
    ),
    Row(f"check {FILES}", "there/summary.md: the step summary could not be written: No such file", no_summary),
    Row(
        f"sweep {FILES} --reports cells",
        "cells: the folder could not be made: File exists; write it elsewhere, or make room there",
        lambda world: (world.folder / "cells").symlink_to("nowhere"),
    ),
    # Two of them
    Row(
        "diff report.json sweep.json",
        "report.json and sweep.json: a sweep and a single report; give two of a kind (sweep --reports writes both)",
    ),
    Row(
        "diff report.json my.json",
        "report.json and my.json: the two reports have no case in common, so there is nothing to compare; cases are",
        edited("report.json", other_cases),
    ),
    Row(
        "diff sweep.json my.json",
        "sweep.json and my.json: the two sweeps have no cell in common, so there is nothing to compare; cells are",
        edited("sweep.json", other_cells),
    ),
    # Again
    Row(
        "check --like sweep.json", "sweep.json: what a sweep found, not a single report; `loracheck report sweep.json`"
    ),
    Row(
        "check --like my.json -q",
        "my.json: the report does not hold its suite; it is of an older loracheck; run the check itself again",
        edited("report.json", lambda report: report["provenance"].update(suite=None)),
    ),
    Row(
        "check --like report.json -q",
        "report.json: it came from base.gguf, which is not there; put it back",
        lambda world: (world.folder / "base.gguf").unlink(),
    ),
    Row(
        "check --like my.json -q",
        "my.json: adapter.gguf has changed since; a second run would be of another file; put the old one back",
        edited("report.json", lambda report: report["provenance"]["ft_adapters"][0].update(sha256="0" * 64)),
    ),
    Row(
        "check --like my.json -q",
        "my.json: it names 0 adapters, and its suite 1; was it edited?",
        edited("report.json", lambda report: report["provenance"].update(ft_adapters=[])),
    ),
    # Recorded answers
    Row("score there.jsonl", "'there.jsonl': No such file or directory"),
    Row("score my.jsonl", "my.jsonl:1: ", file("my.jsonl", "{no")),
    Row(
        "score cases.jsonl",
        "cases.jsonl:1: a line of more than 10 characters; is it a file of JSON lines?",
        lambda world: world.patch.setattr("loracheck.cli.reports._LONGEST_LINE", 10),
    ),
]
