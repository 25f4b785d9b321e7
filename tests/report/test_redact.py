"""A redacted report has the figures and nothing of the user's own, in any form; what nobody listed is left out."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import BaseModel

from loracheck.errors import ReportError
from loracheck.judge import judge_again
from loracheck.report import FORMS
from loracheck.report.diff import diff
from loracheck.report.diff.show import to_json as diff_to_json
from loracheck.report.html import to_html
from loracheck.report.json import read_report
from loracheck.report.redact import NOTE, REDACTED, redact, redact_sweep
from loracheck.report.sweep import SWEEP_FORMS
from loracheck.report.sweep.json import read_sweep
from loracheck.report.sweep.terminal import as_text as sweep_as_text
from loracheck.report.terminal import as_text
from loracheck.results import Report, ViewAnswer, differences
from loracheck.scoring.several import ExpectedCall, Matched
from loracheck.scoring.tries import METHOD
from loracheck.sweeping.building import build
from loracheck.sweeping.results import Sweep, SweepCell, figures_of
from report.factory import NULLS, make_report
from report.reports import FULL_EVIDENCE, answer, case, probe, report
from report.test_tries import SHOWN

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SECRET = "Hush4711"
# Texts from a closed list, which reading a file lets through in no other form.
CLOSED = {"verdict", "outcome", "expect", "kind", "grade", "subject", "axis", "shape"}

PAIRED = {"both": 2, "lost": 1, "gained": 0, "neither": 0, "mcnemar_p": 1.0, "delta": -0.3, "interval_95": [-0.6, 0.1],
          "method": "exact"}  # fmt: skip
RATES = {"json_valid_rate_base": 1.0, "json_valid_rate_ft": 0.5, "validity_delta": -0.5, "mean_arg_disagreement": 0.1,
         "hallucination_rate": 0.0, "num_cases": 4, "num_arg_pairs_compared": 2}  # fmt: skip
RATE = {"base": 1.0, "ft": 0.5, "delta": -0.5, "interval_95": [-0.8, -0.2], "variance_between_cases": 0.1,
        "variance_within_cases": 0.1, "better": 1, "worse": 2, "same": 0, "sign_p": 1.0, "pass_at_base": [1.0],
        "pass_at_ft": [0.5], "pass_all_base": [1.0], "pass_all_ft": [0.5], "flaky_base": ["one"],
        "flaky_ft": ["two"]}  # fmt: skip
EVERYTHING: dict[str, Any] = FULL_EVIDENCE | {
    "null": {"mean": 0.9, "std": 0.18, "n": 3, "rates": [0.9, 0.9, 0.9], "base_z": 5.5, "p_value": 0.0016,
             "usable": False, "why": "they are harmless", "on": "cases", "match": "scale",
             "samples": {"rank_1.00": {"valid": [3, 3, 3], "cases": 4}}},
    "outcomes": {"base": {"valid": 4}, "ft": {"valid": 2, "no_call": 2}},
    "several": {"cases": 1, "right_base": 1.0, "right_ft": 0.0, "missing_base": 0, "missing_ft": 1, "extra_base": 0,
                "extra_ft": 1, "wrong_arguments_base": 0, "wrong_arguments_ft": 1, "paired": PAIRED},
    "tries": {"cases": 2, "tries": 5, "valid": RATE, "exact": RATE, "all_right": PAIRED, "method": METHOD},
    "limits": {"assert_validity_delta_gte": -0.05, "assert_hallucination_lte": 0.1, "assert_z_gte": 3.0,
               "assert_exact_arguments_gte": 0.1, "assert_abstention_gte": 0.1, "assert_all_calls_gte": 0.1,
               "assert_pass_hat_k_delta_gte": -0.1},
    "flips": {"answers": 0.125, "outcomes": 0.03125, "cases": 32, "width": 1, "rounded_alike": True},
    "subject": "candidate",
    "other_model": True,
    "split": dict.fromkeys(("quantization", "adapter", "both"), RATES | {"paired": PAIRED}),
    "drift": FULL_EVIDENCE["drift"] | {"worst_format": 1.0, "worst_values": 2.0, "changed": 0.1},
    "no_drift": "it was switched off",
    "templates": {"prompts": 2, "cases": 4, "case": "one", "position": 7, "base": "<a>", "ft": "<b>"},
    "dialect": {"name": "hermes", "title": "Hermes tags", "why": "the template says so", "ft_name": "json",
                "ft_why": "no template", "spoken": "json", "read_as": "hermes", "base_counts": {"hermes": 4},
                "ft_counts": {"hermes": 2}, "base_drift": {"json": 1}, "ft_drift": {"json": 3},
                "message": "the adapter switched"},
    "weight": 2.0,
    "allowed_tools": ["search_web"],
    "non_finite_inputs": {"raw": "nan"},
    "defensively_nulled": ["raw"],
}  # fmt: skip
CALL = {"name": "search_web", "arguments": {"query": "x"}}


def everything() -> Report:
    """Each field of a report has a value."""
    matched = Matched(((0, 0),), (True,), (1,), (2,), right=False)
    told = {"call": CALL, "more_calls": [CALL], "dialect": "json", "written_in": "json", "strict_valid": True,
            "arguments_correct": True, "matched": matched, "cut_off_in_thinking": True}  # fmt: skip
    good = answer("yes", **told, tries=[answer("again", **told)])
    bad = answer("no", "wrong_tool", **told, tries=[answer("again", "no_call", **told)])
    asked = {"sent": "<sent>", "sent_ft": "<also sent>", "gold_arguments": {"query": "x"}, "differs_at": 3,
             "gold_calls": (ExpectedCall("search_web", {"query": "x"}), ExpectedCall("read"))}  # fmt: skip
    cases = [case(name, bad if name == "two" else good, good, **asked) for name in ("one", "two", "three")]
    judged = probe(*cases, verdict="fail", evidence=EVERYTHING, raw=0.5, z_score=2.0, ci_95=(0.1, 0.9), name="mine")
    nulls = NULLS.model_copy(
        update={
            "evidence": NULLS.evidence.model_copy(  # type: ignore[union-attr]
                update={"on": "cases", "match": "norm", "cases_per_run": 2}
            )
        }
    )
    other = probe(*cases, name="other", kind="a_kind_of_theirs", evidence={"weight": 2.0, "words": ["theirs"]})
    file = {"path": "/home/me/model.gguf", "sha256": "3f" * 32}
    adapter = {"path": "me/mine.gguf", "sha256": "9c" * 32, "scale": 0.5, "parts": [file],
               "peft": {"adapter_config.json": "ab" * 32}}  # fmt: skip
    origin = {
        "suite_file": "/home/me/suite.yaml", "outside_suite_folder": ["/mnt/x"], "model": file | {"parts": [file]},
        "candidate": file | {"parts": [file]}, "base_adapters": [adapter], "ft_adapters": [adapter],
        "settings": {"seed": 0, "prompt": "chat", "quantize": "Q4_K_M", "template_args": {"date": "today"}},
        "suite": {"models": {"base": "model.gguf"}}, "seeds": {"bootstrap": 0, "null": [1, 2]},
        "llama_cpp": "0.3.36", "python": "3.11.2", "machine": "Linux x86_64", "answered_by": ["node7"],
    }  # fmt: skip
    return report(
        nulls,
        judged,
        other,
        provenance=origin,
        warnings=["mine: a warning"],
        judged_with={"mine.assert_z_gte": 3.0, "assert_hallucination_lte": 0.1},
        redacted=True,
    )


def filled(value: Any, name: str = "") -> Any:
    """The same with the secret in every text, and as a key of every mapping."""
    if isinstance(value, BaseModel):
        fields = type(value).model_fields
        return value.model_copy(update={each: filled(getattr(value, each), each) for each in fields})
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        changes = {field.name: filled(getattr(value, field.name)) for field in dataclasses.fields(value)}
        return dataclasses.replace(value, **changes)
    if isinstance(value, str):
        return value if name in CLOSED else f"{SECRET} {value}"
    if isinstance(value, dict):
        return {key: filled(item) for key, item in value.items()} | {f"{SECRET}.{key}": i for key, i in value.items()}
    if isinstance(value, list | tuple):
        return tuple(map(filled, value))
    return value


def parts_of(value: Any) -> Iterator[BaseModel]:
    if isinstance(value, BaseModel):
        yield value
        for each in type(value).model_fields:
            yield from parts_of(getattr(value, each))
    elif isinstance(value, dict):
        yield from (part for item in value.values() for part in parts_of(item))
    elif isinstance(value, list | tuple):
        yield from (part for item in value for part in parts_of(item))


def everything_swept() -> Sweep:
    cells = [
        SweepCell(base="a", quantization=kind, adapter=adapter, scale=scale, run="runs/x", checkpoint=5, verdict="fail",
                  size_bytes=7, page="cells/1.html", report=everything(), figures=figures_of(everything()))
        for kind in (None, "Q4_K_M") for adapter in ("a", "b") for scale in (0.5, 1.0)
    ]  # fmt: skip
    errors = [
        SweepCell(base="b", adapter="c", scale=n, verdict="error", reason="/home/me: no such file") for n in (1, 2)
    ]
    return build([*cells, *errors], {"total_seconds": 7.0}, ["the sweep's own warning"])


def all_forms(shown: Report) -> dict[str, str]:
    forms = {name: form.render(shown) for name, form in FORMS.items()}
    return forms | {"terminal": as_text(shown, verbose=True), "diff": diff_to_json(diff(shown, shown)),
                    "diff page": to_html(diff(shown, shown))}  # fmt: skip


def test_the_example_has_a_value_in_every_field() -> None:
    """Whoever adds a field gives it one here, so that it is tried whether it leaks."""
    seen: dict[str, set[str]] = {}
    for part in parts_of(everything_swept()):
        told = seen.setdefault(type(part).__name__, set(type(part).model_fields))
        told -= {name for name in told if getattr(part, name) not in (None, (), {}, "")}
    assert {kind: names for kind, names in seen.items() if names} == {}


@pytest.mark.parametrize("form", [*FORMS, "terminal", "diff", "diff page"])
def test_no_text_of_the_users_own_is_left_in_any_form(tmp_path: Path, form: str) -> None:
    path = tmp_path / "out.json"
    path.write_text(FORMS["json"].render(filled(everything())), encoding="ascii")
    whole = read_report(path)
    assert FORMS["json"].render(whole).count(SECRET) > 200
    assert SECRET not in all_forms(redact(whole))[form]


@pytest.mark.parametrize("form", [*SWEEP_FORMS, "terminal"])
def test_nor_in_any_form_of_a_sweep(tmp_path: Path, form: str) -> None:
    path = tmp_path / "out.json"
    path.write_text(SWEEP_FORMS["json"].render(filled(everything_swept())), encoding="ascii")
    shown = redact_sweep(read_sweep(path))
    assert SECRET not in (sweep_as_text(shown) if form == "terminal" else SWEEP_FORMS[form].render(shown))


def test_nor_are_names_that_were_there_before() -> None:
    text = FORMS["json"].render(redact(everything()))
    for private in ("search_web", "query", "/home", "mine", "theirs", "today", "node7", "Search for", "one", "suite.y"):
        assert f'"{private}' not in text, private
        assert f" {private}" not in text.replace(NOTE, ""), private


def test_figures_outcomes_verdicts_and_hashes_stay() -> None:
    whole = make_report("chatty")
    shown = redact(whole)
    assert (shown.verdict, shown.score, shown.timing) == (whole.verdict, whole.score, whole.timing)
    before, after = whole.judged[0], shown.judged[0]
    for field in ("verdict", "score", "raw", "z_score", "base_value", "ft_value", "ci_95"):
        assert getattr(before, field) == getattr(after, field)
    told = {"drift", "dialect"}
    assert before.comparison.model_dump(exclude=told) == after.comparison.model_dump(exclude=told)
    assert [(each.base.outcome, each.ft.outcome) for each in before.cases] == [
        (each.base.outcome, each.ft.outcome) for each in after.cases
    ]
    assert [each.tokens for each in (after.cases[1].base, after.cases[1].ft)] == [
        each.tokens for each in (before.cases[1].base, before.cases[1].ft)
    ]
    assert shown.provenance.ft_adapters[0].sha256 == whole.provenance.ft_adapters[0].sha256
    assert shown.provenance.compared == ("adapter 9c9c9c9c9c9c", "model 3f3f3f3f3f3f + adapter a1a1a1a1a1a1")
    assert shown.provenance.settings == whole.provenance.settings
    assert (shown.provenance.llama_cpp, shown.provenance.machine) == ("0.3.36", "Linux x86_64")


def test_names_become_numbers() -> None:
    shown = redact(everything())
    assert [probe.name for probe in shown.probes] == ["null adapters 1", "probe 1", "probe 2"]
    assert [each.id for each in shown.probes[1].cases] == ["case 1", "case 2", "case 3"]
    assert {each.gold_tool_name for each in shown.probes[1].cases} == {"tool 1"}
    assert shown.judged_with == {"probe 1.assert_z_gte": 3.0, "assert_hallucination_lte": 0.1}
    evidence = shown.probes[1].comparison
    assert evidence.tries
    assert (evidence.tries.exact.flaky_base, evidence.tries.exact.flaky_ft) == (("case 1",), ("case 2",))
    swept = redact_sweep(everything_swept())
    assert {cell.base for cell in swept.cells} == {"base 1", "base 2"}
    assert {cell.adapter for cell in swept.cells} == {"adapter 1", "adapter 2", "adapter 3"}
    assert {cell.quantization for cell in swept.cells} == {None, "Q4_K_M"}


def test_whether_two_answers_are_alike_is_still_told() -> None:
    shown = redact(make_report("chatty"))
    for before, after in zip(make_report("chatty").judged[0].cases, shown.judged[0].cases, strict=True):
        assert (before.base.text == before.ft.text) == (after.base.text == after.ft.text)
        assert after.prompt == REDACTED


def test_the_verdict_is_told_anew_in_figures() -> None:
    whole = everything()
    message = redact(whole).probes[1].message
    assert "valid, base" in message
    assert whole.probes[1].message not in message
    assert redact(whole).probes[1].comparison.null.why == (
        "null adapters still give 90% valid calls, so even a perfect adapter would only reach z +0.6, "
        "under the limit of 3"
    )


def test_it_says_that_it_is_redacted_and_redacting_again_changes_nothing() -> None:
    shown = redact(everything())
    assert shown.redacted
    assert shown.warnings[-1] == NOTE
    assert list(differences(shown, redact(shown))) == []
    assert redact(shown).warnings == shown.warnings


def test_a_redacted_report_is_read_judged_again_and_compared_like_any_other(tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    path.write_text(FORMS["json"].render(redact(make_report("chatty"))), encoding="ascii")
    shown = read_report(path)
    assert shown == redact(make_report("chatty"))
    again = judge_again(shown, {"assert_validity_delta_gte": -0.99})
    assert (shown.verdict, again.verdict) == ("fail", "pass")
    assert again.judged[0].comparison.transitions == shown.judged[0].comparison.transitions
    compared = diff(redact(make_report("toolcaller")), shown)
    whole = diff(make_report("toolcaller"), make_report("chatty"))
    assert compared.worse == tuple(why.replace("tools_intact", "probe 1") for why in whole.worse)
    assert "matched by number" in compared.differences[0]


def test_a_redacted_report_and_a_whole_one_cannot_be_compared() -> None:
    with pytest.raises(ReportError, match="one of the two reports is redacted"):
        diff(make_report(), redact(make_report()))


def test_tries_are_kept_as_what_they_came_to() -> None:
    shown = redact(SHOWN)
    before, after = (each.judged[0].cases[1].ft.tries for each in (SHOWN, shown))
    assert [each.outcome for each in before] == [each.outcome for each in after]
    assert {each.text for each in after} == {REDACTED}


def test_whatever_is_no_word_of_ours_is_left_out_of_answers_too() -> None:
    told = answer(dialect=SECRET, written_in=SECRET)
    (after,) = redact(report(probe(case("a", told, told)))).judged[0].cases
    assert after.ft == ViewAnswer(text=REDACTED, call=None, valid=True, outcome="valid", tokens=9)


def test_the_page_shows_no_prompt_where_there_is_none() -> None:
    assert "The exact prompt" not in FORMS["html"].render(redact(make_report()))
    assert json.loads(FORMS["json"].render(redact(make_report())))["redacted"] is True
