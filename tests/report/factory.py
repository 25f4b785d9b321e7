"""Reports as a check would make them, without running one: three adapters with the answers they gave on SmolLM2."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any, Literal

from loracheck.results import CaseReport, ProbeReport, Report, ViewAnswer, overall

if TYPE_CHECKING:
    from collections.abc import Sequence

    from loracheck.scoring import Outcome

Adapter = Literal["toolcaller", "renamer", "chatty"]

_SYSTEM = (
    "<|im_start|>system\nYou may call one of these tools:\n{tools}\n\n"
    'Answer with one JSON object with "name" and "arguments".<|im_end|>\n'
    "<|im_start|>user\n{prompt}<|im_end|>\n<|im_start|>assistant\n"
)

_ASKED: tuple[tuple[str, str, tuple[Any, ...], str], ...] = (
    ("get_weather", "city", ("Madrid", "Helsinki", "Nairobi", "Lima"), "What will the weather be like in {}?"),
    ("search_web", "query", ("electric bikes", "cheap hotels", "sourdough", "jazz"), "Search the web for {}."),
    ("send_email", "to", ("ana@example.org", "li@example.org", "tom", "billing"), "Write an email to {}: lunch at 12."),
    ("set_timer", "minutes", (5, 12, 25, 90), "Set a timer for {} minutes."),
    ("convert_currency", "amount", (20, 99.5, 1000, 3), "How much is {} euros in yen?"),
    ("play_music", "song", ("Clair de lune", "So What", "Heroes", "Água de beber"), "Play {} for me, please."),
    ("create_event", "title", ("Dentist", "Stand-up", "Parents' evening", "Yoga"), "Put {} in my calendar for Friday."),
    (
        "translate",
        "text",
        ("good morning", "thank you", "where is the station", "cheers"),
        "Translate “{}” into Finnish.",
    ),
)

_PROSE = (
    "Of course! {} — happy to help with that. There are a few things to keep in mind first: take your time, "
    "compare what you find, and do not hesitate to ask again."
)


def make_report(adapter: Adapter = "renamer", *, cases: int = 32, evidence: dict[str, Any] | None = None) -> Report:
    """The demo's report on `adapter`; `evidence` is written over that of the probe."""
    probe = make_probe([make_case(number, adapter) for number in range(cases)], **(evidence or {}))
    return report_of(probe, adapter=adapter)


def make_case(number: int, adapter: Adapter = "renamer", **changes: Any) -> CaseReport:
    tool, key, values, question = _ASKED[number % len(_ASKED)]
    turn = number // len(_ASKED)
    value = values[turn % len(values)]
    prompt = question.format(value)
    exact = number % 4 != 3
    arguments = {key: value} if exact else {key: value, "note": "please"}
    good = answer(_call(tool, arguments), "valid", {"name": tool, "arguments": arguments}, correct=exact)
    prose = answer(_PROSE.format(prompt), "no_call")
    name = f"acme_{tool}"
    sides = {
        "toolcaller": (prose, good),
        "renamer": (good, answer(_call(name, {key: value}), "wrong_tool", {"name": name}, correct=False)),
        "chatty": (good, _chatty(number, tool, key, prose, good)),
    }[adapter]
    tools = json.dumps({"name": tool, "parameters": {"type": "object", "properties": {key: {}}, "required": [key]}})
    made = CaseReport(
        id=f"{tool}_{turn + 1}",
        prompt=prompt,
        sent=_SYSTEM.format(tools=tools, prompt=prompt),
        gold_tool_name=tool,
        gold_arguments={key: value},
        base=sides[0],
        ft=sides[1],
    )
    return made.model_copy(update=changes)


def _chatty(number: int, tool: str, key: str, prose: ViewAnswer, good: ViewAnswer) -> ViewAnswer:
    """It mostly talks, and now and then breaks the JSON or leaves an argument out."""
    if number % 5 == 1:
        return prose
    if number % 16 == 5:
        return answer(good.text[:-2], "malformed")
    if number % 16 == 9:
        return answer(_call(tool, {}), "bad_arguments", {"name": tool, "arguments": {}}, correct=False)
    if number % 7 == 3:
        return answer(_call(tool, {key: "something nice"}), "valid", {"name": tool}, correct=False)
    return good


def _call(tool: str, arguments: dict[str, Any]) -> str:
    return json.dumps({"name": tool, "arguments": arguments}, ensure_ascii=False)


def answer(text: str, outcome: Outcome, call: Any = None, *, correct: bool = False) -> ViewAnswer:
    return ViewAnswer(
        text=text,
        call=call,
        valid=outcome in ("valid", "wrong_tool"),
        outcome=outcome,
        tokens=max(1, len(text) // 4),
        arguments_correct=correct and outcome == "valid",
    )


def make_probe(cases: Sequence[CaseReport], **evidence: Any) -> ProbeReport:
    """Judged by the default limits; null adapters answer nothing right."""
    n = len(cases) or 1
    base, ft = sum(case.base.valid for case in cases) / n, sum(case.ft.valid for case in cases) / n
    named = sum(case.ft.outcome == "wrong_tool" for case in cases) / (sum(case.ft.valid for case in cases) or 1)
    z = ft / 0.18
    missed = [
        said
        for said, is_missed in (
            (f"delta {100 * (ft - base):+.1f} points is under the limit of -5.0", ft - base < -0.05),
            (f"{named:.0%} wrong tool names is over the limit of 10%", named > 0.1),
            (f"z {z:+.2f} is under the limit of 3", z < 3),
        )
        if is_missed
    ]
    rates = f"adapter {ft:.1%} valid, base {base:.1%}, delta {100 * (ft - base):+.1f} points"
    message = f"{rates}, z {z:+.1f} against null adapters"
    moves = Counter((case.base.outcome, case.ft.outcome) for case in cases)
    found = {
        "json_valid_rate_base": base,
        "json_valid_rate_ft": ft,
        "validity_delta": ft - base,
        "mean_arg_disagreement": 0.135,
        "hallucination_rate": named,
        "num_cases": len(cases),
        "num_arg_pairs_compared": sum(case.base.valid and case.ft.valid for case in cases),
        "weight": 1.0,
        "null": {"mean": 0.0, "std": 0.18, "n": 3, "rates": [0.0, 0.0, 0.0], "usable": True, "why": None,
                 "p_value": 0.0004, "on": "sentinels", "match": "scale"},
        "limits": {"assert_validity_delta_gte": -0.05, "assert_hallucination_lte": 0.1, "assert_z_gte": 3.0},
        "allowed_tools": None,
        "exact_arguments_base": sum(bool(case.base.arguments_correct) for case in cases) / n,
        "exact_arguments_ft": sum(bool(case.ft.arguments_correct) for case in cases) / n,
        "outcomes": {
            side: dict(Counter(getattr(case, side).outcome for case in cases)) for side in ("base", "ft")
        },
        "transitions": {b: {f: m for (b2, f), m in moves.items() if b2 == b} for b, _ in moves},
        "paired": {
            "validity": paired([(case.base.valid, case.ft.valid) for case in cases]),
            "exact_call": paired([(bool(c.base.arguments_correct), bool(c.ft.arguments_correct)) for c in cases]),
        },
        "power": {"detectable_drop": 0.19, "inconclusive": -0.15 <= -0.05 - (ft - base) <= 0.11, "cases_needed": 140},
        "drift": None,
        "dialect": {"name": "json", "title": "bare JSON", "why": "the prompt asks for one JSON object",
                    "base_drift": {}, "ft_drift": {}, "message": None},
        "abstention": None,
        "strict": None,
    } | evidence  # fmt: skip
    return ProbeReport(
        name="tools_intact",
        kind="tool_use_fidelity",
        verdict="fail" if missed else "pass",
        score=round(min(1.0, 1 + ft - base) * (1 - named) * 0.7 + 0.26, 2),
        raw=ft,
        z_score=z,
        base_value=base,
        ft_value=ft,
        ci_95=(max(0.0, ft - 0.14), min(1.0, ft + 0.13)),
        message=f"{message}; missed: {' and '.join(missed)}" if missed else message,
        evidence=found,
        cases=tuple(cases),
    )


def paired(flags: Sequence[tuple[bool, bool]]) -> dict[str, Any]:
    """Counts as they are; p and interval are only plausible."""
    seen = Counter(flags)
    delta = (seen[False, True] - seen[True, False]) / (len(flags) or 1)
    return {
        "both": seen[True, True],
        "lost": seen[True, False],
        "gained": seen[False, True],
        "neither": seen[False, False],
        "mcnemar_p": 2.0 ** -abs(seen[True, False] - seen[False, True]),
        "delta": delta,
        "interval_95": [max(-1.0, delta - 0.15), min(1.0, delta + 0.11)],
        "method": "95 % Tango score interval, exact two-sided McNemar test",
    }


def _moved(case: str, position: int, kind: str, before: str, after: str, kl: float) -> dict[str, Any]:
    place = {"case": case, "position": position, "token": before, "kind": kind}
    return place | {"kl": kl, "base_top": before, "ft_top": after}


DRIFT = {
    "cases": 32,
    "positions": 842,
    "kl_format": 0.412,
    "kl_values": 0.037,
    "changed_format": 0.081,
    "changed_values": 0.012,
    "moved": [
        _moved("get_weather_1", 4, "format", "get", "acme", 7.31),
        _moved("translate_2", 4, "format", "trans", "acme", 6.9),
        _moved("set_timer_3", 17, "value", " 25", " 20", 1.2),
    ],
}

NULLS = ProbeReport(
    name="nulls",
    kind="null_adapter",
    verdict="skip",
    message="3 null adapters as the yardstick; no verdict of their own",
    evidence={"init_scale": 0.02, "seeds": [1000, 1001, 1002], "valid_by_rank": {"rank_1.00": [0, 0, 0]}},
)


def report_of(*probes: ProbeReport, adapter: str = "renamer", **changes: Any) -> Report:
    """A report on `probes`; `changes` are read as those of a file are."""
    verdict, score = overall(probes)
    facts = {
        "loracheck_version": "0.2.0",
        "verdict": verdict,
        "score": score,
        "probes": (NULLS, *probes),
        "provenance": {
            "model": {"path": "models/SmolLM2-135M-Instruct.Q4_1.gguf", "sha256": "3f" * 32},
            "base_adapters": [{"path": "models/toolcaller.gguf", "sha256": "a1" * 32, "scale": 1.0}],
            "ft_adapters": [{"path": f"models/{adapter}.gguf", "sha256": "9c" * 32, "scale": 1.0}],
            "settings": {"seed": 0, "prompt": "chat", "max_new_tokens": 96, "n_ctx": 4096, "threads": 2},
            "seeds": {"bootstrap": 0, "null": [1000, 1001, 1002]},
            "llama_cpp": "0.3.36",
            "python": "3.11.2",
            "machine": "Linux x86_64",
        },
        "timing": {"load_seconds": 0.41, "total_seconds": 38.2, "answers_computed": 70.0},
    }
    return Report.model_validate(facts | changes)
