"""The second real model. Its template asks for <tool_call>, and it writes fenced JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from loracheck.cases.load import load_pack
from loracheck.checking import check
from loracheck.demo import adapter_file, adapters_on
from loracheck.engine import AdapterUse, View
from loracheck.models.lora import read_lora
from loracheck.models.null import write_null
from loracheck.models.peft import convert
from loracheck.store import FILE_NAME, Store
from loracheck.suites import build_suite
from models.peft_factory import write_peft
from real import needs_qwen

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from loracheck.cases.suite import Suite
    from loracheck.engine.child import ChildEngine
    from loracheck.results import ProbeReport, Report

pytestmark = needs_qwen

SUBSET = 4


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, shared_engine: ChildEngine) -> Callable[[Suite], Report]:
    """One store for all of them: the base is asked each case but once."""
    folder = tmp_path_factory.mktemp("qwen")

    def run(suite: Suite) -> Report:
        with Store(folder / FILE_NAME) as store:
            return check(suite, engine=shared_engine, store=store)

    return run


def noise(path: Path, strength: float) -> Path:
    write_null(adapter_file("qwen-terse"), path, seed=7, init_scale=strength)
    return path


def judged(report: Report) -> ProbeReport:
    [probe] = report.judged
    return probe


def test_an_adapter_too_weak_to_change_anything_passes_with_no_option_given(
    run: Callable[[Suite], Report], qwen_model: Path, tmp_path: Path
) -> None:
    cases = load_pack("smoke")[7:11]
    report = run(build_suite(base=qwen_model, adapter=noise(tmp_path / "tiny.gguf", 0.005), cases=cases))
    probe = judged(report)
    assert (report.verdict, probe.base_value, probe.ft_value) == ("pass", 1.0, 1.0)
    use = probe.comparison.dialect
    assert use is not None
    assert (use.name, use.spoken, use.base_counts, use.ft_counts) == ("hermes", "json", {"json": 4}, {"json": 4})
    assert any("sees no calls" in warning for warning in report.warnings)
    assert probe.comparison.paired.validity
    assert probe.comparison.paired.validity.mcnemar_p == 1


@pytest.mark.slow
def test_noise_strong_enough_to_destroy_the_model_fails_beyond_doubt(
    run: Callable[[Suite], Report], qwen_model: Path, tmp_path: Path
) -> None:
    suite = build_suite(base=qwen_model, adapter=noise(tmp_path / "strong.gguf", 0.5), cases="smoke", null=False)
    probe = judged(run(suite))
    assert (probe.verdict, probe.comparison.grade) == ("fail", "established")


@pytest.mark.parametrize(
    ("name", "verdict", "missed"),
    [
        ("qwen-renamer", "fail", {"assert_hallucination_lte"}),
        ("qwen-pythonic", "fail", {"assert_validity_delta_gte"}),
        ("qwen-terse", "pass", set()),
    ],
)
def test_the_adapters_of_the_demo_get_the_verdicts_they_were_made_for(
    run: Callable[[Suite], Report], qwen_model: Path, name: str, verdict: str, missed: set[str]
) -> None:
    suite = next(adapter for adapter in adapters_on("qwen") if adapter.name == name).suite(qwen_model).without_nulls()
    [entry] = suite.judged
    probe = judged(run(suite.with_cases(entry.asks[:SUBSET])))
    checks = probe.comparison.checks(probe.z_score)
    assert (probe.verdict, {limit for limit, check in checks.items() if check.kept is False}) == (verdict, missed)
    if name == "qwen-pythonic":
        assert {case.ft.dialect for case in probe.cases} == {"pythonic"}, "it gave up the way its base writes calls"


@pytest.mark.slow
def test_a_harmless_adapter_abstains_where_its_base_does(
    run: Callable[[Suite], Report], qwen_model: Path, tmp_path: Path
) -> None:
    quiet = [case for case in load_pack("core") if case.expect == "no_call"][:2]
    suite = build_suite(
        base=qwen_model, adapter=noise(tmp_path / "tiny.gguf", 0.005), cases=quiet, null=False, max_new_tokens=24
    )
    abstention = judged(run(suite)).comparison.abstention
    assert abstention is not None
    assert abstention.cases == 2
    assert abstention.base == abstention.ft


def test_a_peft_folder_becomes_the_very_adapter(shared_engine: ChildEngine, qwen_model: Path, tmp_path: Path) -> None:
    """For this architecture, too: nothing is permuted, and llama.cpp takes it."""
    from gguf import GGUFReader

    def tensors_of(path: Path) -> dict[str, np.ndarray]:
        return {tensor.name: np.array(tensor.data, np.float32) for tensor in GGUFReader(path).tensors}

    names = {"attn_q": "self_attn.q_proj", "attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj"}
    original = adapter_file("qwen-terse")
    tensors = {}
    for name, tensor in tensors_of(original).items():
        _, layer, module, _, half = name.split(".")
        tensors[f"base_model.model.model.layers.{layer}.{names[module]}.lora_{half[-1].upper()}.weight"] = tensor
    lora = read_lora(original)
    peft = write_peft(
        tmp_path / "peft", tensors, r=lora.pairs[0].rank, lora_alpha=lora.alpha, target_modules=[*names.values()]
    )
    converted = tmp_path / "converted.gguf"
    convert(peft, qwen_model, converted)
    ours, theirs = tensors_of(converted), tensors_of(original)
    assert ours.keys() == theirs.keys()
    assert all(np.array_equal(ours[name], theirs[name]) for name in ours)
    with_it, bare = (
        shared_engine.fingerprint(View("adapter", qwen_model, stack), "Call the tool search_web.")
        for stack in ((AdapterUse(converted),), ())
    )
    assert with_it.finite
    assert with_it != bare
