"""The pytest plugin: `@pytest.mark.loracheck(suite="tools.yaml")` makes a test of each case, and one of the verdict.

pytest imports this file in every run, marked tests or not: whatever takes time to import waits for the first of them.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from loracheck.cases.suite import Suite
    from loracheck.engine import Engine
    from loracheck.results import CaseReport, ProbeReport, Report, Verdict
    from loracheck.suites import Adapters, AnyPath

FIXTURE = "loracheck"

_LETTERS = 2000


class LoracheckWarning(UserWarning):
    """What a reader must know before believing a verdict."""


@dataclass(frozen=True, slots=True)
class Checked:
    """What a test gets from the fixture `loracheck`."""

    report: Report
    probe: ProbeReport
    case: CaseReport | None
    """None in the test of the verdict."""

    @property
    def verdict(self) -> Verdict:
        return self.probe.verdict


@dataclass(frozen=True, slots=True)
class _Check:
    """A suite that runs when the first test wants to know, and only once for each engine, however it ends."""

    suite: Suite
    outcomes: list[tuple[Engine | None, Path, Report | Exception]] = field(default_factory=list)
    """Who answered, for the tests of which file, and what it came to."""

    def run(self, request: pytest.FixtureRequest, engine: Engine | None) -> Report:
        from loracheck.errors import LoracheckError
        from loracheck.text import visible_lines

        # A fixture that is no session's makes an engine for each test; those of one file count as one.
        earlier = (
            outcome
            for known, file, outcome in self.outcomes
            if known is engine or (file == request.path and known and engine)
        )
        outcome = next(earlier, None)
        if outcome is None:
            try:
                outcome = _run(self.suite, request.config, engine)
            except Exception as error:
                outcome = error
            self.outcomes.append((engine, request.path, outcome))
        if isinstance(outcome, LoracheckError):
            pytest.fail(f"the check did not run: {visible_lines(str(outcome))}", pytrace=False)
        if isinstance(outcome, Exception):
            raise RuntimeError("the check broke off") from outcome
        return outcome


@dataclass(frozen=True, slots=True)
class _Part:
    """What one test is about."""

    check: _Check = field(repr=False)
    probe: str
    case: str | None = None


_CHECKS = pytest.StashKey[dict[str, _Check]]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_CHECKS] = {}
    config.addinivalue_line(
        "markers",
        "loracheck(suite, *, base, adapter, base_adapter, candidate, quantize, cases, tools, trials, temperature, "
        "top_p, min_p, top_k): a test for each case that the adapter, or the candidate, should not break, and one for "
        "the verdict. Relative paths start at the test file's folder.",
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    mark = metafunc.definition.get_closest_marker("loracheck")
    if mark is None:
        return
    # The mark alone is enough: the function need not take the fixture.
    if FIXTURE not in metafunc.fixturenames:
        metafunc.fixturenames.append(FIXTURE)
    folder = metafunc.definition.path.parent
    checks = metafunc.config.stash[_CHECKS]
    key = f"{folder} {mark.args} {mark.kwargs}"
    if key not in checks:
        checks[key] = _Check(_marked_suite(mark, folder))
    names, parts = zip(*_parts(checks[key]), strict=True)
    metafunc.parametrize(FIXTURE, parts, ids=names, indirect=True)


def _marked_suite(mark: pytest.Mark, folder: Path) -> Suite:
    """The suite of a mark; whatever is wrong with it is a collection error without a traceback."""
    from loracheck.errors import LoracheckError

    signature = inspect.signature(_suite)
    try:
        given = signature.bind(folder, *mark.args, **mark.kwargs)
    except TypeError as error:
        problem = f"{error}; it takes {', '.join(list(signature.parameters)[1:])}"
    else:
        try:
            return _suite(*given.args, **given.kwargs)
        except (LoracheckError, ValueError) as error:
            problem = str(error)
    raise pytest.Collector.CollectError(f"@pytest.mark.loracheck: {problem}")


def _suite(
    folder: Path,
    suite: AnyPath | None = None,
    *,
    base: AnyPath | None = None,
    adapter: Adapters = (),
    base_adapter: Adapters = (),
    candidate: AnyPath | None = None,
    quantize: str | None = None,
    cases: AnyPath | None = None,
    tools: AnyPath | None = None,
    trials: int | None = None,
    temperature: float | None = None,
    top_p: float | None = None,
    min_p: float | None = None,
    top_k: int | None = None,
) -> Suite:
    """The keywords mean what the options of `loracheck check` do; relative paths start at the folder."""
    from loracheck.errors import InputError
    from loracheck.suites import build_suite

    if suite is None and (base is None or not (adapter or candidate or quantize)):
        raise InputError(
            'give suite="tools.yaml", or both base="model.gguf" and adapter="mine.gguf", candidate="merged.gguf" or '
            'quantize="Q4_K_M"'
        )
    return build_suite(
        suite,
        base=base,
        adapter=adapter,
        base_adapter=base_adapter,
        candidate=candidate,
        quantize=quantize,
        cases=cases,
        tools=tools,
        folder=folder,
        trials=trials,
        temperature=temperature,
        top_p=top_p,
        min_p=min_p,
        top_k=top_k,
    )


def pytest_itemcollected(item: pytest.Item) -> None:
    # pytest drops fixtures from parametrised functions that do not take them.
    if isinstance(item, pytest.Function) and FIXTURE not in item.fixturenames and item.get_closest_marker("loracheck"):
        item.fixturenames.append(FIXTURE)


@pytest.fixture(scope="session")
def loracheck_engine() -> Engine | None:
    """What answers instead of llama.cpp: override it with `loracheck.FakeEngine` to test without a model."""
    return None


@pytest.fixture
def loracheck(request: pytest.FixtureRequest) -> Checked:
    """What the check that the test is marked with found: `case` (None for the verdict), `probe`, `verdict`, `report`.

    The first test that wants it runs the whole suite.
    """
    part = getattr(request, "param", None)
    if not isinstance(part, _Part):
        pytest.fail('the fixture loracheck needs @pytest.mark.loracheck(suite="tools.yaml") on the test', pytrace=False)
    report = part.check.run(request, request.getfixturevalue("loracheck_engine"))
    probe = next(probe for probe in report.probes if probe.name == part.probe)
    return Checked(report, probe, next((case for case in probe.cases if case.id == part.case), None))


# Not in the fixture: what fails there counts as an error of the test, not as a failure.
@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> None:
    checked = pyfuncitem.funcargs.get(FIXTURE)
    if not isinstance(checked, Checked):
        return
    if checked.case is None:
        _judge_verdict(checked.probe, checked.report, pyfuncitem)
    else:
        _judge_case(checked.case, checked.probe, checked.report)


def _files(report: Report) -> str:
    from loracheck.text import visible

    return visible(f"checked: {' against '.join(report.provenance.compared)}")


def _judge_verdict(probe: ProbeReport, report: Report, test: pytest.Item) -> None:
    from loracheck.text import visible

    for warning in report.warnings:
        test.warn(LoracheckWarning(visible(warning)))
    message = visible(f"{probe.verdict.upper()} {probe.name}: {probe.message}")
    if probe.verdict == "skip":
        pytest.skip(message)
    if probe.verdict in ("fail", "error"):
        pytest.fail(f"{message}\n{_files(report)}", pytrace=False)


def _judge_case(case: CaseReport, probe: ProbeReport, report: Report) -> None:
    """As in the JUnit report: only what the base does right can break."""
    from loracheck.report.outcomes import outcome_change
    from loracheck.text import cut, visible_lines

    change = outcome_change(case)
    if case.broke:
        subject = probe.comparison.subject
        texts = (("prompt", case.prompt), ("base", case.base.text), (subject, case.ft.text))
        lines = [f"{label + ':':{len(subject) + 2}}{visible_lines(cut(text, _LETTERS))}" for label, text in texts]
        pytest.fail("\n".join((f"the {subject} breaks this case: {change}", *lines, _files(report))), pytrace=False)
    if not case.is_right(case.ft):
        pytest.skip(f"the base gets it wrong too: {change}")


def _parts(check: _Check) -> Iterator[tuple[str, _Part]]:
    """Each test with its id; probes are named only where there are several."""
    judged = check.suite.judged
    for entry in judged:
        prefix = f"{entry.name}-" if len(judged) > 1 else ""
        for case in entry.asks:
            yield f"{prefix}{case.id}", _Part(check, entry.name, case.id)
        yield f"{prefix}verdict", _Part(check, entry.name)


def _run(suite: Suite, config: pytest.Config, engine: Engine | None) -> Report:
    """As `loracheck check` does it, with the user's store and the progress on the terminal."""
    from loracheck.checking import check
    from loracheck.progress import progress
    from loracheck.store import user_store

    terminal = config.pluginmanager.getplugin("terminalreporter")
    capture = config.pluginmanager.getplugin("capturemanager")
    quiet = terminal is None or config.get_verbosity() < 0
    with capture.global_and_fixture_disabled() if capture else nullcontext(), user_store() as store:
        if not quiet:
            terminal.ensure_newline()
            terminal.flush()
        with progress(quiet=quiet) as bar:
            return check(suite, engine=engine, progress=bar, store=store)
