"""The pytest plugin: `@pytest.mark.loracheck(suite="tools.yaml")` makes a test of each case, and one of the verdict.

pytest imports this file in every run, marked tests or not: whatever takes time to import waits for the first of them.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from loracheck.report.model import CaseReport, ProbeReport, Report, Verdict
    from loracheck.suite.suite import Suite

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


@dataclass(slots=True)
class _Check:
    """A suite that runs when the first test wants to know, and only once, however it ends."""

    suite: Suite
    found: Report | Exception | None = None

    def run(self, config: pytest.Config) -> Report:
        from loracheck.errors import LoracheckError
        from loracheck.report.text import visible_lines

        if self.found is None:
            try:
                self.found = _run(self.suite, config)
            except Exception as error:
                self.found = error
        if isinstance(self.found, LoracheckError):
            pytest.fail(f"the check did not run: {visible_lines(str(self.found))}", pytrace=False)
        if isinstance(self.found, Exception):
            raise RuntimeError("the check broke off") from self.found
        return self.found


@dataclass(frozen=True, slots=True)
class _Part:
    """What one test is about."""

    check: _Check = field(repr=False)
    probe: str
    case: str | None = None

    def checked(self, config: pytest.Config) -> Checked:
        report = self.check.run(config)
        probe = next(probe for probe in report.probes if probe.name == self.probe)
        return Checked(report, probe, next((case for case in probe.cases if case.id == self.case), None))


_CHECKS = pytest.StashKey[dict[str, _Check]]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_CHECKS] = {}
    config.addinivalue_line(
        "markers",
        "loracheck(suite, *, base, adapter, base_adapter, cases): a test for each case that the adapter should not "
        "break, and one for the verdict. Relative paths start at the test file's folder.",
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    mark = metafunc.definition.get_closest_marker("loracheck")
    if mark is None:
        return
    from loracheck.pytest_mark import marked_suite

    # The mark alone is enough: the function need not take the fixture.
    if FIXTURE not in metafunc.fixturenames:
        metafunc.fixturenames.append(FIXTURE)
    folder = metafunc.definition.path.parent
    checks = metafunc.config.stash[_CHECKS]
    key = f"{folder} {mark.args} {mark.kwargs}"
    if key not in checks:
        checks[key] = _Check(marked_suite(mark, folder))
    names, parts = zip(*_parts(checks[key]), strict=True)
    metafunc.parametrize(FIXTURE, parts, ids=names, indirect=True)


def pytest_itemcollected(item: pytest.Item) -> None:
    # pytest drops fixtures from parametrised functions that do not take them.
    if isinstance(item, pytest.Function) and FIXTURE not in item.fixturenames and item.get_closest_marker("loracheck"):
        item.fixturenames.append(FIXTURE)


@pytest.fixture
def loracheck(request: pytest.FixtureRequest) -> Checked:
    """What the check that the test is marked with found: `case` (None for the verdict), `probe`, `verdict`, `report`.

    The first test that wants it runs the whole suite.
    """
    if not isinstance(getattr(request, "param", None), _Part):
        pytest.fail('the fixture loracheck needs @pytest.mark.loracheck(suite="tools.yaml") on the test', pytrace=False)
    return request.param.checked(request.config)  # type: ignore[no-any-return]


# Not in the fixture: what fails there counts as an error of the test, not as a failure.
@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> None:
    checked = pyfuncitem.funcargs.get(FIXTURE)
    if not isinstance(checked, Checked):
        return
    if checked.case is None:
        _judge_verdict(checked.probe, checked.report.warnings, pyfuncitem)
    else:
        _judge_case(checked.case)


def _judge_verdict(probe: ProbeReport, warnings: tuple[str, ...], test: pytest.Item) -> None:
    from loracheck.report.text import visible

    for warning in warnings:
        test.warn(LoracheckWarning(visible(warning)))
    message = visible(f"{probe.verdict.upper()} {probe.name}: {probe.message}")
    if probe.verdict == "skip":
        pytest.skip(message)
    if probe.verdict in ("fail", "error"):
        pytest.fail(message, pytrace=False)


def _judge_case(case: CaseReport) -> None:
    """As in the JUnit report: only what the base does right can break."""
    from loracheck.report.judged import broke, is_right
    from loracheck.report.text import cut, visible_lines

    change = f"{case.base.outcome} to {case.ft.outcome}"
    if broke(case):
        said = (("prompt", case.prompt), ("base", case.base.text), ("ft", case.ft.text))
        lines = (f"{label + ':':8}{visible_lines(cut(text, _LETTERS))}" for label, text in said)
        pytest.fail("\n".join((f"the adapter breaks this case: {change}", *lines)), pytrace=False)
    if not is_right(case, case.ft):
        pytest.skip(f"the base gets it wrong too: {change}")


def _parts(check: _Check) -> Iterator[tuple[str, _Part]]:
    """Each test with its id; probes are named only where there are several."""
    from loracheck.probes.tool_use_fidelity import ToolUseFidelityProbe

    probes = [probe for probe in check.suite.suite if isinstance(probe, ToolUseFidelityProbe)]
    for probe in probes:
        prefix = f"{probe.name}-" if len(probes) > 1 else ""
        for case in probe.cases:
            yield f"{prefix}{case.id}", _Part(check, probe.name, case.id)
        yield f"{prefix}verdict", _Part(check, probe.name)


def _run(suite: Suite, config: pytest.Config) -> Report:
    """As `loracheck check` does it, with the user's store and the progress on the terminal."""
    from loracheck.checking import check
    from loracheck.cli.keeping import user_store
    from loracheck.cli.progress import progress

    terminal = config.pluginmanager.getplugin("terminalreporter")
    capture = config.pluginmanager.getplugin("capturemanager")
    quiet = terminal is None or config.get_verbosity() < 0
    with capture.global_and_fixture_disabled() if capture else nullcontext(), user_store(no_cache=False) as store:
        if not quiet:
            terminal.ensure_newline()
            terminal.flush()
        with progress(quiet=quiet) as bar:
            return check(suite, progress=bar, store=store)
