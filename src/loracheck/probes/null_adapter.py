"""The yardstick: null adapters, shaped like the adapter under test and filled with noise, answer two sentinel cases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from loracheck.cases.case import Case, Tool
from loracheck.cases.entries import NullAdapterEntry
from loracheck.engine import AdapterUse, NullAdapter, Prompt, View
from loracheck.models.null import noise_std
from loracheck.probes.probe import Answers, NullViews, Probe, Prompts, Questions, Step, Views
from loracheck.probes.reading import answer_to, expectation_of
from loracheck.results import NullAdapterEvidence, ProbeReport
from loracheck.scoring import NullSample
from loracheck.scoring.calibrate import rank_name
from loracheck.scoring.spoken import Reader

SENTINEL_TOKENS = 256
SENTINELS = (
    Case(
        id="search_web",
        max_new_tokens=SENTINEL_TOKENS,
        prompt="Search the web for the capital of France.",
        tool_spec=Tool(
            name="search_web",
            parameters={"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]},
        ),
    ),
    Case(
        id="calculator",
        max_new_tokens=SENTINEL_TOKENS,
        prompt="Add 2 and 2.",
        tool_spec=Tool(
            name="calculator",
            parameters={
                "type": "object",
                "properties": {"a": {"type": "number"}, "b": {"type": "number"}},
                "required": ["a", "b"],
            },
        ),
    ),
)

NO_ADAPTER = "no adapter, so no null baseline"

# Two adapters of one shape in a stack must not get the same noise.
_SEED_STEP = 1_000_000


class NullAdapterProbe(Probe[NullAdapterEntry]):
    kind = "null_adapter"
    entry = NullAdapterEntry

    def cases(self, entry: NullAdapterEntry) -> Sequence[Case]:
        """The sentinels are put to the model the way the suite's cases are."""
        return SENTINELS if entry.on == "sentinels" else ()

    def plan(
        self,
        entry: NullAdapterEntry,
        prompts: Prompts,
        views: Views,
        nulls: NullViews | None,  # noqa: ARG002 - the last baseline counts
    ) -> Step[NullAdapterEntry]:
        made = NullViews(entry, _null_views(entry, views), prompts.of(views.tuned) or None)
        return Step(entry, prompts, null_questions(made, made.sentinels or ()), made)

    def judge(self, step: Step[NullAdapterEntry], answers: Answers, views: Views) -> ProbeReport:
        entry, nulls = step.entry, step.nulls
        samples = sentinel_samples(nulls, answers, views.reader_of(views.tuned)) if nulls and nulls.sentinels else None
        answered = ", which answer the cases of each probe" if samples is None else ""
        made = f"{entry.runs} null adapters as the yardstick{answered}; no verdict of their own"
        return ProbeReport(
            name=entry.name,
            kind=self.kind,
            verdict="skip",
            message=made if views.under_test else NO_ADAPTER,
            evidence=NullAdapterEvidence(
                on=entry.on,
                match=entry.match,
                init_scale=entry.init_scale,
                seeds=entry.seeds,
                valid_by_rank=None if samples is None else {rank_name(rank): samples[rank].valid for rank in samples},
                cases_per_run=None if samples is None else len(SENTINELS),
            ),
        )


def null_questions(nulls: NullViews, prompts: tuple[Prompt, ...]) -> tuple[Questions, ...]:
    """Every null view is asked the same."""
    return tuple(Questions(view, prompts) for views in nulls.views.values() for view in views if prompts)


def sentinel_samples(nulls: NullViews, answers: Answers, reader: Reader) -> dict[float, NullSample]:
    return null_samples(nulls, answers, nulls.sentinels or (), SENTINELS, reader)


def null_samples(
    nulls: NullViews, answers: Answers, prompts: Sequence[Prompt], cases: Sequence[Case], reader: Reader
) -> dict[float, NullSample]:
    """How many valid calls each null adapter made, by rank multiplier."""

    def valid(view: View) -> int:
        return sum(
            reader.read(expectation_of(case), answer_to(prompt, answer), None).valid
            for case, prompt, answer in zip(cases, prompts, answers.of(view, prompts), strict=True)
        )

    return {rank: NullSample(tuple(map(valid, views)), len(prompts)) for rank, views in nulls.views.items()}


def _null_views(entry: NullAdapterEntry, views: Views) -> Mapping[float, tuple[View, ...]]:
    """In place of each adapter under test comes a null adapter, at its scale, and the others stay."""
    if not views.under_test:
        return {}
    if entry.match == "scale":
        # Said here, and not by the engine once everybody else has answered.
        for rank in entry.rank_multipliers:
            noise_std(entry.init_scale, rank)
    # There are always as many sentinels, so their steps need no rows for more.
    width = len(SENTINELS) if entry.on == "sentinels" else None

    def view(rank: float, run: int) -> View:
        nulls = tuple(
            AdapterUse(
                NullAdapter(
                    use.source,
                    seed=entry.seed_base + run + place * _SEED_STEP,
                    init_scale=entry.init_scale,
                    rank_multiplier=rank,
                    match=entry.match,
                ),
                use.scale,
            )
            for place, use in enumerate(views.under_test)
            if isinstance(use.source, Path)
        )
        return View(f"null {run + 1}/{entry.runs}", views.tuned.model, views.bare.adapters + nulls, width)

    return {rank: tuple(view(rank, run) for run in range(entry.runs)) for rank in entry.rank_multipliers}
