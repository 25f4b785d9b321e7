"""What a probe is, and the bench it works on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from pydantic import Field

from loracheck.engine import Prompt
from loracheck.suite.case import Strict

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from loracheck.engine import Completion, Engine, View
    from loracheck.probes.null_adapter import Baseline
    from loracheck.report.model import ProbeReport
    from loracheck.scoring.dialects import Detection
    from loracheck.suite.case import Case


class Progress(Protocol):
    """Who is told how far the work is."""

    def stage(self, name: str, total: int) -> None:
        """A new piece of work begins: `total` answers, or 0 when that has no meaning."""
        ...

    def done(self, tokens: int | None) -> None:
        """One answer is there; so many tokens were generated for it, None when it was in the store."""
        ...


@dataclass(frozen=True, slots=True)
class NullSamples:
    """How the noise adapters of one rank multiplier answered: valid calls for each run, out of `cases`."""

    valid: tuple[int, ...]
    cases: int


@dataclass(slots=True)
class Bench:
    """What probes share: the engine, the two views, how prompts and answers look, and the noise once it is known."""

    engine: Engine
    base: View
    ft: View
    write_prompts: Callable[[Sequence[Case]], Sequence[str]]
    dialect: Detection
    strict_schema: bool
    max_new_tokens: int
    seed: int
    progress: Progress
    baseline: Baseline | None = None
    warnings: list[str] = field(default_factory=list)
    """What a reader must know before believing a verdict."""

    def prompts(self, cases: Sequence[Case]) -> list[Prompt]:
        return [
            Prompt(case.id, text, case.max_new_tokens or self.max_new_tokens)
            for case, text in zip(cases, self.write_prompts(cases), strict=True)
        ]

    def answer(self, view: View, prompts: Sequence[Prompt], stage: str) -> list[Completion]:
        """The view's answers in the order of the prompts."""
        self.progress.stage(stage, len(prompts))
        answers: dict[int, Completion] = {}
        for index, completion in self.engine.answer(view, prompts):
            answers[index] = completion
            self.progress.done(None if completion.stored else len(completion.tokens))
        return [answers[index] for index in range(len(prompts))]


class Probe(Strict, ABC):
    """One entry of a suite: its settings are its fields, `run` does it."""

    name: str = Field(min_length=1)
    kind: str

    @abstractmethod
    def run(self, bench: Bench) -> ProbeReport: ...
