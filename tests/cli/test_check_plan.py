"""`loracheck check --plan`, and what is found wrong before anybody is asked."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from loracheck.engine.fake import FakeEngine
from models.factory import write_adapter
from suite_factory import CHAT_TEMPLATE, Files, answering, make_case, write_files

if TYPE_CHECKING:
    from pathlib import Path

    from loracheck.engine import Fingerprint


@pytest.fixture
def with_template(tmp_path: Path) -> Files:
    """Toy files whose model has a chat template."""
    folder = tmp_path / "chat"
    folder.mkdir()
    return write_files(folder, CHAT_TEMPLATE)


def test_the_plan_has_every_view_case_and_prompt_and_asks_nothing(
    loracheck: Any, use_engine: Any, with_template: Files, cases_file: Path, tmp_path: Path, cache_folder: Path
) -> None:
    engine = answering()
    use_engine(engine)
    options = ["--adapter", f"{with_template.adapter}@0.5", "--cases", cases_file, "--null-runs", "1"]
    before = sorted(tmp_path.rglob("*"))
    done = loracheck("check", "--base", with_template.base, *options, "--plan", "--json", tmp_path / "out.json")
    assert (done.code, done.err, engine.asked) == (0, "", [])
    assert sorted(tmp_path.rglob("*")) == before
    assert list(cache_folder.iterdir()) == []
    lines = done.out.splitlines()
    assert lines[0].split() == ["model", str(with_template.base)]
    assert [line.split(":")[0].split(maxsplit=1)[1] for line in lines if line.startswith("view ")] == [
        "base", "adapter", "null 1/1",
    ]  # fmt: skip
    assert f"         {with_template.adapter} at scale 0.5" in lines
    cases = [line for line in lines if line.startswith("case ")]
    sentinels, of_the_file = cases[:2], cases[2:]
    assert sentinels == [f"case     {name}, at most 256 new tokens" for name in ("search_web", "calculator")]
    assert of_the_file == [f"case     case{number}, at most 256 new tokens" for number in range(1, 5)]
    for number, case in enumerate(of_the_file, 1):
        # The very text that would be sent, tools and turns written by the template.
        assert lines[lines.index(case) + 1].startswith('    <1><tools>[{"type": "function"')
        assert lines[lines.index(case) + 1].endswith(f"<user>Search for {number}.<assistant>")


def test_the_plan_says_what_is_asked_for_and_whether_the_model_may_think(
    loracheck: Any, cases_file: Path, tmp_path: Path
) -> None:
    thinks = "{{ '{{\"name\": 1}}' }}" + CHAT_TEMPLATE + "{% if enable_thinking is false %}</think>{% endif %}"
    files = write_files(tmp_path, thinks + '{# <tool_call>{"name" #}')
    check = ("check", "--base", files.base, "--adapter", files.adapter, "--cases", cases_file, "--no-null", "--plan")
    lines = loracheck(*check).out.splitlines()
    assert lines[1:3] == ["dialect  hermes: the chat template writes <tool_call>", "thinking on"]
    assert lines[3].startswith(f"warning  {files.base}: about its chat template: it shows calls with doubled braces")
    assert "case     case1, at most 1024 new tokens" in lines
    lines = loracheck(*check, "--no-thinking", "--dialect", "mistral").out.splitlines()
    assert [line.split(":")[0] for line in lines[1:4]] == ["dialect  hermes", "read as  mistral", "thinking off"]
    assert "case     case1, at most 256 new tokens" in lines


def test_the_plan_says_how_many_answers_the_store_has(
    loracheck: Any, use_engine: Any, in_place_of_llama_cpp: FakeEngine, files: Files, cases_file: Path
) -> None:
    use_engine(in_place_of_llama_cpp)
    check = ("check", "-q", "--base", files.base, "--adapter", files.adapter, "--cases", cases_file, "--no-null")
    assert kept_answers(loracheck(*check, "--plan").out) == {"base": 0, "adapter": 0}
    assert loracheck(*check).code == 0
    in_place_of_llama_cpp.asked.clear()
    planned = loracheck(*check, "--plan")
    assert (planned.code, kept_answers(planned.out)) == (0, {"base": 4, "adapter": 4})
    assert "tokens, at most 1,024 new tokens; in the store already: 4" in planned.out
    assert kept_answers(loracheck(*check, "--plan", "--no-cache").out) == {"base": 0, "adapter": 0}
    # Another adapter has the same base, whose answers serve again.
    scaled = loracheck(*check[:5], f"{files.adapter}@0.5", *check[6:], "--plan")
    assert kept_answers(scaled.out) == {"base": 4, "adapter": 0}
    assert in_place_of_llama_cpp.asked == []


def test_the_plan_counts_what_the_engine_at_hand_has_answered(
    loracheck: Any, use_engine: Any, files: Files, cases_file: Path
) -> None:
    use_engine(answering(name="toy"))
    check = ("check", "-q", "--base", files.base, "--adapter", files.adapter, "--cases", cases_file, "--no-null")
    assert loracheck(*check).code == 0
    assert kept_answers(loracheck(*check, "--plan").out) == {"base": 4, "adapter": 4}


def kept_answers(plan: str) -> dict[str, int]:
    """For each view of a plan, how many of its answers are in the store."""
    views = re.findall(r"^view +(.*?): .*; in the store already: (\d+)$", plan, re.MULTILINE)
    return {name: int(count) for name, count in views}


def test_a_plan_cannot_rewrite_the_terminal(loracheck: Any, files: Files, tmp_path: Path) -> None:
    cases = tmp_path / "evil.jsonl"
    cases.write_text(make_case(prompt="one\n\x1b[2Jtwo").model_dump_json(exclude_unset=True), encoding="utf-8")
    done = loracheck("check", "--plan", "--base", files.base, "--adapter", files.adapter, "--cases", cases)
    assert (done.code, "\x1b" in done.out) == (0, False)
    assert "    one\n    \\x1b[2Jtwo\n" in done.out


def broken_template(folder: Path) -> Files:
    return write_files(folder, "{% for message in messages %}{{ raise_exception('roles must alternate') }}{% endfor %}")


def misfitting_adapter(folder: Path) -> Files:
    files = write_files(folder)
    a, b = np.ones((4, 32), np.float32), np.ones((32, 4), np.float32)  # (r, in), (out, r)
    write_adapter(files.adapter, {"blk.0.attn_q.weight.lora_a": a, "blk.0.attn_q.weight.lora_b": b})
    return files


@pytest.mark.parametrize("plan", [(), ("--plan",)], ids=["check", "plan"])
@pytest.mark.parametrize(
    ("write", "cases", "said"),
    [
        (broken_template, "cases.jsonl", "roles must alternate"),
        (partial(write_files, template="{% if %}"), "cases.jsonl", "the model's chat template "),
        (write_files, "none.jsonl", "none.jsonl: no such file"),
        (misfitting_adapter, "cases.jsonl", "blk.0.attn_q.weight is 32x32, the base needs 64x64"),
    ],
    ids=["a template that refuses", "a template that cannot be read", "no cases", "another base's adapter"],
)
def test_a_bad_input_ends_with_2_before_any_engine_is_asked(
    loracheck: Any, use_engine: Any, cases_file: Path, write: Any, cases: str, said: str, plan: tuple[str, ...]
) -> None:
    class NeverAsked(FakeEngine):
        def fingerprint(self, *_: Any) -> Fingerprint:
            pytest.fail("the engine was asked")

    engine = NeverAsked(lambda view, prompt: pytest.fail("the engine was asked"))
    use_engine(engine)
    files = write(cases_file.parent)
    options = ("--base", files.base, "--adapter", files.adapter, "--cases", cases_file.with_name(cases))
    done = loracheck("check", "-q", *options, *plan)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("Error: ")
    assert said in done.err
