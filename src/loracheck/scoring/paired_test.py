"""How sure a change is, from what became of the same cases."""

from __future__ import annotations

from dataclasses import asdict

from loracheck.scoring import statistics
from loracheck.scoring.part import Count, Number, Part


class PairedTest(Part):
    """How many cases each view got right, and how sure the change is."""

    both: Count
    lost: Count
    gained: Count
    neither: Count
    mcnemar_p: Number | None = None
    delta: Number | None = None
    interval_95: tuple[Number, Number] | None = None
    method: str | None = None

    @property
    def n(self) -> int:
        return self.both + self.lost + self.gained + self.neither

    @property
    def counts(self) -> tuple[int, int, int, int]:
        return self.both, self.lost, self.gained, self.neither


def paired_test(paired: statistics.Paired) -> PairedTest:
    return PairedTest(
        **asdict(paired),
        mcnemar_p=statistics.mcnemar_p(paired.lost, paired.gained),
        delta=paired.delta,
        interval_95=statistics.delta_interval(paired),
        method=statistics.METHOD,
    )
