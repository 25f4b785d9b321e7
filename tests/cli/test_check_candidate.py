"""`loracheck check` on another model file, and on the base quantized."""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from loracheck import checking
from loracheck.engine.fake import FakeEngine
from models.factory import write_adapter, write_model
from suite_factory import CHAT_TEMPLATE, call, failing_from, make_case

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from loracheck.engine import Prompt, View


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return write_model(tmp_path / "base.gguf")


@pytest.fixture
def candidate(tmp_path: Path) -> Path:
    return write_model(tmp_path / "merged.gguf", extra=[("add_string", "general.basename", "merged")])


@pytest.fixture
def cases(tmp_path: Path) -> Path:
    path = tmp_path / "cases.jsonl"
    lines = (make_case(number).model_dump_json(exclude_unset=True) for number in range(1, 21))
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


@pytest.fixture
def tells(monkeypatch: pytest.MonkeyPatch, candidate: Path) -> None:
    """A quantizer that brings the candidate's file, and says so."""

    @contextmanager
    def quantized(model: Path, to: str, *, tell: Any, **_: Any) -> Iterator[Path]:
        if tell:
            tell(f"{model.name} as {to}")
        yield candidate

    monkeypatch.setattr(checking, "quantized", quantized)


def breaking(view: View, prompt: Prompt) -> str:
    """The candidate breaks two cases."""
    return failing_from(19)(prompt) if view.name == "candidate" else call()


def test_a_candidate_is_checked_and_called_by_its_name(
    loracheck: Any, use_engine: Any, base: Path, candidate: Path, cases: Path, tmp_path: Path
) -> None:
    use_engine(FakeEngine(breaking))
    forms = {form: tmp_path / f"out.{form}" for form in ("json", "html", "markdown", "junit")}
    outputs = [each for form, path in forms.items() for each in (f"--{form}", path)]
    done = loracheck("check", "--base", base, "--candidate", candidate, "--cases", cases, *outputs)
    assert done.code == 1
    lines = [line.rstrip() for line in done.out.splitlines()]
    assert lines[0] == "merged.gguf against base.gguf"
    assert lines[1].startswith("FAIL  tools_intact")
    assert lines[2].startswith("2 of 20 calls are lost")
    table = next(line for line in lines if line.split()[:2] == ["base", "candidate"])
    assert table.split() == ["base", "candidate", "change", "limit"]
    assert any(line.startswith("  candidate  no call ") for line in lines)
    whole = loracheck("report", forms["json"], "-v").out
    assert "not judged: no adapter, so no null baseline" in " ".join(whole.split())
    assert "base ↓  candidate →" in whole
    assert "    candidate no call" in whole
    for path in forms.values():
        text = path.read_text("utf-8")
        assert "merged.gguf" in text, path
        assert "base.gguf" in text, path
        assert "the adapter" not in text, path
        assert "adapter 90" not in text, path
    assert "candidate: 20/20" in done.err


def test_verbose_tells_more(loracheck: Any, base: Path, tmp_path: Path) -> None:
    drift = {
        "cases": 5, "positions": 50, "kl_format": 0.01, "kl_values": 0.02, "worst_format": 0.5, "worst_values": 0.75,
        "changed_format": 0.02, "changed_values": 0.04, "changed": 0.03,
    }  # fmt: skip
    probe = {
        "name": "tools", "kind": "tool_use_fidelity", "verdict": "pass", "message": "fine",
        "evidence": {"drift": drift, "subject": "candidate", "other_model": True},
    }  # fmt: skip
    saved = tmp_path / "saved.json"
    whole = {
        "schema_version": 1, "loracheck_version": "1", "verdict": "pass", "score": 1.0, "probes": [probe],
        "provenance": {}, "timing": {},
    }  # fmt: skip
    saved.write_text(json.dumps(whole), encoding="utf-8")
    assert "KL" not in loracheck("report", saved).out
    verbose = " ".join(loracheck("report", saved, "-v").out.split())
    assert "At 3.0% of the places in the base's own calls the candidate would write another token." in verbose
    assert "format KL 0.01, 2.0%; values KL 0.02, 4.0% of tokens changed." in verbose
    assert "Largest KL at one place: format 0.5, values 0.75." in verbose
    for form in ("markdown", "html"):
        page = loracheck("report", saved, "--format", form).out
        assert "0.75" in page


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--candidate", "x.gguf", "--quantize", "Q4_0"], "--candidate and --quantize exclude each other"),
        ([], "both --base MODEL.gguf and --adapter ADAPTER.gguf, --candidate or --quantize"),
        (["--quantize", "IQ1_S"], "IQ1_S needs an importance matrix"),
        (["--quantize", "Q4_K_X"], "no quantization 'Q4_K_X'; did you mean 'Q4_K_"),
        (["--candidate", "none.gguf"], "none.gguf: there is no such file"),
    ],
)
def test_what_cannot_be_meant_is_a_usage_error(loracheck: Any, base: Path, options: list[str], said: str) -> None:
    done = loracheck("check", "--base", base, *options)
    assert (done.code, done.out) == (2, "")
    assert said in done.err


def test_a_candidate_that_is_an_adapter_is_named(loracheck: Any, base: Path, tmp_path: Path) -> None:
    adapter = write_adapter(tmp_path / "adapter.gguf")
    for models in (("--base", base, "--candidate", adapter), ("--base", adapter, "--candidate", base)):
        done = loracheck("check", *models)
        assert (done.code, done.out) == (2, "")
        assert (
            "adapter.gguf: this is a LoRA adapter, not a model; `loracheck check --base MODEL.gguf --adapter "
            in done.err
        )


def test_the_same_file_twice_has_no_effect(loracheck: Any, use_engine: Any, base: Path) -> None:
    use_engine(FakeEngine(breaking))
    done = loracheck("check", "-q", "--base", base, "--candidate", base)
    assert (done.code, done.out) == (4, "")
    assert done.err.startswith("Error: the candidate is its base")
    assert done.err.count("sha256") == 2


@pytest.mark.usefixtures("tells")
def test_the_base_is_quantized_on_the_way(loracheck: Any, use_engine: Any, base: Path, cases: Path) -> None:
    use_engine(FakeEngine(breaking))
    done = loracheck("check", "--base", base, "--quantize", "q4_k_m", "--cases", cases)
    assert done.code == 1
    assert done.err.startswith("base.gguf as Q4_K_M\n")
    assert done.out.startswith("base.gguf as Q4_K_M against base.gguf\n")
    assert loracheck("check", "-q", "--base", base, "--quantize", "Q4_K_M", "--cases", cases).err == ""


@pytest.mark.usefixtures("tells")
def test_the_split_is_shown_in_every_form(
    loracheck: Any, use_engine: Any, base: Path, cases: Path, tmp_path: Path
) -> None:
    adapter = write_adapter(tmp_path / "adapter.gguf")
    use_engine(FakeEngine(lambda view, prompt: call() if view.name != "no adapter" else failing_from(20)(prompt)))
    files = [tmp_path / name for name in ("out.json", "out.md", "out.html")]
    outputs = [each for pair in zip(("--json", "--markdown", "--html"), files, strict=True) for each in pair]
    models = ("--base", base, "--quantize", "Q4_0", "--adapter", adapter)
    done = loracheck("check", "-q", *models, "--no-null", "--cases", cases, *outputs)
    assert done.code == 0
    row = next(line for line in done.out.splitlines() if line.startswith("quantizing alone"))
    assert row.split()[2:6] == ["100.0%", "95.0%", "-5.0", "points"]
    report = json.loads(files[0].read_bytes())
    split = report["probes"][0]["evidence"]["split"]
    assert [split[part]["paired"]["lost"] for part in ("quantization", "adapter", "both")] == [1, 0, 0]
    for path in files[1:]:
        text = path.read_text("utf-8")
        assert all(name in text for name in ("quantizing alone", "adapter alone", "both together"))


def test_a_plan_quantizes_nothing(
    loracheck: Any, base: Path, cases: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(checking, "quantized", lambda *_, **__: pytest.fail("something was quantized"))
    adapter = write_adapter(tmp_path / "adapter.gguf")
    done = loracheck("check", "--base", base, "--quantize", "Q4_0", "--adapter", adapter, "--cases", cases, "--plan")
    assert done.code == 0
    models = [line.removeprefix("model    ") for line in done.out.splitlines() if line.startswith("model ")]
    assert models == [str(base), f"{base} as Q4_0"]
    views = [line.split(":")[0] for line in done.out.splitlines() if line.startswith("view ")]
    assert views == [f"view     {name}" for name in (
        "base", "unquantized", "adapter", "null 1/3", "null 2/3", "null 3/3", "no adapter",
    )]  # fmt: skip


def test_a_plan_shows_the_prompts_of_both_templates(loracheck: Any, base: Path, tmp_path: Path, cases: Path) -> None:
    chat = write_model(tmp_path / "chat.gguf", extra=[("add_string", "tokenizer.chat_template", CHAT_TEMPLATE)])
    done = loracheck("check", "--base", base, "--candidate", chat, "--cases", cases, "--plan")
    assert f"20 cases for {base}\n" in done.out
    assert f"20 cases for {chat}\n" in done.out
    assert "<user>Search for 1.<assistant>" in done.out
    alike = loracheck("check", "--base", base, "--candidate", chat, "--cases", cases, "--plan", "--template", "base")
    assert "<user>" not in alike.out


def test_like_runs_a_candidate_again_unless_it_has_changed(
    loracheck: Any, use_engine: Any, base: Path, candidate: Path, cases: Path, tmp_path: Path
) -> None:
    use_engine(FakeEngine(breaking))
    out = tmp_path / "out.json"
    loracheck("check", "-q", "--base", base, "--candidate", candidate, "--cases", cases, "--json", out)
    done = loracheck("check", "--like", out)
    assert done.code == 1
    assert f"the same as {out} in every number" in done.err
    write_model(candidate, extra=[("add_string", "general.basename", "merged anew")])
    done = loracheck("check", "--like", out)
    assert done.code == 2
    assert f"{candidate} has changed since" in done.err


@pytest.mark.usefixtures("tells")
def test_like_quantizes_again(loracheck: Any, use_engine: Any, base: Path, cases: Path, tmp_path: Path) -> None:
    use_engine(FakeEngine(breaking))
    out = tmp_path / "out.json"
    loracheck("check", "-q", "--base", base, "--quantize", "Q4_0", "--cases", cases, "--json", out)
    done = loracheck("check", "--like", out)
    assert done.err.startswith("base.gguf as Q4_0\n")
    assert f"the same as {out} in every number" in done.err


SUITE = """\
models: {{base: {{gguf: base.gguf}}{ft}}}
defaults: {{drift: false, template: base{quantize}}}
suite:
  - name: tools
    kind: tool_use_fidelity
    cases: [{{id: case1, prompt: Find cats., tool_spec: {{name: search_web}}}}]
"""


def suite(folder: Path, ft: str = "", quantize: str = "") -> Path:
    path = folder / "suite.yaml"
    path.write_text(SUITE.format(ft=ft and f", ft: {ft}", quantize=quantize and f", quantize: {quantize}"), "utf-8")
    return path


@pytest.mark.usefixtures("tells")
def test_a_suite_names_its_candidate_or_what_to_quantize_to_and_options_win(
    loracheck: Any, use_engine: Any, base: Path, candidate: Path, tmp_path: Path
) -> None:
    use_engine(FakeEngine(lambda view, prompt: call()))

    def first_line(*arguments: Any) -> str:
        done = loracheck("check", "-q", *arguments)
        assert done.code == 0, done.err
        return str(done.out.splitlines()[0])

    assert base.name == "base.gguf"
    named = "merged.gguf against base.gguf"
    assert first_line(suite(tmp_path, "{gguf: merged.gguf}")) == named
    assert first_line(suite(tmp_path), "--candidate", candidate) == named
    assert first_line(suite(tmp_path, quantize="q4_0"), "--candidate", candidate) == named
    quantized = "base.gguf as Q4_0 against base.gguf"
    assert first_line(suite(tmp_path, quantize="q4_0")) == quantized
    assert first_line(suite(tmp_path, "{gguf: merged.gguf}"), "--quantize", "Q4_0") == quantized


def test_a_suite_with_nothing_to_check_or_with_two_candidates_is_refused(
    loracheck: Any, base: Path, tmp_path: Path
) -> None:
    done = loracheck("check", suite(tmp_path))
    assert base.is_file()
    assert done.code == 2
    assert f"{tmp_path / 'suite.yaml'}: models.ft: nothing to check; give it adapters" in done.err
    done = loracheck("check", suite(tmp_path, "{gguf: merged.gguf}", "Q4_0"))
    assert done.code == 2
    assert "suite.yaml: models.ft: a candidate and quantize exclude each other" in done.err
