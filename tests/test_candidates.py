"""Another model file in place of the base with an adapter: what is asked of whom, what is compared, what is refused."""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from gguf import GGMLQuantizationType, GGUFWriter
from gguf.quants import quantize

from loracheck import checking
from loracheck.cases.suite import AdapterEntry
from loracheck.checking import check
from loracheck.engine import AdapterUse, Fingerprint, NullAdapter, Trace
from loracheck.engine.architectures import why_not_known
from loracheck.engine.fake import FakeEngine
from loracheck.errors import AdapterError, ModelError, NoEffectError
from loracheck.files import sha256_of
from loracheck.plan import read
from loracheck.probes import words_of
from loracheck.store import Store
from models.factory import lora_tensors, model_tensors, write_adapter, write_model
from suite_factory import CHAT_TEMPLATE, Files, call, failing_from, make_suite

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from loracheck.cases.suite import Suite
    from loracheck.engine import Prompt, View
    from loracheck.plan import Plan

ENDING = "So:"
HERMES_TEMPLATE = f'{CHAT_TEMPLATE}{ENDING}{{# <tool_call>{{"name" #}}'
HERMES_CALL = f"<tool_call>{call()}</tool_call>"


@dataclass(frozen=True, slots=True)
class Two:
    """A base, another model, and an adapter that fits both."""

    base: Path
    candidate: Path
    adapter: Path

    def suite(self, *, adapted: bool = False, cases: int = 4, **defaults: Any) -> Suite:
        """A check of the candidate, bare or with the adapter."""
        suite = make_suite(Files(self.base, self.adapter), cases).with_models(candidate=self.candidate)
        if not adapted:
            ft = suite.models.ft.model_copy(update={"adapters": ()})
            suite = suite.model_copy(update={"models": suite.models.model_copy(update={"ft": ft})})
        return suite.with_defaults(**defaults)


def model(path: Path, template: str | None = None, name: str = "toy") -> Path:
    extra = [("add_string", "tokenizer.chat_template", template)] if template else []
    return write_model(path, extra=[*extra, ("add_string", "general.basename", name)])


@pytest.fixture
def two(tmp_path: Path) -> Two:
    candidate = model(tmp_path / "candidate.gguf", name="merged")
    return Two(model(tmp_path / "base.gguf"), candidate, write_adapter(tmp_path / "adapter.gguf"))


@pytest.fixture
def two_templates(two: Two, tmp_path: Path) -> Two:
    other = model(tmp_path / "other.gguf", HERMES_TEMPLATE)
    return replace(two, base=model(tmp_path / "plain.gguf", CHAT_TEMPLATE), candidate=other)


class OneModel(FakeEngine):
    """Holds one model at a time, and counts how often each is loaded; `alike` views compute the same."""

    def __init__(self, reply: Any = lambda view, prompt: call(), *, alike: bool = False) -> None:
        super().__init__(reply)
        self.loaded: list[str] = []
        self.done: list[tuple[str, str]] = []
        self._alike = alike

    def _load(self, what: str, view: View) -> None:
        if not self.loaded or self.loaded[-1] != view.model.name:
            self.loaded.append(view.model.name)
        self.done.append((what, view.name))

    def answer(self, view: View, prompts: Sequence[Prompt]) -> Any:
        self._load("answers", view)
        return super().answer(view, prompts)

    def fingerprint(self, view: View, text: str) -> Fingerprint:
        self._load("fingerprint", view)
        return Fingerprint("the same", finite=True) if self._alike else super().fingerprint(view, text)


def plan_of(suite: Suite) -> Plan:
    return read(suite, Store())


# Views


def test_a_candidate_has_nothing_of_the_base_and_just_the_adapters_that_are_given(two: Two, tmp_path: Path) -> None:
    sft = write_adapter(tmp_path / "sft.gguf", lora_tensors(seed=1))
    suite = two.suite(adapted=True).with_models(base_adapters=[AdapterEntry(gguf=sft)])
    views = plan_of(suite).views
    assert (views.base.model, views.base.adapters) == (two.base, (AdapterUse(sft),))
    assert (views.tuned.model, views.tuned.adapters) == (two.candidate, (AdapterUse(two.adapter),))
    assert (views.bare.adapters, views.subject, views.tuned.name) == ((), "adapter", "adapter")
    bare = plan_of(two.suite()).views
    assert (bare.tuned.adapters, bare.subject, bare.tuned.name) == ((), "candidate", "candidate")


def test_each_adapter_must_fit_its_own_views_file(two: Two, tmp_path: Path) -> None:
    other = write_model(tmp_path / "qwen.gguf", architecture="qwen2")
    with pytest.raises(AdapterError, match=r"adapter\.gguf: the adapter is for llama, the base qwen\.gguf is qwen2"):
        plan_of(replace(two, candidate=other).suite(adapted=True))
    with pytest.raises(AdapterError, match=r"the base qwen\.gguf is qwen2"):
        plan_of(replace(two, base=other).suite().with_models(base_adapters=[AdapterEntry(gguf=two.adapter)]))


def test_an_adapter_is_no_candidate(two: Two) -> None:
    with pytest.raises(
        ModelError,
        match=r"adapter\.gguf: this is a LoRA adapter, not a model; `loracheck check --base MODEL.gguf --adapter ",
    ):
        plan_of(replace(two, candidate=two.adapter).suite())
    with pytest.raises(
        ModelError,
        match=r"adapter\.gguf: this is a LoRA adapter, not a model; `loracheck check --base MODEL.gguf --adapter ",
    ):
        plan_of(replace(two, base=two.adapter).suite())


def test_each_model_is_loaded_once_and_the_proof_comes_before_the_candidate_answers(two: Two) -> None:
    engine = OneModel()
    check(two.suite(adapted=True, flips=True).with_nulls(2), engine=engine)
    assert engine.loaded == ["base.gguf", "candidate.gguf"]
    assert engine.done == [
        ("fingerprint", "base"), ("answers", "base"), ("answers", "base again"),
        ("fingerprint", "adapter"), ("fingerprint", "no adapter"),
        ("answers", "adapter"), ("answers", "null 1/2"), ("answers", "null 2/2"),
    ]  # fmt: skip


def test_both_files_are_recorded_by_content(two: Two) -> None:
    report = check(two.suite(adapted=True), engine=OneModel())
    recorded = report.provenance
    assert recorded.candidate is not None
    assert (recorded.model.sha256, recorded.candidate.sha256) == (sha256_of(two.base), sha256_of(two.candidate))
    assert [adapter.path for adapter in recorded.ft_adapters] == [str(two.adapter)]
    assert recorded.compared == ("candidate.gguf + adapter.gguf", "base.gguf")
    assert report.judged[0].comparison.subject == "adapter"


# Null adapters


def test_null_adapters_replace_those_under_test_on_the_candidates_file(two: Two, tmp_path: Path) -> None:
    sft = write_adapter(tmp_path / "sft.gguf", lora_tensors(seed=1))
    suite = two.suite(adapted=True).with_models(base_adapters=[AdapterEntry(gguf=sft)]).with_nulls(1)
    null = plan_of(suite).questions[-1].view
    assert null.model == two.candidate
    assert [use.source for use in null.adapters] == [NullAdapter(two.adapter, seed=1000)]


def test_a_candidate_without_adapters_has_no_z_and_the_other_signals_decide(two: Two) -> None:
    good = check(two.suite(cases=20).with_nulls(), engine=OneModel())
    (probe,) = good.judged
    assert (probe.verdict, probe.z_score) == ("pass", None)
    assert probe.comparison.null.why == "no adapter, so no null baseline"
    assert good.probes[0].message == "no adapter, so no null baseline"

    def worse(view: View, prompt: Prompt) -> str:
        return call() if view.name == "base" else failing_from(3)(prompt)

    bad = check(two.suite(cases=20).with_nulls(), engine=OneModel(worse))
    assert bad.verdict == "fail"


# No effect


@pytest.mark.parametrize("adapted", [False, True])
def test_the_same_file_with_the_same_stack_is_told_before_anything_is_loaded(two: Two, *, adapted: bool) -> None:
    shutil.copy(two.base, two.candidate)
    engine = OneModel()
    suite = two.suite(adapted=adapted)
    suite = suite.with_models(base_adapters=suite.models.ft.adapters)
    with pytest.raises(NoEffectError, match=f"(?s)the candidate is its base.*{sha256_of(two.base)}.*{two.candidate}"):
        check(suite, engine=engine)
    assert engine.done == []


def test_a_candidate_that_computes_what_its_base_computes_has_no_effect(two: Two) -> None:
    engine = OneModel(alike=True)
    hashes = f"{sha256_of(two.base)}.*{sha256_of(two.candidate)}"
    with pytest.raises(NoEffectError, match=f"(?s)bit for bit what its base computes.*{hashes}"):
        check(two.suite(), engine=engine)
    assert ("answers", "candidate") not in engine.done


def test_a_chat_template_alone_is_an_effect_unless_both_use_the_bases(two_templates: Two) -> None:
    assert check(two_templates.suite(), engine=OneModel(alike=True)).judged[0].comparison.templates is not None
    with pytest.raises(NoEffectError, match="from the same prompts"):
        check(two_templates.suite(template="base"), engine=OneModel(alike=True))


def test_another_end_token_alone_is_an_effect(two: Two, tmp_path: Path) -> None:
    mended = write_model(tmp_path / "mended.gguf", extra=[("add_uint32", "tokenizer.ggml.eot_token_id", 7)])
    report = check(replace(two, candidate=mended).suite(), engine=OneModel(alike=True))
    assert report.verdict == "pass"


def test_an_adapter_without_effect_on_the_candidate_is_told(two: Two) -> None:
    class Dead(OneModel):
        def fingerprint(self, view: View, text: str) -> Fingerprint:
            return Fingerprint(view.model.name, finite=True)

    with pytest.raises(NoEffectError, match=r"(?s)the adapter has no effect.*adapter\.gguf at scale 1"):
        check(two.suite(adapted=True), engine=Dead())


# Prompts and dialects


def test_each_model_is_asked_by_its_own_chat_template(two_templates: Two) -> None:
    seen: dict[str, str] = {}

    def reply(view: View, prompt: Prompt) -> str:
        seen[view.name] = prompt.text
        return call()

    report = check(two_templates.suite(), engine=OneModel(reply))
    assert seen["candidate"] == f"{seen['base']}{ENDING}"
    (probe,) = report.judged
    case, differ = probe.cases[0], probe.comparison.templates
    assert (case.sent, case.sent_ft) == (
        plan_of(two_templates.suite()).steps[0].prompts.by_model[two_templates.base][0].text,
        f"{case.sent}{ENDING}",
    )
    assert differ is not None
    assert (differ.prompts, differ.cases, differ.case, differ.position) == (4, 4, "case1", len(case.sent))
    assert (differ.base, differ.ft) == ("", ENDING)


def test_template_base_asks_both_alike(two_templates: Two) -> None:
    plan = plan_of(two_templates.suite(template="base"))
    assert plan.steps[0].prompts.are_alike
    assert {asked.name for asked in plan.views.asked.values()} == {"json"}
    report = check(two_templates.suite(template="base"), engine=OneModel())
    assert report.judged[0].comparison.templates is None
    assert report.judged[0].cases[0].sent_ft is None


def test_a_view_is_read_in_its_own_asked_dialect_and_in_the_one_that_the_base_speaks(two_templates: Two) -> None:
    two = replace(two_templates, base=two_templates.candidate, candidate=two_templates.base)

    def reply(view: View, prompt: Prompt) -> str:
        is_own = view.name == "candidate" and prompt.id in ("case1", "case2")
        return call() if is_own else HERMES_CALL

    (probe,) = check(two.suite(), engine=OneModel(reply)).judged
    assert [case.ft.valid for case in probe.cases] == [True] * 4
    use = probe.comparison.dialect
    assert use is not None
    assert (use.name, use.spoken, use.ft_name) == ("hermes", "hermes", "json")
    (asked_alike,) = check(two.suite(template="base"), engine=OneModel(reply)).judged
    assert [case.ft.outcome for case in asked_alike.cases] == ["malformed", "malformed", "valid", "valid"]


def test_what_is_wrong_with_either_template_is_told_with_its_file(two: Two, tmp_path: Path) -> None:
    both = [model(tmp_path / f"{name}.gguf", f"{{{{ '{{{{\"' }}}}{CHAT_TEMPLATE}{name}") for name in ("one", "other")]
    plan = plan_of(replace(two, base=both[0], candidate=both[1]).suite())
    warnings = list(plan.warnings)
    assert [warning.split(":")[0] for warning in warnings] == [str(path) for path in both]


# The base, quantized


@pytest.fixture
def made(two: Two, monkeypatch: pytest.MonkeyPatch) -> list[tuple[Path, str, bool]]:
    """What was quantized, to what, and whether for this run alone; the candidate's file comes out."""
    orders: list[tuple[Path, str, bool]] = []

    @contextmanager
    def quantized(model: Path, to: str, *, no_cache: bool, **_: Any) -> Iterator[Path]:
        orders.append((model, to, no_cache))
        yield two.candidate

    monkeypatch.setattr(checking, "quantized", quantized)
    return orders


def test_the_base_is_quantized_and_checked_with_its_own_adapters_on(
    two: Two, made: list[tuple[Path, str, bool]], tmp_path: Path
) -> None:
    sft = write_adapter(tmp_path / "sft.gguf", lora_tensors(seed=1))
    suite = two.suite().without_candidate().with_models(base_adapters=[AdapterEntry(gguf=sft)])
    engine = OneModel()
    report = check(suite.with_defaults(quantize="q4_k_m"), engine=engine)
    assert made == [(two.base, "Q4_K_M", True)]
    assert engine.done == [
        ("fingerprint", "base"), ("answers", "base"), ("fingerprint", "candidate"), ("answers", "candidate"),
    ]  # fmt: skip
    recorded = report.provenance
    assert recorded.compared == ("base.gguf as Q4_K_M + sft.gguf", "base.gguf + sft.gguf")
    assert recorded.candidate is not None
    assert recorded.candidate.sha256 == sha256_of(two.candidate)
    assert [adapter.path for adapter in recorded.base_adapters] == [str(sft)]
    assert report.judged[0].comparison.split is None


def test_an_adapter_on_the_quantized_base_is_split_three_ways_with_each_view_asked_once(
    two: Two, made: list[tuple[Path, str, bool]]
) -> None:
    valid = {"base": 20, "no adapter": 19, "unquantized": 18, "adapter": 16}

    def reply(view: View, prompt: Prompt) -> str:
        return failing_from(valid[view.name] + 1)(prompt) if view.name in valid else "no idea"

    engine = OneModel(reply)
    suite = two.suite(adapted=True, cases=20).without_candidate().with_defaults(quantize="Q4_0")
    (_, probe) = check(suite.with_nulls(1), engine=engine).probes
    assert made
    assert engine.loaded == ["base.gguf", "candidate.gguf"]
    assert [view for what, view in engine.done if what == "answers"] == [
        "base", "unquantized", "adapter", "null 1/1", "no adapter",
    ]  # fmt: skip
    evidence = probe.comparison
    split = evidence.split
    assert split is not None
    costs = (split.quantization, split.adapter, split.both)
    assert [round(cost.validity_delta or 0, 2) for cost in costs] == [-0.05, -0.1, -0.2]
    assert [cost.paired.lost for cost in costs if cost.paired] == [1, 2, 4]
    assert (split.both.validity_delta, evidence.subject) == (evidence.validity_delta, "adapter")
    rows = {row.name: row for row in words_of(probe.kind).rows(probe)}
    assert rows["quantizing alone"].change == "-5.0 points"
    assert (rows["adapter alone"].adapter, rows["adapter alone"].limit) == ("90.0%", "valid calls: 2 lost, 0 gained")
    assert rows["both together"].change == rows["valid calls"].change


def test_an_adapter_that_does_nothing_is_told_on_the_quantized_base_too(
    two: Two, made: list[tuple[Path, str, bool]]
) -> None:
    class Dead(OneModel):
        def fingerprint(self, view: View, text: str) -> Fingerprint:
            return Fingerprint(view.model.name, finite=True)

    suite = two.suite(adapted=True).without_candidate().with_defaults(quantize="Q4_0")
    with pytest.raises(NoEffectError, match="the adapter has no effect"):
        check(suite, engine=Dead())
    assert made


def test_what_is_wrong_with_the_input_is_said_before_anything_is_quantized(
    two: Two, made: list[tuple[Path, str, bool]], tmp_path: Path
) -> None:
    other = write_model(tmp_path / "qwen.gguf", architecture="qwen2")
    suite = replace(two, base=other).suite(adapted=True).without_candidate().with_defaults(quantize="Q4_0")
    with pytest.raises(AdapterError, match="the adapter is for llama"):
        check(suite, engine=OneModel())
    assert made == []


def test_a_quantized_model_is_kept_where_answers_are(
    two: Two, made: list[tuple[Path, str, bool]], tmp_path: Path
) -> None:
    suite = two.suite().without_candidate().with_defaults(quantize="Q4_0")
    with Store(tmp_path / "answers.sqlite") as store:
        check(suite, engine=OneModel(), store=store)
    assert made == [(two.base, "Q4_0", False)]


def test_requantizing_is_a_warning(two: Two, made: list[tuple[Path, str, bool]], tmp_path: Path) -> None:
    base = write_quantized(tmp_path / "quantized.gguf")
    suite = replace(two, base=base).suite().without_candidate().with_defaults(quantize="Q4_0")
    assert made == []
    warnings = check(suite, engine=OneModel()).warnings
    assert any("already quantized (Q8_0)" in warning for warning in warnings)


def write_quantized(path: Path) -> Path:
    kind = GGMLQuantizationType.Q8_0
    writer = GGUFWriter(path, "llama")
    writer.add_type("model")
    writer.add_token_list([f"<{number}>" for number in range(100)])
    for name, data in model_tensors().items():
        writer.add_tensor(name, quantize(data.astype(np.float32), kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


# What llama.cpp knows


@pytest.mark.llama
def test_an_architecture_that_llama_cpp_does_not_know_is_told_before_the_base_answers(
    two: Two, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("loracheck.engine.child._Child", lambda *_: pytest.fail("llama.cpp was started"))
    for known in (two.base, write_model(tmp_path / "qwen.gguf", architecture="qwen2")):
        assert why_not_known(known) is None
    strange = write_model(tmp_path / "strange.gguf", architecture="quagga3")
    with pytest.raises(
        ModelError, match=r"strange\.gguf: the installed llama\.cpp does not know the archit.*'quagga3'"
    ):
        check(replace(two, candidate=strange).suite())
    with pytest.raises(ModelError, match=r"strange\.gguf: the installed llama\.cpp does not know"):
        check(replace(two, base=strange).suite())


# Drift

TRACE = Trace((1,), (1,), ((1, 2), (2, 1)), ((-0.1, -2.0), (-0.2, -2.0)), ("a", ""))


class Tracing(OneModel):
    """Traces what it is asked to, a little otherwise in each view."""

    def answer(self, view: View, prompts: Sequence[Prompt]) -> Any:
        for index, completion in super().answer(view, prompts):
            prompt = prompts[index]
            top = ("a", "") if view.name.startswith("base") else ("b", "")
            trace = replace(TRACE, top=top) if prompt.traced or prompt.follow else None
            yield index, replace(completion, trace=trace)


def test_a_candidate_reads_the_calls_of_the_base_behind_its_own_prompts(two_templates: Two) -> None:
    report = check(two_templates.suite(), engine=Tracing())
    drift = report.judged[0].comparison.drift
    assert drift is not None
    assert (drift.cases, drift.changed) == (4, 0.5)
    assert report.judged[0].comparison.other_model
    assert report.judged[0].comparison.no_drift is None


def test_without_one_vocabulary_there_is_no_drift_and_the_report_says_why(two: Two, tmp_path: Path) -> None:
    words = [f"[{number}]" for number in range(120)]
    other = tmp_path / "words.gguf"
    write_other_vocabulary(other, words)
    suite = replace(two, candidate=other).suite()
    evidence = check(suite, engine=Tracing()).judged[0].comparison
    assert (evidence.drift, evidence.no_drift) == (
        None,
        "the vocabularies differ: 100 tokens in base.gguf, 120 in words.gguf",
    )
    with pytest.raises(ModelError, match=r"words\.gguf: drift can only be measured where both .*; leave out --drift"):
        plan_of(suite.with_defaults(drift=True))


def test_drift_can_be_switched_off(two: Two) -> None:
    engine = Tracing()
    evidence = check(two.suite(drift=False, flips=True), engine=engine).judged[0].comparison
    assert (evidence.drift, evidence.no_drift) == (None, "it was switched off")
    # To see whether anything was rounded otherwise takes what the base expected the first time.
    assert evidence.flips is not None
    assert evidence.flips.rounded_alike


def write_other_vocabulary(path: Path, words: list[str]) -> None:
    writer = GGUFWriter(path, "llama")
    writer.add_type("model")
    writer.add_token_list(words)
    for name, data in model_tensors().items():
        writer.add_tensor(name, data)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
