"""One page of every kind that loracheck writes, each small enough to walk through key by key."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loracheck.report.diff import diff
from loracheck.report.html import render, to_html
from loracheck.report.locate import render as render_located
from loracheck.report.redact import redact
from loracheck.report.sweep.diff import diff_sweeps
from loracheck.report.sweep.diff import to_html as sweep_diff_to_html
from loracheck.report.sweep.html import render as render_sweep
from loracheck.scoring.several import ExpectedCall
from report.factory import DRIFT, answer, make_case, make_probe, make_report, report_of
from report.sweep.test_html import grid
from report.test_calls import OSLO, ROME, answered, several
from report.test_locate import make_located
from report.test_tries import tried, tried_report
from sweeping.test_findings import along_scales, checkpoints

if TYPE_CHECKING:
    from collections.abc import Callable

    from loracheck.results import Report
    from loracheck.sweeping.results import Sweep

WARNED = {"warnings": ("tools_intact: only 8 cases that expect a call: a verdict needs 20 at the least",)}


def failed() -> Report:
    report = make_report("chatty", cases=12, evidence={"drift": DRIFT, "dialect": SLIPPED})
    return report.model_copy(update=WARNED)


SLIPPED = {
    "name": "json", "title": "bare JSON", "why": "the prompt asks for one JSON object", "spoken": "json",
    "base_counts": {"json": 12}, "ft_counts": {"json": 7, "hermes": 2}, "ft_drift": {"hermes": 2},
}  # fmt: skip


def several_probes() -> Report:
    probes = (make_probe([make_case(n, adapter) for n in range(8)]) for adapter in ("renamer", "toolcaller"))
    named = [probe.model_copy(update={"name": name}) for probe, name in zip(probes, ("mail", "search"), strict=True)]
    return report_of(*named)


def two_models() -> Report:
    """Another model file in place of an adapter, asked by another chat template."""
    cases = [make_case(n, "chatty") for n in range(10)]
    asked = [case.model_copy(update={"sent_ft": f"<start>{case.prompt}<end>"}) for case in cases]
    templates = {
        "prompts": 10,
        "cases": 10,
        "case": cases[0].id,
        "position": 0,
        "base": "<|im_start|>",
        "ft": "<start>",
    }
    probe = make_probe(asked, subject="candidate", other_model=True, templates=templates, drift=DRIFT)
    report = report_of(probe)
    origin = report.provenance.model_copy(update={"ft_adapters": ()})
    candidate = origin.model.model_copy(update={"path": "models/SmolLM2-135M-Instruct.Q2_K.gguf", "sha256": "b2" * 32})
    return report.model_copy(update={"provenance": origin.model_copy(update={"candidate": candidate})})


def several_calls() -> Report:
    rome = ExpectedCall("get_weather", {"city": "Rome"})
    cases = (several(answered(ROME, OSLO), answered(ROME)), several(answered(ROME, OSLO), answered(OSLO, ROME), id="2"))
    return report_of(make_probe([*cases, make_case(3, ft=answer("…", "no_call"), gold_calls=(rome,))]))


def tries() -> Report:
    cases = [tried(f"case {n}", "xxxxx", signs) for n, signs in enumerate(("xxxxx", "xv-xx", "-----", "vvxxx"))]
    report: Report = tried_report(*cases)
    return report


def sweep() -> Sweep:
    """With links to the pages of its cells."""
    swept = grid()
    cells = tuple(each.model_copy(update={"page": f"cells/{n}.html"}) for n, each in enumerate(swept.cells))
    return swept.model_copy(update={"cells": cells, "warnings": ("the machine was busy",)})


def report_diff() -> str:
    better, worse = (make_report(adapter, cases=10) for adapter in ("chatty", "renamer"))
    return to_html(diff(better, worse), "yesterday.json", "today.json")


def sweep_diff() -> str:
    compared = diff_sweeps(along_scales(s50=[], s100=[]), along_scales(s50=[], s100=range(10)))
    return sweep_diff_to_html(compared, "yesterday.json", "today.json")


PAGES: dict[str, Callable[[], str]] = {
    "check-fail": lambda: render(failed()),
    "check-pass": lambda: render(make_report("toolcaller", cases=12)),
    "check-several-probes": lambda: render(several_probes()),
    "check-two-models": lambda: render(two_models()),
    "check-several-calls": lambda: render(several_calls()),
    "check-tries": lambda: render(tries()),
    "check-redacted": lambda: render(redact(failed())),
    "sweep": lambda: render_sweep(sweep()),
    "sweep-checkpoints": lambda: render_sweep(checkpoints(c5=[], c100=range(3), end=range(10))),
    "locate": lambda: render_located(make_located(), "html"),
    "diff": report_diff,
    "diff-of-sweeps": sweep_diff,
}
