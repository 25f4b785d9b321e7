"""How sure a verdict is, on real models: harmless adapters and ruinous ones, on bases of any competence."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import pytest

from loracheck.cases.load import load_pack
from loracheck.checking import check
from loracheck.demo import adapter_file
from loracheck.models.null import write_null
from loracheck.store import FILE_NAME, Store
from loracheck.suites import build_suite
from real import BASE, needs_model

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from loracheck.engine.child import ChildEngine
    from loracheck.results import ProbeReport

pytestmark = [*needs_model, pytest.mark.usefixtures("brief_answers")]

CASES = load_pack("demo")[:6]
Judge: TypeAlias = "Callable[..., ProbeReport]"


@pytest.fixture
def judged(tmp_path: Path, shared_cache: Path, shared_engine: ChildEngine) -> Judge:
    def judged(noise: float, *base_adapter: str, count: int = 3) -> ProbeReport:
        adapter = write_null(adapter_file("renamer"), tmp_path / "noise.gguf", seed=3, init_scale=noise)
        suite = build_suite(base=BASE, base_adapter=base_adapter, adapter=adapter, cases=CASES[:count], null_runs=1)
        with Store(shared_cache / FILE_NAME) as store:
            [probe] = check(suite, engine=shared_engine, store=store).judged
        return probe

    return judged


@pytest.mark.parametrize("scale", [1.0, 0.5], ids=["a good base", "a middling base"])
def test_noise_too_weak_to_change_anything_passes(judged: Judge, scale: float) -> None:
    probe = judged(0.0005, f"{adapter_file('toolcaller')}@{scale}")
    assert probe.verdict == "pass"
    assert probe.base_value
    assert probe.comparison.null.base_z is not None


def test_noise_strong_enough_to_ruin_a_good_base_fails_beyond_doubt(judged: Judge) -> None:
    probe = judged(0.3, f"{adapter_file('toolcaller')}@1.0", count=6)
    assert (probe.verdict, probe.comparison.grade) == ("fail", "established")


def test_on_a_base_that_makes_no_call_at_all_nothing_was_compared(judged: Judge) -> None:
    probe = judged(0.0005)
    assert probe.comparison.compares_nothing
    assert probe.comparison.grade is None
