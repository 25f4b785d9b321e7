"""What a kind of probe is: what it asks, what it makes of the answers, and how that reads."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, Generic, TypeVar

from loracheck.cases.case import Case
from loracheck.cases.entries import Entry, NullAdapterEntry
from loracheck.engine import AdapterUse, Completion, Prompt, Try, View
from loracheck.results import ProbeReport
from loracheck.scoring.dialects import Detection
from loracheck.scoring.evidence import Subject
from loracheck.scoring.spoken import Reader

E = TypeVar("E", bound=Entry)


@dataclass(frozen=True, slots=True)
class Questions:
    """One view, and all that it is asked in one go."""

    view: View
    prompts: tuple[Prompt, ...]
    traced: bool = False
    """Keep what the view expects at each place of its own answers."""
    follows: tuple[Prompt | None, ...] = ()
    """For each prompt the one that the base was asked: where that brought a call, this view reads it as well, to see
    how far its expectations are from the base's. Empty where it follows nobody."""


@dataclass(frozen=True, slots=True)
class Prompts:
    """A prompt for each case, as each model file of a plan is asked it: two files may have two chat templates."""

    by_model: Mapping[Path, tuple[Prompt, ...]]

    def of(self, view: View) -> tuple[Prompt, ...]:
        return self.by_model[view.model]

    @property
    def are_alike(self) -> bool:
        """Whether all model files are asked the very same."""
        return len({tuple(prompt.text for prompt in prompts) for prompts in self.by_model.values()}) <= 1


@dataclass(frozen=True, slots=True)
class Views:
    """What all probes of a plan have in common: the two views, and how answers are read."""

    base: View
    tuned: View
    bare: View
    """The tuned view without the adapters under test: the base, unless a candidate is checked."""
    asked: Mapping[Path, Detection]
    """The dialect that the prompts of each model file ask for."""
    read_as: str | None
    """The one dialect to read answers in; None where the asked and the spoken one count."""
    strict_schema: bool
    seed: int
    again: View | None = None
    """The base once more, at a decode width that makes it round otherwise; None where nobody asked for that."""
    unquantized: View | None = None
    """The adapters under test on the base as it is, where the tuned view has them on the quantized base."""
    no_drift: str | None = None
    """Why the tuned view does not read the base's calls; None where it does."""
    spoken: str | None = None
    """The dialect that the base writes; None until it has answered."""
    attempts: tuple[Try | None, ...] = ()
    """The tries that each case gets beside its greedy answer; None for one that is the greedy answer once more."""

    @property
    def under_test(self) -> tuple[AdapterUse, ...]:
        """The adapters that are checked; none where a candidate is."""
        return self.tuned.adapters[len(self.bare.adapters) :]

    @property
    def subject(self) -> Subject:
        """What is checked, in a word."""
        return "adapter" if self.under_test else "candidate"

    def reader_of(self, view: View) -> Reader:
        """How a view's answers are read: its own asked dialect counts, and the base's spoken one."""
        asked = self.asked[view.model].name
        return Reader(asked, self.spoken or self.asked[self.base.model].name, self.read_as)

    def tries_at(self, prompt: Prompt) -> tuple[Prompt, ...]:
        return tuple(replace(prompt, attempt=attempt) for attempt in self.attempts)


@dataclass(frozen=True, slots=True)
class Step(Generic[E]):
    """One entry of a suite, ready to be asked."""

    entry: E
    prompts: Prompts
    """One for each of the probe's cases."""
    questions: tuple[Questions, ...] = ()
    nulls: NullViews | None = None
    """The null adapters that it, and what comes after it, is held against."""


@dataclass(frozen=True, slots=True)
class NullViews:
    """The views that null adapters make, by rank multiplier, and what they were made for."""

    entry: NullAdapterEntry
    views: Mapping[float, tuple[View, ...]]
    sentinels: tuple[Prompt, ...] | None
    """What they are asked; None when it is each probe's own cases."""


class Answers:
    """What the views said. Plain data: to judge it takes no model, and it can be judged as often as one likes."""

    def __init__(self) -> None:
        self._completions: dict[tuple[View, tuple[str, int, Try | None]], Completion] = {}
        self.load_seconds = 0.0

    def __len__(self) -> int:
        return len(self._completions)

    def __iter__(self) -> Iterator[Completion]:
        return iter(self._completions.values())

    def copy(self) -> Answers:
        """The same answers, to which others may be added."""
        same = Answers()
        same._completions = dict(self._completions)
        same.load_seconds = self.load_seconds
        return same

    def add(self, view: View, prompt: Prompt, completion: Completion) -> None:
        self._completions[view, prompt.question] = completion

    def find(self, view: View, prompt: Prompt) -> Completion | None:
        """A view's answer, None where it was not asked."""
        return self._completions.get((view, prompt.question))

    def of(self, view: View, prompts: Sequence[Prompt]) -> list[Completion]:
        """A view's answers, in the order of the prompts."""
        return [self._completions[view, prompt.question] for prompt in prompts]


@dataclass(frozen=True, slots=True)
class Row:
    """A figure of both views, in words."""

    name: str
    base: str = ""
    adapter: str = ""
    change: str = ""
    limit: str = ""
    """The limit, or why there is none."""
    kept: bool | None = None
    """None where nothing is judged."""
    note: str = ""
    """What else is to be said, where there is room."""
    is_asked_for: bool = False
    """Nobody judges it, but an option asked for it: it belongs on a short screen too."""

    @property
    def limit_and_note(self) -> str:
        return "; ".join(filter(None, (self.limit, self.note)))


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a verdict is what it is."""

    headline: str
    detail: str = ""


class Words:
    """How a report reads. What stands here does for any kind of probe, those of a newer loracheck too."""

    def doubts(self, report: ProbeReport) -> Iterable[str]:  # noqa: ARG002
        """What makes a verdict worth little: these become warnings."""
        return ()

    def side_notes(self, report: ProbeReport) -> Iterable[str]:  # noqa: ARG002
        """Those of the doubts that a reader can do nothing about: a short screen leaves them out."""
        return ()

    def reasons(self, report: ProbeReport) -> list[Reason]:
        """Why the verdict is what it is, the weightiest first."""
        return [Reason(report.message)]

    def caution(self, report: ProbeReport) -> str | None:  # noqa: ARG002
        """What to bear in mind right beside the verdict."""
        return None

    def rows(self, report: ProbeReport) -> Iterable[Row]:  # noqa: ARG002
        """Its table, the judged figures first."""
        return ()

    def paragraphs(self, report: ProbeReport) -> Iterable[str]:  # noqa: ARG002
        """What its numbers say, a sentence or two each; safe to print."""
        return ()

    def details(self, report: ProbeReport) -> Iterable[str]:  # noqa: ARG002
        """More of the same for whoever wants it: on the pages, and on a terminal with --verbose."""
        return ()


class Probe(Words, ABC, Generic[E]):
    """A kind of probe: what it asks, and what it makes of the answers. It has no state of its own."""

    kind: ClassVar[str]
    entry: ClassVar[type[Entry]]
    """The entry of the suite file that it is for."""

    def cases(self, entry: E) -> Sequence[Case]:
        """What is put to the model, in the order of the prompts that `plan` gets."""
        return entry.asks

    @abstractmethod
    def plan(self, entry: E, prompts: Prompts, views: Views, nulls: NullViews | None) -> Step[E]:
        """What to ask whom; `prompts` are those of its cases, `nulls` the null adapters in force."""

    @abstractmethod
    def judge(self, step: Step[E], answers: Answers, views: Views) -> ProbeReport:
        """What the answers come to."""

    def judge_again(self, report: ProbeReport, limits: Mapping[str, float], seed: int) -> ProbeReport:  # noqa: ARG002
        """The report as other limits would have had it; a probe without limits stays as it is."""
        return report
