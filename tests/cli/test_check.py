from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from loracheck.engine import Fingerprint
from loracheck.engine.fake import FakeEngine
from suite_factory import CHAT_TEMPLATE, Files, answering, call, failing_from, make_case, write_files

if TYPE_CHECKING:
    from pathlib import Path

    from loracheck.engine import Prompt, View

SUITE = """\
version: 1
models: {base: {gguf: base.gguf}, ft: {adapters: [{gguf: adapter.gguf}]}}
suite:
  - name: tools
    kind: tool_use_fidelity
    cases:
      - {id: case1, prompt: Find cats., tool_spec: {name: search_web}}
      - {id: case2, prompt: Find dogs., tool_spec: {name: search_web}}
"""


@pytest.fixture
def suite_file(files: Files) -> Path:
    path = files.base.with_name("suite.yaml")
    path.write_text(SUITE, encoding="utf-8")
    return path


def test_a_pass_ends_with_0_and_the_result_on_standard_output(
    loracheck: Any, use_engine: Any, suite_file: Path
) -> None:
    use_engine(answering())
    done = loracheck("check", suite_file)
    assert done.code == 0
    assert done.out.startswith("PASS  tools  may be chance\n")
    loading, ahead, *views = done.err.splitlines()
    assert (loading, ahead.split(", about")[0]) == ("loading", "5 views, 2 cases: 10 answers to compute")
    assert [line.split(",")[0] for line in views] == [
        "base: 2/2", "adapter: 2/2", "null 1/3: 2/2", "null 2/3: 2/2", "null 3/3: 2/2",
    ]  # fmt: skip


def test_a_fail_ends_with_1(loracheck: Any, use_engine: Any, suite_file: Path) -> None:
    use_engine(answering(adapter=failing_from(2)))
    done = loracheck("check", suite_file)
    assert done.code == 1
    assert done.out.startswith("FAIL  tools")


def test_the_command_goes_on_as_it_was_typed_or_with_the_file_that_was_written(
    loracheck: Any, use_engine: Any, suite_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(suite_file.parent)
    use_engine(answering(adapter=failing_from(2)))
    typed = ("check", "suite.yaml", "-q")
    assert "\nMore cases and figures: loracheck check suite.yaml -q -v\n" in loracheck(*typed).out
    saved = loracheck(*typed, "--json", "out.json").out
    assert "\nMore cases and figures: loracheck report out.json -v\n" in saved
    assert "\nEvery case, in a browser: loracheck report out.json --format html -o out.html\n" in saved
    assert "\nEvery case, in a browser: page.html\n" in loracheck(*typed, "--html", "page.html").out
    assert loracheck("report", "out.json", "-v").out == loracheck(*typed, "-v").out


def test_quiet_says_nothing_on_standard_error(loracheck: Any, use_engine: Any, suite_file: Path) -> None:
    use_engine(answering())
    done = loracheck("check", "-q", suite_file)
    assert (done.code, done.err) == (0, "")


def test_an_engine_failure_ends_with_3(loracheck: Any, use_engine: Any, suite_file: Path) -> None:
    class NotFinite(FakeEngine):
        def fingerprint(self, *_: Any) -> Fingerprint:
            return Fingerprint("", finite=False)

    use_engine(NotFinite(lambda view, prompt: ""))
    done = loracheck("check", "-q", suite_file)
    assert (done.code, done.out) == (3, "")
    assert done.err == "Error: the base view computes numbers that are not finite; is the model damaged?\n"


def test_an_adapter_without_effect_ends_with_4(loracheck: Any, use_engine: Any, suite_file: Path) -> None:
    use_engine(FakeEngine(lambda view, prompt: call(), inert=True))
    done = loracheck("check", "-q", suite_file)
    assert (done.code, done.out) == (4, "")
    assert done.err.startswith("Error: the adapter has no effect: both views compute bitwise equal logits. Tried:\n  /")


def test_an_interrupt_ends_with_130(loracheck: Any, use_engine: Any, suite_file: Path, tmp_path: Path) -> None:
    def interrupted(*_: Any) -> str:
        raise KeyboardInterrupt

    use_engine(FakeEngine(interrupted))
    done = loracheck("check", "-q", suite_file, "--json", tmp_path / "out.json")
    assert (done.code, done.out) == (130, "")
    assert done.err.strip().startswith("Interrupted.")
    assert not (tmp_path / "out.json").exists()


def test_the_report_is_written_as_it_is_shown(
    loracheck: Any, use_engine: Any, suite_file: Path, tmp_path: Path
) -> None:
    use_engine(answering(adapter=failing_from(2)))
    first = loracheck("check", "-q", suite_file, "--json", tmp_path / "out.json")
    again = loracheck("report", tmp_path / "out.json")
    assert (again.code, again.out) == (0, first.out)
    assert json.loads((tmp_path / "out.json").read_bytes())["verdict"] == "fail"


def test_models_and_cases_may_come_from_options_alone(
    loracheck: Any, use_engine: Any, files: Files, cases_file: Path, tmp_path: Path
) -> None:
    use_engine(answering())
    out = tmp_path / "out.json"
    stack = ["--base-adapter", f"{files.adapter}@0.25", "--adapter", f"{files.adapter}@0.5", "--adapter", files.adapter]
    done = loracheck("check", "-q", "--base", files.base, *stack, "--cases", cases_file, "--json", out)
    assert done.code == 0
    report = json.loads(out.read_bytes())
    assert [use["scale"] for use in report["provenance"]["base_adapters"]] == [0.25]
    assert [use["scale"] for use in report["provenance"]["ft_adapters"]] == [0.5, 1.0]
    assert [case["id"] for case in report["probes"][1]["cases"]] == ["case1", "case2", "case3", "case4"]


def test_options_win_over_the_suite_file(
    loracheck: Any, use_engine: Any, suite_file: Path, cases_file: Path, tmp_path: Path
) -> None:
    (tmp_path / "other").mkdir()
    other = write_files(tmp_path / "other", CHAT_TEMPLATE)
    use_engine(answering())
    out = tmp_path / "out.json"
    options = (
        "--base", other.base, "--adapter", f"{other.adapter}@2", "--cases", cases_file, "--prompt", "raw",
        "--max-new-tokens", "5", "--n-ctx", "64", "--threads", "1", "--gpu-layers", "-1", "--parallel", "2",
        "--seed", "9", "--null-runs", "1",
    )  # fmt: skip
    loracheck("check", "-q", suite_file, *options, "--json", out)
    report = json.loads(out.read_bytes())
    assert report["provenance"]["model"]["path"] == str(other.base)
    assert report["provenance"]["ft_adapters"][0]["scale"] == 2.0
    assert report["provenance"]["settings"] == {
        "seed": 9, "prompt": "raw", "max_new_tokens": 5, "n_ctx": 64, "threads": 1, "gpu_layers": -1, "parallel": 2,
        "dialect": "auto", "schema": "basic", "thinking": True, "template_args": {}, "flips": False,
        "quantize": None, "template": "own", "drift": None,
        "trials": None, "temperature": None, "top_p": 1.0, "min_p": 0.0, "top_k": 0,
    }  # fmt: skip
    assert report["provenance"]["seeds"]["null"] == [1000]
    cases = report["probes"][1]["cases"]
    assert [case["sent"] for case in cases][:1] == ["Search for 1."]
    assert {case["ft"]["tokens"] for case in cases} == {5}


THINKS = CHAT_TEMPLATE + "{% if enable_thinking is defined and not enable_thinking %}<think></think>{% endif %}"


def sent(loracheck: Any, out: Path, *args: Any) -> str:
    """The first prompt of a check that passes."""
    done = loracheck("check", "-q", "--no-null", *args, "--json", out)
    assert (done.code, done.err) == (0, "")
    prompt = json.loads(out.read_bytes())["probes"][0]["cases"][0]["sent"]
    assert isinstance(prompt, str)
    return prompt


def test_template_arguments_and_no_thinking_reach_the_template(
    loracheck: Any, use_engine: Any, suite_file: Path, tmp_path: Path
) -> None:
    write_files(suite_file.parent, "{{ date_string }} {{ units.weight }}" + THINKS)
    use_engine(answering())
    out = tmp_path / "out.json"
    options = ("--template-arg", 'date_string="a=1"', "--template-arg", 'units={"weight": [1]}')
    assert sent(loracheck, out, suite_file, *options).startswith("a=1 [1]<1>")
    assert json.loads(out.read_bytes())["provenance"]["settings"]["template_args"] == {
        "date_string": "a=1",
        "units": {"weight": [1]},
    }
    closed = sent(loracheck, out, suite_file, *options, "--no-thinking")
    assert closed.endswith("<assistant><think></think>")
    assert sent(loracheck, out, suite_file, *options, "--template-arg", "enable_thinking=false") == closed
    # As the suite says, and the same again from the report.
    suite_file.write_text(SUITE + 'defaults: {thinking: false, template_args: {date_string: "?", units: {}}}\n')
    assert sent(loracheck, out, suite_file, *options[:2]).startswith("a=1 <1>")
    again = loracheck("check", "-q", "--like", out, "--json", tmp_path / "again.json")
    assert (again.code, again.err) == (0, f"Second run: the same as {out} in every number.\n")


@pytest.mark.parametrize(
    ("template", "options", "complaint"),
    [
        (CHAT_TEMPLATE, ["--no-thinking"], "thinking cannot be switched off: "),
        (
            THINKS,
            ["--template-arg", "enable_thinkin=true"],
            "never reads enable_thinkin; did you mean 'enable_thinking'?",
        ),
        (THINKS, ["--template-arg", "messages=[]"], "the template argument messages is set by loracheck itself"),
        (THINKS, ["--no-thinking", "--template-arg", "enable_thinking=true"], "says otherwise; give one of them"),
        (THINKS, ["--no-thinking", "--prompt", "raw"], "leave out --no-thinking"),
        (
            "{% if tools %}{{ raise_exception('no') }}{% endif %}",
            [],
            "the model's chat template fails when it is given tools: no;",
        ),
    ],
)
def test_what_a_template_does_not_take_ends_with_2_and_one_line(
    loracheck: Any, use_engine: Any, suite_file: Path, template: str, options: list[str], complaint: str
) -> None:
    files = write_files(suite_file.parent, template)
    engine = answering()
    use_engine(engine)
    done = loracheck("check", "-q", suite_file, *options)
    assert (done.code, done.out, done.err.count("\n"), engine.asked) == (2, "", 1, [])
    assert done.err.startswith(f"Error: {files.base}: ")
    assert complaint in done.err


def test_no_null_asks_no_null_adapters(loracheck: Any, use_engine: Any, suite_file: Path) -> None:
    engine = answering()
    use_engine(engine)
    done = loracheck("check", "-q", "-v", "--no-null", suite_file)
    assert done.code == 0
    assert {view for view, _ in engine.asked} == {"base", "adapter"}
    assert "no null_adapter probe" in " ".join(done.out.split())


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ([], "give a SUITE file, or both --base MODEL.gguf and --adapter ADAPTER.gguf"),
        (["--base", "b.gguf"], "give a SUITE file, or both"),
        (["--adapter", "a.gguf"], "give a SUITE file, or both"),
        (["s.yaml", "--no-null", "--null-runs", "2"], "--no-null and --null-runs exclude each other"),
        (["s.yaml", "--null-runs", "11"], "11 is not in the range 1<=x<=10"),
        (["s.yaml", "--json", "missing/out.json"], "--json missing/out.json: the folder does not exist"),
        (["s.yaml", "--json", "."], "is a directory"),
        (["s.yaml", "--adapter", "a.gguf@x"], "'x' in 'a.gguf@x' is not a scale; write PATH@0.5"),
        (["s.yaml", "--adapter", "a.gguf@nan"], "the scale in 'a.gguf@nan' is not a finite number"),
        (["s.yaml", "--adapter", "a.gguf@inf"], "the scale in 'a.gguf@inf' is not a finite number"),
        (["s.yaml", "--prompt", "poem"], "no prompt 'poem'; give one of chat, raw"),
        (["s.yaml", "--dialect", "hermse"], "no dialect 'hermse'; did you mean 'hermes'?"),
        (["s.yaml", "--template-arg", "enable_thinking"], "'enable_thinking' is not KEY=JSON; write it like enable_"),
        (["s.yaml", "--template-arg", "=1"], "'=1' is not KEY=JSON"),
        (["s.yaml", "--template-arg", "effort=low"], "'low' is not JSON; did you mean 'effort=\"low\"'?"),
        (["s.yaml", "--template-arg", "thinking=False"], "'False' is not JSON; did you mean 'thinking=false'?"),
        (["s.yaml", "--template-arg", "a="], "'' is not JSON"),
        (["s.yaml", "--template-arg", "a=NaN"], "'NaN' is not JSON"),
        (["s.yaml", "--template-arg", "a=" + "[" * 100_000], "more characters)' is not JSON"),
        (["s.yaml"], "s.yaml: no such file"),
        (["--nonsense"], "No such option"),
        (["--base", "b.gguf", "--adapter", "a.gguf", "--cases", "none.jsonl"], "none.jsonl: no such file"),
        (["--base", "none.gguf", "--adapter", "a.gguf"], "none.gguf: "),
    ],
)
def test_bad_arguments_end_with_2_and_a_sentence(
    loracheck: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, args: list[str], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    done = loracheck("check", "-q", *args)
    assert (done.code, done.out) == (2, "")
    assert said in done.err


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--trials", "5"], "trials (5) need a temperature to be drawn at; give one, such as 0.7"),
        (
            ["--temperature", "0.7"],
            "temperature is for trials, and answers are greedy without them; give trials as well",
        ),
        (["--top-p", "0.9"], "top_p is for trials, and answers are greedy without them"),
        (["--trials", "5", "--temperature", "-0.1"], "temperature: input should be greater than or equal to 0"),
        (["--trials", "5", "--temperature", "nan"], "temperature: input should be a finite number"),
        (["--trials", "5", "--temperature", "inf"], "temperature: input should be a finite number"),
        (["--trials", "5", "--temperature", "warm"], "'warm' is not a valid float"),
        (["--trials", "0", "--temperature", "1"], "0 is not in the range 1<=x<=1000"),
        (["--trials", "5", "--temperature", "1", "--top-p", "0"], "top_p: input should be greater than 0"),
        (["--trials", "5", "--temperature", "1", "--top-p", "nan"], "top_p: input should be"),
        (["--trials", "5", "--temperature", "1", "--min-p", "1"], "min_p: input should be less than 1"),
        (["--trials", "5", "--temperature", "1", "--top-k", "-1"], "-1 is not in the range"),
    ],
)
def test_tries_that_cannot_be_drawn_end_with_2_and_a_sentence(
    loracheck: Any, suite_file: Path, args: list[str], said: str
) -> None:
    done = loracheck("check", "-q", suite_file, *args)
    assert (done.code, done.out) == (2, "")
    assert said in done.err


def test_tries_are_asked_for_by_options_and_repeated_from_the_report(
    loracheck: Any, use_engine: Any, suite_file: Path, tmp_path: Path
) -> None:
    def reply(view: View, prompt: Prompt) -> str:
        return "no idea" if view.name == "adapter" and prompt.attempt and prompt.attempt.number == 1 else call()

    use_engine(FakeEngine(reply))
    out = tmp_path / "out.json"
    options = ("--trials", "3", "--temperature", "0.7", "--top-k", "40", "--seed", "5")
    done = loracheck("check", "-q", suite_file, *options, "--json", out)
    assert done.code == 0
    assert "all 3 as expected" in done.out
    assert "3 tries at each of" in loracheck("report", out, "-v").out
    report = json.loads(out.read_bytes())
    assert report["provenance"]["seeds"]["tries"] == 5
    tries = report["probes"][1]["evidence"]["tries"]
    assert (tries["tries"], tries["exact"]["pass_all_base"][-1], tries["exact"]["pass_all_ft"][-1]) == (3, 1.0, 0.0)
    use_engine(FakeEngine(reply))
    again = loracheck("check", "-q", "--like", out, "--no-cache")
    assert f"Second run: the same as {out} in every number." in again.err
    planned = loracheck("check", suite_file, *options, "--plan")
    assert "tries    3 at each case, temperature 0.7" in planned.out


def test_two_cases_with_one_id_end_with_2(loracheck: Any, files: Files, suite_file: Path, tmp_path: Path) -> None:
    twice = tmp_path / "twice.jsonl"
    twice.write_text(f"{make_case().model_dump_json(exclude_unset=True)}\n" * 2, encoding="utf-8")
    for source in ([suite_file], ["--base", files.base, "--adapter", files.adapter]):
        done = loracheck("check", "-q", *source, "--cases", twice)
        assert (done.code, done.err) == (2, f"Error: {twice}: two cases have the id 'case1'; ids must differ\n")


def test_a_file_with_an_at_in_its_name_is_a_file(
    loracheck: Any, use_engine: Any, files: Files, suite_file: Path
) -> None:
    use_engine(answering())
    odd = files.adapter.rename(files.adapter.with_name("mine@2.gguf"))
    assert loracheck("check", "-q", suite_file, "--adapter", odd).code == 0
    assert loracheck("check", "-q", suite_file, "--adapter", f"{odd}@0.5").code == 0


def test_an_error_cannot_rewrite_the_terminal(loracheck: Any) -> None:
    done = loracheck("check", "-q", "\x1b[2Jevil.yaml")
    assert (done.code, done.err) == (2, "Error: \\x1b[2Jevil.yaml: no such file; check the path\n")


@pytest.fixture
def saved(loracheck: Any, use_engine: Any, suite_file: Path, tmp_path: Path) -> Path:
    """A report that an earlier run saved."""
    use_engine(answering(adapter=failing_from(2)))
    assert loracheck("check", suite_file, "--json", tmp_path / "out.json").code == 1
    return tmp_path / "out.json"


def test_a_report_is_run_again_and_says_that_everything_is_the_same(
    loracheck: Any, use_engine: Any, saved: Path, tmp_path: Path
) -> None:
    use_engine(answering(adapter=failing_from(2)))
    done = loracheck("check", "--like", saved, "--no-cache", "--json", tmp_path / "again.json")
    assert done.code == 1
    assert f"Second run: the same as {saved} in every number." in done.err
    first, again = (json.loads(path.read_bytes()) for path in (saved, tmp_path / "again.json"))
    assert first["probes"] == again["probes"]
    assert first["provenance"] == again["provenance"]


def test_a_report_is_run_again_with_the_very_same_prompts(
    loracheck: Any, use_engine: Any, suite_file: Path, tmp_path: Path
) -> None:
    write_files(tmp_path, CHAT_TEMPLATE)
    engine = answering(name="canned")
    use_engine(engine)
    assert loracheck("check", suite_file, "--json", tmp_path / "out.json").code == 0
    engine.asked.clear()
    done = loracheck("check", "--like", tmp_path / "out.json")
    assert engine.asked == []
    assert "in every number." in done.err


def test_a_run_that_comes_out_otherwise_says_where(loracheck: Any, use_engine: Any, saved: Path) -> None:
    use_engine(answering())
    done = loracheck("check", "--like", saved, "--no-cache")
    assert done.code == 0
    assert f"Second run: not as in {saved}: verdict, score, probes[1].verdict" in done.err


def test_a_report_whose_files_changed_is_not_run_again(loracheck: Any, saved: Path, files: Files) -> None:
    files.adapter.write_bytes(files.adapter.read_bytes() + b"\0")
    done = loracheck("check", "--like", saved)
    assert done.code == 2
    assert f"{files.adapter} has changed since; a second run would be of another file" in done.err
    files.adapter.unlink()
    assert f"it came from {files.adapter}, which is not there" in loracheck("check", "--like", saved).err


def test_a_report_without_its_suite_cannot_be_run_again(loracheck: Any, saved: Path) -> None:
    report = json.loads(saved.read_bytes())
    del report["provenance"]["suite"]
    saved.write_text(json.dumps(report), encoding="utf-8")
    assert "the report does not hold its suite" in loracheck("check", "--like", saved).err


def test_a_report_that_would_be_run_again_has_a_plan_too(loracheck: Any, use_engine: Any, saved: Path) -> None:
    engine = answering()
    use_engine(engine)
    before = saved.read_bytes()
    done = loracheck("check", "--like", saved, "--plan")
    assert (done.code, done.err, engine.asked) == (0, "", [])
    assert "case     case2, at most 256 new tokens\n    Find dogs.\n" in done.out
    assert saved.read_bytes() == before


def test_a_report_is_run_again_as_it_was_or_not_at_all(loracheck: Any, saved: Path) -> None:
    done = loracheck("check", "--like", saved, "--seed", "3")
    assert done.code == 2
    assert "--like takes models, cases and settings from its report" in done.err


def test_too_few_cases_and_warnings_fail_where_that_is_asked_for(
    loracheck: Any, use_engine: Any, suite_file: Path
) -> None:
    for fail_on, code in ((), 0), (("--fail-on", "inconclusive"), 1), (("--fail-on", "warn"), 1):
        use_engine(answering())
        assert loracheck("check", suite_file, *fail_on).code == code


def test_every_form_of_the_report_is_written_at_once(
    loracheck: Any, use_engine: Any, suite_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    summary = tmp_path / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    use_engine(answering(adapter=failing_from(2)))
    names = {"json": "{", "html": "<!doctype html>", "markdown": "#", "junit": "<?xml"}
    options = [part for form in names for part in (f"--{form}", tmp_path / f"out.{form}")]
    done = loracheck("check", suite_file, *options)
    assert done.code == 1
    for form, start in names.items():
        assert (tmp_path / f"out.{form}").read_text("utf-8").lower().startswith(start)
    assert summary.read_text("utf-8")
    assert "::error " in done.out


@pytest.mark.parametrize("form", ["json", "html", "markdown", "junit"])
def test_a_folder_that_is_not_there_is_said_before_the_work(
    loracheck: Any, use_engine: Any, suite_file: Path, tmp_path: Path, form: str
) -> None:
    engine = answering()
    use_engine(engine)
    done = loracheck("check", suite_file, f"--{form}", tmp_path / "none" / "out")
    assert done.code == 2
    assert "the folder does not exist" in done.err
    assert engine.asked == []


def test_a_built_in_pack_is_asked_by_its_name(loracheck: Any, use_engine: Any, suite_file: Path) -> None:
    engine = answering()
    use_engine(engine)
    loracheck("check", suite_file, "--cases", "smoke", "--no-null")
    assert len(engine.asked) == 24
