"""What stands beside a verdict, typed from where it is counted to the pages that show it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from loracheck.scoring.calibrate import NullSample
from loracheck.scoring.certainty import Grade
from loracheck.scoring.limits import LimitCheck, Limits, check_limits
from loracheck.scoring.paired_test import PairedTest
from loracheck.scoring.part import Count, Flag, Number, Part, Share
from loracheck.scoring.tries import Tries

Subject = Literal["adapter", "candidate"]
"""What is checked, in a word: an adapter, or another model file without one."""
RankName = Annotated[str, Field(pattern=r"^rank_\d+(\.\d+)?(e[+-]\d+)?$")]


class NullStats(Part):
    """What the null adapters scored."""

    mean: Number | None = None
    std: Number | None = None
    n: Count = 0
    """How many ran."""
    rates: tuple[Number, ...] | None = ()
    """The share of valid calls of each."""
    usable: Flag = False
    why: str | None = None
    """Why there is no z."""
    base_z: Number | None = None
    """How far the base's own share of valid calls lies above theirs."""
    p_value: Number | None = None
    """Fisher's exact test against them; only where they answered the cases themselves."""
    on: str | None = None
    """`sentinels` or `cases`: what they answered."""
    match: str | None = None
    samples: dict[RankName, NullSample] = Field(default_factory=dict)
    """Their valid answers by rank multiplier, `rank_1.00`: what it takes to judge again."""


class PairedTests(Part):
    validity: PairedTest | None = None
    exact_call: PairedTest | None = None


class Power(Part):
    """What so many cases can tell."""

    detectable_drop: Number | None = None
    """The true drop that gives p < 0.05 four times out of five."""
    inconclusive: Flag = False
    cases_even_odds: Count | None = None
    """How many cases in all give even odds of being conclusive, if the rates are what they are here."""
    cases_needed: Count | None = None
    """How many are conclusive four times out of five."""
    fails_from: Count | None = None
    """So many lost cases, with none gained, FAIL; None when the base has not so many to lose."""
    failing_drop: Number | None = None
    """The true drop that FAILs four times out of five."""
    flip_rate: Number | None = None
    """The share of answers whose validity changes for no reason: measured, or one in 50."""
    chance_of_fail: Number | None = None
    """How often an adapter that is as good as its base FAILs on valid calls, at that rate."""
    chance_of_fail_by_names: Number | None = None
    """How often one that names as many wrong tools as its base FAILs by that."""


class Flips(Part):
    """What changed when the base was asked the same once more, with another number of cases decoded in step."""

    answers: Share | None = None
    """The share of answers that came out differently."""
    outcomes: Share | None = None
    cases: Count | None = None
    width: Count | None = None
    """How many cases were decoded in step the second time."""
    rounded_alike: Flag = False
    """Both times the very same numbers came out, so that nothing could change: this measures nothing."""

    @property
    def rate(self) -> float | None:
        """The share of outcomes that flip, drawn a little towards one half: none of a few cases is not never."""
        if self.outcomes is None or not self.cases or self.rounded_alike:
            return None
        return (self.outcomes * self.cases + 0.5) / (self.cases + 1)


class Certainty(Part):
    """How sure it is that one limit was kept or missed."""

    grade: Grade | None = None
    interval_95: tuple[Number, Number] | None = None
    """Of the number that is held against the limit."""


class Moved(Part):
    """A place in one of the base's calls, and how far the adapter's expectations for it are from the base's."""

    case: str
    position: Count
    token: str
    kind: Literal["format", "value"]
    kl: Number
    base_top: str
    ft_top: str


class Drift(Part):
    """How far the adapter's expectations moved on the base's own calls."""

    cases: Count | None = None
    positions: Count | None = None
    kl_format: Number | None = None
    kl_values: Number | None = None
    worst_format: Number | None = None
    """The KL at the place where it is largest; None in reports of an older loracheck."""
    worst_values: Number | None = None
    changed_format: Number | None = None
    changed_values: Number | None = None
    changed: Number | None = None
    """Over all places."""
    moved: tuple[Moved, ...] = ()


class DialectUse(Part):
    """How the prompts ask for calls, how the base writes them, and which other ways the answers slipped into."""

    name: str | None = None
    """The asked dialect: what the prompts ask for."""
    title: str | None = None
    why: str | None = None
    ft_name: str | None = None
    """What a candidate's own prompts ask for, where that is another."""
    ft_why: str | None = None
    spoken: str | None = None
    """What the base writes most; None in reports of an older loracheck."""
    read_as: str | None = None
    """The one dialect that `--dialect` had the answers read in; None where the asked and the spoken one count."""
    base_counts: dict[str, Count] = Field(default_factory=dict)
    """How many of the base's answers that should be calls are written in each dialect."""
    ft_counts: dict[str, Count] = Field(default_factory=dict)
    base_drift: dict[str, Count] = Field(default_factory=dict)
    ft_drift: dict[str, Count] = Field(default_factory=dict)
    message: str | None = None


class TemplatesDiffer(Part):
    """Where a candidate was asked in other words than its base, because its chat template is another."""

    prompts: Count | None = None
    """How many of the prompts differ."""
    cases: Count | None = None
    case: str | None = None
    """The first case whose prompts differ, and the place of the first letter that does."""
    position: Count | None = None
    base: str | None = None
    """What the base reads from there on, cut short."""
    ft: str | None = None


class BothRates(Part):
    base: Number | None = None
    ft: Number | None = None


class Abstention(BothRates):
    """How often no tool was called where none fits."""

    cases: Count | None = None


class SeveralCalls(Part):
    """How both views did where an answer takes several calls. Calls are counted over all answers."""

    cases: Count | None = None
    right_base: Number | None = None
    """The share of answers with all the expected calls and no other."""
    right_ft: Number | None = None
    missing_base: Count | None = None
    """Calls that were expected and not made."""
    missing_ft: Count | None = None
    extra_base: Count | None = None
    """Calls that were made and not expected."""
    extra_ft: Count | None = None
    wrong_arguments_base: Count | None = None
    """Expected calls that were made with other arguments."""
    wrong_arguments_ft: Count | None = None
    paired: PairedTest | None = None
    """On whether the whole answer is right."""


class Rates(Part):
    """What the verdict is about, over the cases that should bring a call; valid rates are None without cases."""

    json_valid_rate_base: Number | None = None
    json_valid_rate_ft: Number | None = None
    validity_delta: Number | None = None
    mean_arg_disagreement: Number | None = None
    hallucination_rate: Number | None = None
    num_cases: Count | None = None
    num_arg_pairs_compared: Count | None = None


class Cost(Rates):
    """What one change did to the base; here `ft` is the base with that change."""

    paired: PairedTest | None = None
    """On valid calls."""


class Split(Part):
    """What quantizing the base and putting the adapter on it cost, each alone and both together."""

    quantization: Cost = Cost()
    adapter: Cost = Cost()
    """On the base as it is."""
    both: Cost = Cost()


class Evidence(Rates):
    """All that is known about a comparison of two views, by the names the report has."""

    z_by_rank: dict[str, Number | None] | None = None
    null: NullStats = NullStats()
    outcomes: dict[str, dict[str, Count]] = Field(default_factory=dict)
    """For each view, how often each outcome came up."""
    transitions: dict[str, dict[str, Count]] = Field(default_factory=dict)
    """For each outcome in the base, what became of its cases with the adapter; without zeros."""
    paired: PairedTests = PairedTests()
    power: Power = Power()
    grade: Grade | None = None
    """How sure the verdict is; None where nothing was judged, or nothing compared."""
    certainty: dict[str, Certainty] = Field(default_factory=dict)
    """The same for each limit that was judged, by its name."""
    flips: Flips | None = None
    hallucination_rate_base: Number | None = None
    """None where the base makes no valid call."""
    exact_arguments_base: Number | None = None
    exact_arguments_ft: Number | None = None
    strict: BothRates | None = None
    abstention: Abstention | None = None
    several: SeveralCalls | None = None
    """None where no case expects several calls."""
    tries: Tries | None = None
    """None where every case was asked once."""
    limits: Limits = Limits()
    subject: Subject = "adapter"
    """What was checked."""
    other_model: Flag = False
    """Whether that is on another model file than the base's."""
    split: Split | None = None
    """Where the adapter was checked on the quantized base."""
    drift: Drift | None = None
    no_drift: str | None = None
    """Why there is none, where that was known from the start."""
    templates: TemplatesDiffer | None = None
    """None where both views were asked in the same words."""
    dialect: DialectUse | None = None
    weight: Annotated[Number, Field(ge=0)] = 1.0
    allowed_tools: tuple[str, ...] | None = None
    non_finite_inputs: dict[str, Any] | None = None
    """What made the verdict an error, as text."""
    defensively_nulled: tuple[str, ...] | None = None
    """The names of numbers that were not finite and are None now."""

    @property
    def compares_nothing(self) -> bool:
        """Whether neither view makes a single valid call."""
        return bool(self.num_cases) and self.json_valid_rate_base == 0 == self.json_valid_rate_ft

    def checks(self, z: float | None) -> dict[str, LimitCheck]:
        """Which limits were kept and which were missed, by the limit's name."""
        return check_limits(
            self.limits,
            delta=self.validity_delta,
            hallucination=self.hallucination_rate,
            z=z,
            exact_arguments=self.exact_arguments_ft,
            abstention=self.abstention.ft if self.abstention else None,
            all_calls=self.several.right_ft if self.several else None,
            pass_hat_k_delta=self.tries.all_right.delta if self.tries and self.tries.all_right else None,
        )
