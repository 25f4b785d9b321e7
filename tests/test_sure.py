"""How sure a verdict is, on real models: harmless adapters and ruinous ones, on bases of any competence."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from loracheck.cases.load import load_pack
from loracheck.checking import check
from loracheck.demo import adapter_file
from loracheck.models.null import write_null
from loracheck.store import FILE_NAME, Store
from loracheck.suites import build_suite
from real import BASE, needs_model

if TYPE_CHECKING:
    from pathlib import Path

    from loracheck.results import ProbeReport

pytestmark = [*needs_model, pytest.mark.usefixtures("brief_answers")]

CASES = load_pack("demo")[:8]


def judged(folder: Path, shared: Path, base_adapter: str | None, noise: float, count: int = 4) -> ProbeReport:
    adapter = folder / "noise.gguf"
    write_null(adapter_file("renamer"), adapter, seed=3, init_scale=noise)
    own = () if base_adapter is None else base_adapter
    with Store(shared / FILE_NAME) as store:
        [probe] = check(
            build_suite(base=BASE, base_adapter=own, adapter=adapter, cases=CASES[:count], null_runs=1), store=store
        ).judged
    return probe


@pytest.mark.parametrize("scale", [1.0, 0.5], ids=["a good base", "a middling base"])
def test_noise_too_weak_to_change_anything_passes(tmp_path: Path, shared_cache: Path, scale: float) -> None:
    probe = judged(tmp_path, shared_cache, f"{adapter_file('toolcaller')}@{scale}", 0.0005)
    assert probe.verdict == "pass"
    assert probe.base_value
    assert probe.comparison.null.base_z is not None


def test_noise_strong_enough_to_ruin_a_good_base_fails_beyond_doubt(tmp_path: Path, shared_cache: Path) -> None:
    probe = judged(tmp_path, shared_cache, f"{adapter_file('toolcaller')}@1.0", 0.3, count=8)
    assert (probe.verdict, probe.comparison.grade) == ("fail", "established")


def test_on_a_base_that_makes_no_call_at_all_nothing_was_compared(tmp_path: Path, shared_cache: Path) -> None:
    probe = judged(tmp_path, shared_cache, None, 0.0005)
    assert probe.comparison.compares_nothing
    assert probe.comparison.grade is None
