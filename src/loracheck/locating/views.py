"""What a mended adapter does, asked of an engine: views of its parts on the cases that broke, and as many others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from loracheck.ask import Progress
from loracheck.engine import AdapterPart, AdapterUse, Completion, Engine, Prompt, Trace, View
from loracheck.judge import judge
from loracheck.locating.grid import Grid
from loracheck.locating.search import Mend, Trial
from loracheck.plan import Plan
from loracheck.probes.probe import Answers
from loracheck.provenance import AdapterFile
from loracheck.results import CaseReport, Report
from loracheck.scoring.drift import divergence

MOST_READ = 6
"""Broken cases whose base calls are read to rank parts, the shortest."""
MOST_ASKED = 8
"""Broken cases that a trial asks, and so many others, the shortest."""


@dataclass(frozen=True, slots=True)
class Checked:
    """The check that a search begins with."""

    plan: Plan
    answers: Answers
    report: Report

    @property
    def adapter(self) -> AdapterFile:
        """The one under test."""
        return self.plan.adapters[-1]

    @property
    def asked(self) -> list[tuple[CaseReport, Prompt]]:
        """Every case with its prompt, the shortest first."""
        pairs = [
            pair
            for step, probe in zip(self.plan.steps, self.report.probes, strict=True)
            # Null adapters have prompts, and no cases.
            for pair in zip(probe.cases, step.prompts.of(self.plan.views.tuned), strict=False)
        ]
        return sorted(pairs, key=lambda pair: len(pair[0].sent) + len(pair[0].base.text))

    def trace(self, view: View, prompt: Prompt) -> Trace | None:
        completion = self.answers.find(view, prompt)
        return completion.trace if completion else None


@dataclass(frozen=True, slots=True)
class Difference:
    """How far the parts together are from the whole."""

    bitwise_same: bool
    """In the logits of one text."""
    drift: float | None
    """Between the two while they read the base's calls; None where they are the same, or nothing could be read."""
    answers: int = 0
    changed: int = 0
    """Of so many answers."""


class PartViews:
    """Trials of one adapter's parts. Every answer goes through the engine, and so through the store before it."""

    def __init__(self, checked: Checked, grid: Grid, engine: Engine, progress: Progress) -> None:
        self._checked = checked
        self._grid = grid
        self._engine = engine
        self._progress = progress
        self._views = 0
        self.answers = 0
        """How many were asked for, those that only read included."""
        base, tuned = checked.plan.views.base, checked.plan.views.tuned
        pairs = checked.asked
        self.broken = [pair for pair in pairs if pair[0].broke][:MOST_ASKED]
        self.others = [pair for pair in pairs if not pair[0].broke][:MOST_ASKED]
        # Where the whole adapter was traced, the base makes a call.
        self._read = [
            prompt
            for case, prompt in pairs
            if case.broke and checked.trace(base, prompt) and checked.trace(tuned, prompt)
        ][:MOST_READ]
        self._whole_drift = self._drift([checked.trace(tuned, prompt) for prompt in self._read])

    def read(self, mend: Mend) -> float | None:
        if not self._whole_drift:
            return None
        # One new token is there once the prompt is read; none is generated.
        prompts = [
            replace(prompt, max_new_tokens=1, follow=self._checked.trace(self._checked.plan.views.base, prompt))
            for prompt in self._read
        ]
        drift = self._drift([answer.trace for answer in self._ask(self._view(mend), prompts)])
        return None if drift is None else drift / self._whole_drift

    def ask(self, mend: Mend) -> Trial:
        view = self._view(mend)
        known = dict(zip((prompt for _, prompt in self.broken), self._ask_plain(view, self.broken), strict=True))
        trial = self._judged(mend, view, known)
        if not trial.passes:
            # The others could only make it worse.
            return replace(trial, others=0, lost=0)
        known |= dict(zip((prompt for _, prompt in self.others), self._ask_plain(view, self.others), strict=True))
        return self._judged(mend, view, known)

    def judge(self, mend: Mend) -> Trial:
        view = self._view(mend, "all cases ")
        plan = self._checked.plan
        (prompts,) = (each.prompts for each in plan.questions if each.view == plan.views.tuned)
        asked = [replace(prompt, follow=self._followed(prompt)) for prompt in prompts]
        known = dict(zip(prompts, self._ask(view, asked), strict=True))
        report = self._report(view, known)
        pairs = list(zip(_cases(self._checked.report), _cases(report), strict=True))
        return Trial(
            mend,
            returned=sum(was.broke and is_now.is_right(is_now.ft) for was, is_now in pairs),
            broken=sum(was.broke for was, _ in pairs),
            lost=sum(not was.broke and is_now.broke for was, is_now in pairs),
            others=sum(not was.broke for was, _ in pairs),
            passes=report.verdict in ("pass", "warn"),
            report=report,
        )

    def compare_with_whole(self, text: str) -> Difference:
        """All parts together beside the adapter as it is: llama.cpp adds up a stack in an order of its own."""
        tuned, parts = self._checked.plan.views.tuned, self._view(Mend(), parts=True)
        digests = [self._engine.fingerprint(view, text).digest for view in (tuned, parts)]
        if digests[0] == digests[1]:
            return Difference(bitwise_same=True, drift=None)
        prompts = self._read or [prompt for _, prompt in self.broken]
        completions = self._ask(parts, [replace(prompt, follow=self._followed(prompt)) for prompt in prompts])
        both = list(zip(self._checked.answers.of(tuned, prompts), completions, strict=True))
        drifts = [_apart(a.trace, b.trace) for a, b in both if a.trace and b.trace]
        return Difference(
            bitwise_same=False,
            drift=math.fsum(drifts) / len(drifts) if drifts else None,
            answers=len(both),
            changed=sum(a.text != b.text for a, b in both),
        )

    def _view(self, mend: Mend, before: str = "", *, parts: bool = False) -> View:
        """A choice of parts, or the whole adapter at another scale."""
        plan, adapter = self._checked.plan, self._checked.adapter
        self._views += 1
        if not mend.removed and not parts:
            uses = [AdapterUse(adapter.lora.path, adapter.entry.scale * mend.scale)]
            words = f"scale {mend.scale:g}"
        else:
            kept = [name for name in self._grid.places if name not in mend.removed]
            uses = [AdapterUse(AdapterPart(adapter.lora.path, (name,)), adapter.entry.scale) for name in kept]
            words = self._words(mend)
        own = plan.views.base.adapters
        return replace(plan.views.tuned, name=f"{self._views}. {before}{words}", adapters=(*own, *uses))

    def _words(self, mend: Mend) -> str:
        kept = self._grid.whole - mend.removed
        if not mend.removed:
            return "all parts"
        if len(kept) < len(mend.removed):
            return f"{self._grid.in_words(kept)} alone"
        return f"without {self._grid.in_words(mend.removed)}"

    def _followed(self, prompt: Prompt) -> Trace | None:
        """The base's answer, where the whole adapter has read it too."""
        views = self._checked.plan.views
        return self._checked.trace(views.base, prompt) if self._checked.trace(views.tuned, prompt) else None

    def _ask_plain(self, view: View, pairs: Sequence[tuple[CaseReport, Prompt]]) -> list[Completion]:
        return self._ask(view, [prompt for _, prompt in pairs])

    def _ask(self, view: View, prompts: Sequence[Prompt]) -> list[Completion]:
        if prompts:
            self._progress.stage(view.name, len(prompts))
        completions: dict[int, Completion] = {}
        for index, completion in self._engine.answer(view, prompts):
            completions[index] = completion
            self._progress.done(None if completion.stored else len(completion.tokens))
        self.answers += len(prompts)
        return [completions[index] for index in range(len(prompts))]

    def _drift(self, traces: Sequence[Trace | None]) -> float | None:
        """From the base, over the answers that are read: the mean of each one's mean divergence."""
        base = self._checked.plan.views.base
        both = zip((self._checked.trace(base, prompt) for prompt in self._read), traces, strict=True)
        drifts = [_apart(mine, theirs) for mine, theirs in both if mine and theirs]
        return math.fsum(drifts) / len(drifts) if drifts else None

    def _judged(self, mend: Mend, view: View, known: dict[Prompt, Completion]) -> Trial:
        """By the judge, on all cases: those that were not asked are taken to fare as those that were."""
        plan = self._checked.plan
        answers = self._checked.answers
        asked = self._report(view, self._whole_answers() | known)
        right = [case.is_right(case.ft) for case in _in_order(asked, self._checked.report, self.broken)]
        filled: dict[Prompt, Completion] = {}
        unasked = [pair for pair in self._checked.asked if pair[0].broke and pair[1] not in known]
        for place, (_, prompt) in enumerate(unasked):
            if right[place % len(right)]:
                filled[prompt] = answers.of(plan.views.base, [prompt])[0]
        report = self._report(view, self._whole_answers() | filled | known) if filled else asked
        others = _in_order(report, self._checked.report, self.others)
        return Trial(
            mend,
            returned=sum(right),
            broken=len(right),
            lost=sum(case.broke for case in others),
            others=len(others),
            passes=report.verdict in ("pass", "warn"),
        )

    def _whole_answers(self) -> dict[Prompt, Completion]:
        """What the adapter itself answered."""
        plan = self._checked.plan
        (prompts,) = (each.prompts for each in plan.questions if each.view == plan.views.tuned)
        return dict(zip(prompts, self._checked.answers.of(plan.views.tuned, prompts), strict=True))

    def _report(self, view: View, known: dict[Prompt, Completion]) -> Report:
        plan = self._checked.plan
        answers = self._checked.answers.copy()
        for prompt, completion in known.items():
            answers.add(view, prompt, completion)
        return judge(replace(plan, views=replace(plan.views, tuned=view)), answers)


def _cases(report: Report) -> list[CaseReport]:
    return [case for probe in report.probes for case in probe.cases]


def _in_order(report: Report, first: Report, pairs: Sequence[tuple[CaseReport, Prompt]]) -> list[CaseReport]:
    """The cases of a report that stand where these stood in the first one."""
    places = {id(case): place for place, case in enumerate(_cases(first))}
    cases = _cases(report)
    return [cases[places[id(case)]] for case, _ in pairs]


def _apart(first: Trace, second: Trace) -> float:
    """The mean divergence of two views at the places of one answer."""
    each = [divergence(a, b) for a, b in zip(first.log_probs, second.log_probs, strict=True)]
    return math.fsum(each) / len(each)
