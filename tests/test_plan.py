"""Read: what a plan holds, what it says of its files, and what is refused before anything is hashed or asked."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from loracheck.cases.entries import NullAdapterEntry
from loracheck.cases.suite import AdapterEntry, Defaults
from loracheck.engine import AdapterUse, NullAdapter, Settings
from loracheck.errors import AdapterError, CasesError, InputError, ModelError
from loracheck.files import sha256_of
from loracheck.models.peft import source_hashes
from loracheck.plan import read
from loracheck.provenance import model_record
from loracheck.store import Store
from loracheck.suites import load_suite
from models.factory import lora_tensors, write_adapter
from models.peft_factory import write_base, write_peft
from suite_factory import CHAT_TEMPLATE, Files, make_case, make_suite, write_files

if TYPE_CHECKING:
    from pathlib import Path

    from loracheck.cases.suite import Suite
    from loracheck.engine import Prompt
    from loracheck.plan import Plan
    from loracheck.probes.probe import Step, Views
    from loracheck.results import Provenance

SUITE = """\
models:
  base: {{gguf: {base}}}
  ft: {{adapters: [{{gguf: {adapter}}}]}}
suite:
  - {{name: tools, kind: tool_use_fidelity, cases: [{{prompt: Find cats., tool_spec: {{name: search}}}}]}}
"""


class Refusing(Store):
    """For what must be said before any file is hashed."""

    def sha256_of(self, path: Path) -> str:
        pytest.fail(f"{path} was hashed")


def plan_of(suite: Suite) -> Plan:
    return read(suite, Store())


def two_probes(suite: Suite, second: list[int], **changes: Any) -> Suite:
    """Beside the suite's probe, one that asks these cases."""
    (entry,) = suite.judged
    other = entry.asking([make_case(number) for number in second]).model_copy(update={"name": "other", **changes})
    return suite.model_copy(update={"entries": (*suite.entries, other)})


def asked(plan: Plan) -> list[tuple[str, list[str]]]:
    return [(questions.view.name, [prompt.text for prompt in questions.prompts]) for questions in plan.questions]


def prompts_of(step: Step[Any]) -> tuple[Prompt, ...]:
    """Those of a plan with one model file."""
    (prompts,) = step.prompts.by_model.values()
    return prompts


def asked_by(views: Views) -> str:
    """The dialect that a plan with one model file asks for."""
    (asked,) = views.asked.values()
    return asked.name


# What a plan holds


def test_a_plan_knows_its_views_its_adapters_and_its_settings(files: Files, tmp_path: Path) -> None:
    sft = write_adapter(tmp_path / "sft.gguf", lora_tensors(seed=1))
    suite = make_suite(files).with_models(
        adapters=[AdapterEntry(gguf=files.adapter, scale=0.5)], base_adapters=[AdapterEntry(gguf=sft)]
    )
    plan = plan_of(suite.with_defaults(n_ctx=512, threads=3, gpu_layers=1, parallel=2, seed=7))
    assert (plan.views.base.name, plan.views.base.model) == ("base", files.base)
    assert plan.views.base.adapters == (AdapterUse(sft),)
    assert (plan.views.tuned.name, plan.views.tuned.model) == ("adapter", files.base)
    assert plan.views.tuned.adapters == (AdapterUse(sft), AdapterUse(files.adapter, 0.5))
    assert [adapter.lora.path for adapter in plan.adapters] == [sft, files.adapter]
    assert plan.settings == Settings(n_ctx=512, threads=3, gpu_layers=1, parallel=2)
    assert (plan.views.seed, plan.views.strict_schema) == (7, False)
    assert plan.loracheck_version == version("loracheck")


def test_every_entry_of_the_suite_is_a_step_with_its_prompts(files: Files) -> None:
    suite = make_suite(files).with_cases([make_case(1, max_new_tokens=9), make_case(2)]).with_nulls(2)
    nulls, tools = plan_of(suite).steps
    assert [nulls.entry, tools.entry] == list(suite.entries)
    assert [(prompt.id, prompt.text) for prompt in prompts_of(nulls)] == [
        ("search_web", "Search the web for the capital of France."),
        ("calculator", "Add 2 and 2."),
    ]
    assert [(prompt.id, prompt.text, prompt.max_new_tokens) for prompt in prompts_of(tools)] == [
        ("case1", "Search for 1.", 9),
        ("case2", "Search for 2.", 256),
    ]
    assert tools.nulls is nulls.nulls


def test_prompts_are_written_by_the_models_own_template_and_ask_for_its_dialect(tmp_path: Path) -> None:
    files = write_files(tmp_path, CHAT_TEMPLATE + '{# <tool_call>{"name" #}')
    plan = plan_of(make_suite(files, cases=2))
    texts = [prompt.text for prompt in prompts_of(plan.steps[0])]
    assert [text.rpartition("</tools>")[2] for text in texts] == [
        "<user>Search for 1.<assistant>",
        "<user>Search for 2.<assistant>",
    ]
    assert (asked_by(plan.views), plan.views.read_as) == ("hermes", None)


def test_a_dialect_that_is_named_is_how_answers_are_read_and_not_what_is_asked_for(tmp_path: Path) -> None:
    suite = make_suite(write_files(tmp_path, CHAT_TEMPLATE + '{# <tool_call>{"name" #}'))
    views = plan_of(suite.with_defaults(dialect="mistral")).views
    assert (asked_by(views), views.read_as) == ("hermes", "mistral")


def test_sentinels_are_put_to_the_model_as_the_cases_are(tmp_path: Path) -> None:
    nulls, _ = plan_of(make_suite(write_files(tmp_path, CHAT_TEMPLATE)).with_nulls(1)).steps
    first, second = (prompt.text for prompt in prompts_of(nulls))
    assert '"search_web"' in first
    assert first.endswith("<user>Search the web for the capital of France.<assistant>")
    assert '"calculator"' in second


# How long an answer may get

THINKS = CHAT_TEMPLATE + "{% if enable_thinking is defined and not enable_thinking %}<think></think>{% endif %}"


def limits(tmp_path: Path, template: str | None, **defaults: Any) -> list[int]:
    """Of a case without a limit, one with answer_tokens, one with max_new_tokens, and one with both."""
    cases = [
        make_case(1),
        make_case(2, answer_tokens=40),
        make_case(3, max_new_tokens=9),
        make_case(4, answer_tokens=40, max_new_tokens=9),
    ]
    suite = make_suite(write_files(tmp_path, template)).with_cases(cases)
    plan = plan_of(suite.model_copy(update={"defaults": Defaults(**defaults)}))
    return [prompt.max_new_tokens for prompt in prompts_of(plan.steps[0])]


def test_an_answer_may_have_256_tokens_or_what_its_case_says(tmp_path: Path) -> None:
    assert limits(tmp_path, None) == limits(tmp_path, CHAT_TEMPLATE) == [256, 40, 9, 9]


def test_a_model_that_may_think_first_gets_room_for_it(tmp_path: Path) -> None:
    assert limits(tmp_path, THINKS) == [1024, 1024, 9, 9]
    assert limits(tmp_path, THINKS, thinking=False) == [256, 40, 9, 9]
    assert limits(tmp_path, THINKS, template_args={"enable_thinking": False}) == [256, 40, 9, 9]


def test_a_limit_of_the_suite_wins_over_what_is_made_up_but_not_over_a_case(tmp_path: Path) -> None:
    assert limits(tmp_path, THINKS, max_new_tokens=70) == limits(tmp_path, None, max_new_tokens=70) == [70, 70, 9, 9]


def test_a_plan_of_the_same_suite_is_the_same_plan(files: Files) -> None:
    suite = make_suite(files).with_nulls()
    assert plan_of(suite) == plan_of(suite)


# What is asked


def test_views_are_asked_in_the_order_base_adapter_nulls(files: Files) -> None:
    cases = ["Search for 1.", "Search for 2."]
    sentinels = ["Search the web for the capital of France.", "Add 2 and 2."]
    plan = plan_of(make_suite(files, cases=2).with_nulls(2))
    assert asked(plan) == [("base", cases), ("adapter", cases), ("null 1/2", sentinels), ("null 2/2", sentinels)]
    base, tuned, *nulls = plan.questions
    assert (base.traced, base.follows) == (True, ())
    assert (tuned.traced, tuned.follows) == (False, base.prompts)
    assert [(null.traced, null.follows) for null in nulls] == [(False, ())] * 2


def test_probes_that_share_cases_ask_each_of_them_once(files: Files) -> None:
    plan = plan_of(two_probes(make_suite(files, cases=2).with_nulls(1), [2, 3]))
    texts = [f"Search for {number}." for number in (1, 2, 3)]
    assert asked(plan)[:2] == [("base", texts), ("adapter", texts)]
    assert len(asked(plan)) == 3
    assert plan.questions[0].traced
    assert plan.questions[1].follows == plan.questions[0].prompts


def test_the_same_text_with_another_limit_is_another_question(files: Files) -> None:
    suite = make_suite(files, cases=1)
    (entry,) = suite.entries
    short = entry.asking([make_case(1, max_new_tokens=5)]).model_copy(update={"name": "short"})
    plan = plan_of(suite.model_copy(update={"entries": (entry, short)}))
    assert [prompt.max_new_tokens for prompt in plan.questions[0].prompts] == [256, 5]


def test_cases_of_one_probe_that_read_the_same_are_asked_once(files: Files) -> None:
    cases = [make_case(1), make_case(2, prompt="Search for 1.", gold_arguments={"query": "1"})]
    plan = plan_of(make_suite(files).with_cases(cases))
    assert len(prompts_of(plan.steps[0])) == 2
    assert asked(plan) == [("base", ["Search for 1."]), ("adapter", ["Search for 1."])]


def test_null_adapters_on_cases_are_asked_what_every_probe_asks(files: Files) -> None:
    suite = two_probes(make_suite(files, cases=2), [2, 3])
    nulls = NullAdapterEntry(name="nulls", on="cases", runs=1, rank_multipliers=(0.5, 2.0))
    plan = plan_of(suite.model_copy(update={"entries": (nulls, *suite.entries)}))
    texts = [f"Search for {number}." for number in (1, 2, 3)]
    assert asked(plan)[2:] == [("null 1/1", texts)] * 2
    sources = [questions.view.adapters[0].source for questions in plan.questions[2:]]
    assert sources == [NullAdapter(files.adapter, 1000, rank_multiplier=rank) for rank in (0.5, 2.0)]


# What is refused, and when


def refused(suite: Suite, error: type[InputError], match: str) -> None:
    with Refusing() as store, pytest.raises(error, match=match):
        read(suite, store)


@pytest.mark.parametrize(
    ("template", "match"),
    [
        ("{{ raise_exception('not with me') }}", "chat template failed: not with me"),
        ("{% for %}", "chat template failed: .*; use --prompt raw"),
        ("{{ 1 // 0 }}", "chat template failed: .*; use --prompt raw"),
    ],
)
def test_a_broken_chat_template_is_found_before_anything_is_hashed(tmp_path: Path, template: str, match: str) -> None:
    refused(make_suite(write_files(tmp_path, template)), ModelError, match)


def test_a_missing_chat_template_is_found_before_anything_is_hashed(files: Files) -> None:
    refused(make_suite(files).with_defaults(prompt="chat"), ModelError, "no chat template")


def test_an_adapter_that_does_not_fit_is_found_before_anything_is_hashed(files: Files, tmp_path: Path) -> None:
    other = write_adapter(tmp_path / "other.gguf", architecture="qwen2")
    deeper = write_adapter(tmp_path / "deeper.gguf", lora_tensors(layers=3))
    refused(make_suite(Files(files.base, other)), AdapterError, "trained on another base")
    refused(make_suite(Files(files.base, deeper)), AdapterError, r"blk\.2\.attn_q\.weight")
    own = make_suite(files).with_models(base_adapters=[AdapterEntry(gguf=other)])
    refused(own, AdapterError, "trained on another base")


def test_files_that_are_missing_or_something_else_are_found_before_anything_is_hashed(
    files: Files, tmp_path: Path
) -> None:
    refused(make_suite(Files(tmp_path / "none.gguf", files.adapter)), ModelError, r"none\.gguf")
    refused(make_suite(Files(files.base, tmp_path / "none.gguf")), AdapterError, r"none\.gguf")
    refused(
        make_suite(Files(files.adapter, files.adapter)),
        ModelError,
        "not a model; `loracheck check --base MODEL.gguf --adapter ",
    )
    refused(make_suite(Files(files.base, files.base)), AdapterError, "not a LoRA adapter; `loracheck check --base ")


def test_a_schema_that_is_itself_invalid_is_found_before_anything_is_hashed(files: Files) -> None:
    bad = make_case(2, tool_spec={"name": "f", "parameters": {"type": "objekt"}})
    suite = make_suite(files).with_cases([make_case(1), bad]).with_defaults(schema="strict")
    refused(suite, CasesError, "^tools_intact: case 'case2', tool 'f': parameters")
    assert plan_of(suite.with_defaults(schema="basic")).steps


def test_no_number_of_an_adapter_is_read(files: Files) -> None:
    # Numbers are numpy's: where it is not even imported, none was looked at.
    code = (
        "import sys; from pathlib import Path\n"
        "from loracheck.plan import read; from loracheck.store import Store; from loracheck.suites import build_suite\n"
        "plan = read(build_suite(base='base.gguf', adapter='adapter.gguf', cases='smoke'), Store())\n"
        "print(len(plan.questions), 'numpy' in sys.modules)"
    )
    folder = files.base.parent
    child = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True)
    assert child.stdout.split() == ["5", "False"]


# What a reader must know about the adapters and the prompts


def test_what_llama_cpp_ignores_and_what_it_applies_differently_are_warnings(files: Files, tmp_path: Path) -> None:
    tensors = {**lora_tensors(), "blk.0.attn_norm.weight": np.ones(64, np.float32)}
    extra = write_adapter(tmp_path / "extra.gguf", tensors)
    alora = write_adapter(tmp_path / "alora.gguf", extra=[("add_array", "adapter.alora.invocation_tokens", [1, 2])])
    suite = make_suite(files).with_models(adapters=[AdapterEntry(gguf=path) for path in (extra, alora)])
    assert list(plan_of(suite).warnings) == [
        f"{extra}: llama.cpp ignores 1 of its tensors: blk.0.attn_norm.weight",
        f"{alora}: an activated LoRA; it is applied to every token here",
    ]
    assert list(plan_of(make_suite(files)).warnings) == []


def test_what_is_wrong_with_the_prompts_is_a_warning(tmp_path: Path) -> None:
    files = write_files(tmp_path, "{{ 'Write {{\"name\": 1}}' }}" + CHAT_TEMPLATE)
    (warning,) = plan_of(make_suite(files)).warnings
    assert warning.startswith(f"{files.base}: about its chat template: it shows calls with doubled braces")


# Where a report comes from


def provenance(file: Path, base: object, adapter: object) -> Provenance:
    file.parent.mkdir(exist_ok=True)
    file.write_text(SUITE.format(base=base, adapter=adapter), "utf-8")
    return plan_of(load_suite(file)).provenance


def test_a_report_names_its_suite_file(files: Files, tmp_path: Path) -> None:
    recorded = provenance(tmp_path / "suite.yaml", "base.gguf", "adapter.gguf")
    assert (recorded.suite_file, recorded.outside_suite_folder) == (str(tmp_path / "suite.yaml"), ())


def test_files_from_outside_the_suites_folder_are_shown_where_they_are(files: Files, tmp_path: Path) -> None:
    recorded = provenance(tmp_path / "suites" / "suite.yaml", "../base.gguf", files.adapter)
    assert recorded.outside_suite_folder == tuple(
        str(tmp_path.resolve() / name) for name in ("base.gguf", "adapter.gguf")
    )


def test_a_link_inside_the_folder_to_a_file_outside_is_outside(files: Files, tmp_path: Path) -> None:
    folder = tmp_path / "suites"
    folder.mkdir()
    (folder / "mine.gguf").symlink_to(files.adapter)
    (folder / "base.gguf").write_bytes(files.base.read_bytes())
    recorded = provenance(folder / "suite.yaml", "base.gguf", "mine.gguf")
    assert recorded.outside_suite_folder == (str(files.adapter.resolve()),)


def test_a_suite_without_a_file_has_no_folder_to_leave(files: Files) -> None:
    recorded = plan_of(make_suite(files)).provenance
    assert (recorded.suite_file, recorded.outside_suite_folder) == (None, ())


def test_files_settings_and_seeds_are_recorded(files: Files, tmp_path: Path) -> None:
    sft = write_adapter(tmp_path / "sft.gguf", lora_tensors(seed=1))
    suite = make_suite(files).with_models(
        adapters=[AdapterEntry(gguf=files.adapter, scale=0.5)], base_adapters=[AdapterEntry(gguf=sft)]
    )
    suite = suite.with_nulls(2).with_defaults(seed=5, parallel=3)
    recorded = plan_of(suite).provenance
    assert (recorded.model.path, recorded.model.sha256) == (str(files.base), sha256_of(files.base))
    own, under_test = (*recorded.base_adapters, *recorded.ft_adapters)
    assert (own.path, own.sha256, own.scale) == (str(sft), sha256_of(sft), 1.0)
    assert (under_test.path, under_test.sha256, under_test.scale) == (str(files.adapter), sha256_of(files.adapter), 0.5)
    assert recorded.seeds == {"bootstrap": 5, "null": [1000, 1001]}
    assert recorded.settings["parallel"] == 3
    assert type(suite).model_validate(recorded.suite) == suite


def test_a_model_of_one_file_has_no_parts(files: Files) -> None:
    assert model_record(files.base, sha256_of).parts == ()


def test_every_part_of_a_split_model_is_hashed(files: Files, tmp_path: Path) -> None:
    first, second = (tmp_path / f"m-0000{number}-of-00002.gguf" for number in (1, 2))
    shutil.copy(files.base, first)
    second.write_bytes(b"the other half")
    recorded = plan_of(make_suite(Files(first, files.adapter))).provenance.model
    assert (recorded.path, recorded.sha256) == (str(first), sha256_of(first))
    assert [(part.path, part.sha256) for part in recorded.parts] == [
        (str(first), sha256_of(first)),
        (str(second), hashlib.sha256(b"the other half").hexdigest()),
    ]


def test_an_adapter_from_a_peft_folder_is_recorded_by_the_folder_and_what_it_holds(
    tmp_path: Path, cache_folder: Path
) -> None:
    base, folder = write_base(tmp_path / "base.gguf"), write_peft(tmp_path / "peft")
    plan = plan_of(make_suite(Files(base, folder)))
    (used,) = plan.adapters
    assert used.lora.path.is_relative_to(cache_folder)
    assert plan.views.tuned.adapters == (AdapterUse(used.lora.path),)
    (recorded,) = plan.provenance.ft_adapters
    assert (recorded.path, recorded.peft) == (str(folder), source_hashes(folder))
    assert recorded.sha256 == sha256_of(used.lora.path)
    suite = plan.provenance.suite
    assert suite is not None
    assert suite["models"]["ft"]["adapters"][0]["gguf"] == str(folder)
