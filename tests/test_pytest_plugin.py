"""The pytest plugin, on canned answers, in a pytest inside this one."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import pytest
import yaml

# Imported here, once for all: pytester forgets modules that come later, and their next copy would have other classes.
from loracheck import checking
from loracheck.engine.fake import FakeEngine
from loracheck.store import Store, store_path
from models.factory import write_model
from suite_factory import SEARCH, answering, call, failing_from, write_files

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytest_plugins = "pytester"

ENGINES: list[FakeEngine] = []
"""The last of them answers in the pytest inside."""

CONFTEST = """
    import pytest
    import test_pytest_plugin

    @pytest.fixture(scope="session")
    def loracheck_engine():
        return test_pytest_plugin.ENGINES[-1]
"""

MARKED = """
    import pytest

    @pytest.mark.loracheck(suite="tools.yaml")
    def test_tools(loracheck): ...
"""


def case(number: int, **changes: Any) -> dict[str, Any]:
    return {"id": f"case{number}", "prompt": f"Search for {number}.", "tool_spec": SEARCH} | changes


def probe(name: str = "tools_intact", cases: int = 4, **changes: Any) -> dict[str, Any]:
    asked = [case(number + 1) for number in range(cases)]
    return {"name": name, "kind": "tool_use_fidelity", "cases": asked} | changes


def write_suite(folder: Path, *probes: dict[str, Any]) -> None:
    write_files(folder)
    models = {"base": {"gguf": "base.gguf"}, "ft": {"adapters": [{"gguf": "adapter.gguf"}]}}
    suite = {"version": 1, "models": models, "suite": list(probes or (probe(),))}
    (folder / "tools.yaml").write_text(yaml.safe_dump(suite), encoding="utf-8")


def never(*_: Any, **__: Any) -> Any:
    pytest.fail("the engine was asked")


@pytest.fixture(autouse=True)
def no_llama_cpp(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing here may start llama.cpp, whatever goes wrong."""
    monkeypatch.setattr("loracheck.engine.child._Child", never)


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    """A folder with a suite of four cases, and one test file that is marked with it."""
    write_suite(pytester.path)
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(test_tools=MARKED)
    return pytester


# Warnings are errors out here, which the pytest inside would inherit; and hypothesis takes seconds to start.
QUICK = ("-p", "no:cacheprovider", "-p", "no:hypothesispytest", "-W", "default")


@pytest.fixture
def run(project: pytest.Pytester) -> Iterator[Callable[..., pytest.RunResult]]:
    """pytest on the project, with canned answers."""

    def run(*args: str, engine: FakeEngine | None = None) -> pytest.RunResult:
        ENGINES.append(engine or answering())
        return project.runpytest_inprocess(*QUICK, *args)

    yield run
    ENGINES.clear()


def ids(result: pytest.RunResult) -> list[str]:
    return [line for line in result.outlines if "::" in line]


def test_a_marked_function_is_a_test_for_each_case_and_one_for_the_verdict(run: Any) -> None:
    result = run("-v")
    result.assert_outcomes(passed=5)
    result.stdout.fnmatch_lines([f"*::test_tools[[]{name}[]] PASSED*" for name in ("case1", "case4", "verdict")])


def test_the_mark_knows_tries(run: Any, project: pytest.Pytester) -> None:
    project.makepyfile(
        test_tools="""
        import pytest

        @pytest.mark.loracheck("tools.yaml", trials=3, temperature=0.7, top_k=40)
        def test_tries(loracheck):
            assert loracheck.probe.comparison.tries.tries == 3
            if loracheck.case:
                assert len(loracheck.case.ft.tries) == 3
        """
    )
    run().assert_outcomes(passed=5)


def test_collecting_asks_nothing(project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checking, "check", never)
    result = project.runpytest_inprocess(*QUICK, "--collect-only", "-q")
    assert ids(result) == [f"test_tools.py::test_tools[{n}]" for n in ("case1", "case2", "case3", "case4", "verdict")]


def test_the_mark_alone_is_enough(run: Any, project: pytest.Pytester) -> None:
    project.makepyfile(
        test_tools="""
        import pytest

        @pytest.mark.loracheck("tools.yaml")
        def test_bare(): ...

        @pytest.mark.loracheck("tools.yaml")
        @pytest.mark.parametrize("twice", [1, 2])
        def test_with_an_argument(twice): ...

        @pytest.mark.loracheck("tools.yaml")
        class TestClass:
            def test_method(self): ...
        """
    )
    run(engine=answering(adapter=failing_from(2))).assert_outcomes(passed=4, failed=16)


def test_a_case_that_the_adapter_breaks_fails_with_both_answers_and_no_traceback(run: Any) -> None:
    result = run(engine=answering(adapter=failing_from(4, bad="I can\x1bnot.")))
    result.assert_outcomes(passed=3, failed=2)
    result.stdout.fnmatch_lines(
        [
            "*test_tools[[]case4[]]*",
            "the adapter breaks this case: right tool to no call",
            "prompt:  Search for 4.",
            f"base:    {call()}",
            "adapter: I can\\x1bnot.",
            "*test_tools[[]verdict[]]*",
            "FAIL tools_intact: *missed: *",
        ]
    )
    result.stdout.no_fnmatch_line("*.py:*: ")


def test_a_case_that_the_base_gets_wrong_too_is_skipped(run: Any) -> None:
    result = run("-rs", "-k", "case", engine=answering(base=failing_from(3), adapter=failing_from(3)))
    result.assert_outcomes(passed=2, skipped=2, deselected=1)
    result.stdout.fnmatch_lines(["SKIPPED*the base gets it wrong too: no call to no call"])


def test_a_case_that_only_the_adapter_gets_right_passes(run: Any) -> None:
    run(engine=answering(base="no")).assert_outcomes(passed=5)


def test_a_verdict_within_its_limits_passes_though_a_case_broke(run: Any, project: pytest.Pytester) -> None:
    write_suite(project.path, probe(assert_validity_delta_gte=-0.5))
    result = run("-v", engine=answering(adapter=failing_from(4)))
    result.assert_outcomes(passed=4, failed=1)
    result.stdout.fnmatch_lines(["*[[]case4[]] FAILED*", "*[[]verdict[]] PASSED*"])


def test_a_request_that_no_tool_fits_is_right_without_a_call(run: Any, project: pytest.Pytester) -> None:
    write_suite(project.path, probe() | {"cases": [case(1), case(2, expect="no_call")]})
    result = run("-k", "case", engine=answering(failing_from(2), call()))
    result.assert_outcomes(passed=1, failed=1, deselected=1)
    result.stdout.fnmatch_lines(["the adapter breaks this case: no call to *"])


def test_k_selects_cases_and_the_verdict_stays_that_of_all_of_them(run: Any) -> None:
    engine = answering(adapter=failing_from(3))
    run("-k", "case1", engine=engine).assert_outcomes(passed=1, deselected=4)
    assert {name for view, name in engine.asked if view == "adapter"} == {"case1", "case2", "case3", "case4"}
    run("-k", "verdict", engine=engine).assert_outcomes(failed=1, deselected=4)


def test_a_second_run_comes_from_the_store(run: Any) -> None:
    run(engine=answering(name="canned"))
    with Store(store_path()) as store:
        assert store.count("answer") >= 8
    run(engine=FakeEngine(never, name="canned")).assert_outcomes(passed=5, warnings=1)


def test_one_suite_is_checked_once_for_all_its_tests(
    run: Any, project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[Any] = []
    check = checking.check
    monkeypatch.setattr(checking, "check", lambda suite, **rest: ran.append(suite) or check(suite, **rest))
    project.makepyfile(test_tools=MARKED, test_again=MARKED, test_other=MARKED.replace("tools.yaml", "./tools.yaml"))
    run().assert_outcomes(passed=15)
    assert len(ran) == 2


FAKE = """
    import pytest
    from loracheck import FakeEngine

    runs = []

    @pytest.fixture(scope="{scope}")
    def loracheck_engine():
        def reply(view, prompt):
            runs.append((view.name, prompt.id))
            return dict(base={call!r}, adapter={adapter!r}).get(view.name, "no")

        return FakeEngine(reply)
"""


@pytest.mark.parametrize(("adapter", "outcomes"), [(call(), {"passed": 5}), ("I cannot.", {"failed": 5})])
def test_a_users_conftest_may_have_an_engine_in_place_of_llama_cpp(
    project: pytest.Pytester, adapter: str, outcomes: dict[str, int]
) -> None:
    project.makeconftest(FAKE.format(scope="session", adapter=adapter, call=call()))
    # In a process of its own, where nothing of this one is patched.
    project.runpytest_subprocess(*QUICK).assert_outcomes(**outcomes)


@pytest.mark.parametrize("scope", ["session", "module", "class", "function"])
def test_an_engine_of_any_scope_answers_but_once(project: pytest.Pytester, scope: str) -> None:
    project.makeconftest(FAKE.format(scope=scope, adapter=call(), call=call()))
    project.makepyfile(
        test_tools=MARKED,
        test_untold="""
        import conftest

        def test_each_case_was_asked_once():
            asked = [case for view, case in conftest.runs if view == "base"]
            assert asked == ["case1", "case2", "case3", "case4"]
        """,
    )
    project.runpytest_inprocess(*QUICK).assert_outcomes(passed=6)


def test_each_file_may_have_an_engine_of_its_own(project: pytest.Pytester) -> None:
    good, bad = (FAKE.format(scope="module", adapter=words, call=call()) + MARKED for words in (call(), "no"))
    project.makepyfile(test_tools=good, test_bad=bad)
    project.runpytest_inprocess(*QUICK).assert_outcomes(passed=5, failed=5)


def test_junit_xml_has_a_test_for_each_case(run: Any, project: pytest.Pytester) -> None:
    run("--junitxml=out.xml", engine=answering(adapter=failing_from(4)))
    tests = {test.get("name"): test for test in ET.parse(project.path / "out.xml").iter("testcase")}
    assert list(tests) == [f"test_tools[{name}]" for name in ("case1", "case2", "case3", "case4", "verdict")]
    failure = tests["test_tools[case4]"].find("failure")
    assert failure is not None
    assert "I cannot do that." in (failure.text or "")


def test_a_test_may_look_at_the_answers_itself(run: Any, project: pytest.Pytester) -> None:
    project.makepyfile(
        test_tools="""
        import pytest

        @pytest.mark.loracheck(suite="tools.yaml")
        def test_tools(loracheck):
            assert loracheck.verdict == loracheck.probe.verdict == loracheck.report.verdict == "pass"
            if loracheck.case:
                assert loracheck.case.ft.call["arguments"] == {"query": loracheck.case.id}
        """
    )
    engine = answering(adapter=lambda prompt: call(query=prompt.id if prompt.id != "case2" else "?"))
    result = run(engine=engine)
    result.assert_outcomes(passed=4, failed=1)
    result.stdout.fnmatch_lines(["*assert {'query': '[?]'} == {'query': 'case2'}*"])


def test_several_probes_have_a_verdict_each_and_are_named_in_the_ids(run: Any, project: pytest.Pytester) -> None:
    write_suite(project.path, probe("first", 1), probe("second", 2, assert_validity_delta_gte=-0.6, assert_z_gte=1))
    result = run("-v", engine=answering(adapter=failing_from(2)))
    result.assert_outcomes(passed=4, failed=1)
    names = ("first-case1", "first-verdict", "second-case1", "second-case2", "second-verdict")
    result.stdout.fnmatch_lines([f"*[[]{name}[]] *" for name in names])


def test_keywords_mean_what_the_options_of_the_command_line_do(run: Any, project: pytest.Pytester) -> None:
    folder = project.mkdir("tests")
    lines = "\n".join(json.dumps(case(number)) for number in (7, 8))
    (folder / "my.jsonl").write_text(lines, encoding="utf-8")
    (folder / "test_quick.py").write_text(
        """
import pathlib
import pytest

@pytest.mark.loracheck(base="../base.gguf", adapter=["../adapter.gguf@0.5"], cases="my.jsonl")
def test_files(loracheck):
    (adapter,) = loracheck.report.provenance.ft_adapters
    assert adapter.scale == 0.5
    assert len(loracheck.probe.cases) == 2

@pytest.mark.loracheck(
    pathlib.Path("../tools.yaml"), base_adapter="../adapter.gguf", adapter="../adapter.gguf@2", cases="my.jsonl"
)
def test_over_a_suite(loracheck):
    assert len(loracheck.report.provenance.base_adapters) == 1
    assert [case.id for case in loracheck.probe.cases] == ["case7", "case8"]
""",
        encoding="utf-8",
    )
    run("tests").assert_outcomes(passed=6)


def test_a_mark_names_a_candidate_and_a_failure_names_both_files(run: Any, project: pytest.Pytester) -> None:
    extra = [("add_string", "general.basename", "merged")]
    write_model(project.path / "merged.gguf", extra=extra)
    marked = MARKED.replace('suite="tools.yaml"', 'base="base.gguf", candidate="merged.gguf", cases="my.jsonl"')
    project.makepyfile(test_tools=marked)
    lines = "\n".join(json.dumps(case(number)) for number in (1, 2))
    (project.path / "my.jsonl").write_text(lines, encoding="utf-8")
    result = run(engine=FakeEngine(lambda view, _: call() if view.name == "base" else "no"))
    result.assert_outcomes(failed=3)
    result.stdout.fnmatch_lines(
        [
            "the candidate breaks this case: right tool to no call",
            "candidate: no",
            "checked: merged.gguf against base.gguf",
        ]
    )


def test_cases_may_be_a_pack(project: pytest.Pytester) -> None:
    marked = MARKED.replace('suite="tools.yaml"', 'base="base.gguf", adapter="adapter.gguf", cases="smoke"')
    project.makepyfile(test_tools=marked)
    assert any("near_name" in line for line in ids(project.runpytest_inprocess(*QUICK, "--collect-only", "-q")))


@pytest.mark.parametrize(
    ("mark", "said"),
    [
        (
            'sute="tools.yaml"',
            "*unexpected keyword argument 'sute'; it takes suite, base, adapter, base_adapter, candidate, *",
        ),
        ('suite="tools.yaml", trials=3', "*trials (3) need a temperature to be drawn at; give one, such as 0.7"),
        ("", '*give suite="tools.yaml", or both base="model.gguf" and adapter="mine.gguf", candidate=*'),
        ('suite="none.yaml"', "*none.yaml: no such file; check the path"),
        ('suite="bad.yaml"', "*bad.yaml:2: modles: unknown key; did you mean 'models'[?]"),
        ('suite="tools.yaml", cases="none"', "*none: no such file, and no built-in pack; the packs are *"),
        ('suite="tools.yaml", adapter="a.gguf@much"', "*'much' in *a.gguf@much' is not a scale; write PATH@0.5"),
    ],
)
def test_a_mark_that_cannot_be_used_is_a_collection_error_that_says_why(
    run: Any, project: pytest.Pytester, mark: str, said: str
) -> None:
    (project.path / "bad.yaml").write_text("version: 1\nmodles: {}\nsuite: []\n", encoding="utf-8")
    project.makepyfile(test_tools=MARKED.replace('suite="tools.yaml"', mark))
    result = run()
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*ERROR collecting test_tools.py*", said])
    result.stdout.no_fnmatch_line("*Traceback*")


@pytest.mark.parametrize("selected", [(), ("-k", "case2")])
def test_a_check_that_cannot_run_is_an_error_that_says_why_and_is_tried_once(
    run: Any, monkeypatch: pytest.MonkeyPatch, selected: tuple[str, ...]
) -> None:
    engine = FakeEngine(lambda view, prompt: call(), inert=True)
    result = run(*selected, engine=engine)
    result.assert_outcomes(errors=1 if selected else 5, deselected=4 if selected else 0)
    result.stdout.fnmatch_lines(
        [
            "*ERROR at setup of test_tools*",
            "the check did not run: the adapter has no effect: *",
            "*at scale 1: 6 tensor*",
        ]
    )
    result.stdout.no_fnmatch_line("*NoEffectError*")
    assert result.stderr.str().count("loading") == 1


def test_a_check_that_crashes_is_tried_once_and_shows_where(run: Any) -> None:
    tried: list[str] = []

    def crash(view: Any, prompt: Any) -> str:
        tried.append(view.name)
        raise ZeroDivisionError

    result = run(engine=FakeEngine(crash))
    result.assert_outcomes(errors=5)
    result.stdout.fnmatch_lines(["E *ZeroDivisionError", "E *RuntimeError: the check broke off"])
    assert len(tried) == 1


def test_warnings_of_the_report_are_warnings_of_the_verdict(run: Any, project: pytest.Pytester) -> None:
    write_suite(project.path, probe(cases=1))
    result = run(engine=answering(base="no", adapter="no"))
    assert result.parseoutcomes()["warnings"] >= 1
    result.stdout.fnmatch_lines(["*LoracheckWarning: tools_intact: *"])
    strict = run("-W", "error::loracheck.pytest_plugin.LoracheckWarning", engine=answering(base="no", adapter="no"))
    strict.stdout.fnmatch_lines(["*test_tools[[]verdict[]]*", "E *LoracheckWarning: tools_intact: *"])


def test_the_fixture_without_the_mark_says_what_is_missing(run: Any, project: pytest.Pytester) -> None:
    project.makepyfile(test_tools="def test_tools(loracheck): ...")
    result = run()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(['the fixture loracheck needs @pytest.mark.loracheck(suite="tools.yaml") on the test'])


def test_a_test_that_is_skipped_runs_no_check(project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checking, "check", never)
    project.makepyfile(test_tools=MARKED.replace("    @pytest", "    @pytest.mark.skip\n    @pytest", 1))
    project.runpytest_inprocess(*QUICK).assert_outcomes(skipped=5)


def test_progress_is_told_unless_pytest_is_quiet(run: Any) -> None:
    assert "adapter: 4/4" in run().stderr.str()
    quiet = run("-q")
    assert quiet.stderr.str() == ""
    quiet.assert_outcomes(passed=5)
    assert run("-p", "no:capture").ret == 0
    assert run("-p", "no:terminal").ret == 0


def test_an_interrupt_says_what_is_kept(run: Any, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(view: Any, prompt: Any) -> str:
        if view.name == "adapter":
            raise KeyboardInterrupt
        return call()

    with pytest.raises(KeyboardInterrupt):  # pytester raises it again when its pytest has ended
        run(engine=FakeEngine(interrupted))
    assert "answers are kept in the store" in capsys.readouterr().out


def test_pytest_imports_nothing_heavy_until_a_marked_test_is_met(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import sys

        def test_nothing_heavy():
            assert "loracheck.pytest_plugin" in sys.modules
            heavy = {"llama_cpp", "pydantic", "numpy", "jinja2", "yaml", "rich", "click", "gguf"}
            assert not heavy & set(sys.modules)
        """
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:hypothesispytest"]
    done = subprocess.run(command, cwd=pytester.path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_the_plugin_can_be_switched_off(project: pytest.Pytester) -> None:
    result = project.runpytest_inprocess(*QUICK, "-p", "no:loracheck")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*fixture 'loracheck' not found*"])
