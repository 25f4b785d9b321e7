"""The pages in docs/ say what the code says."""

from __future__ import annotations

import ast
import re
import runpy
from pathlib import Path
from typing import TYPE_CHECKING

import click
import pytest

from loracheck import load_suite
from loracheck.cases.entries import Entry
from loracheck.cli.main import cli
from loracheck.probes import KINDS, suite_type
from test_pytest_plugin import MARKED, QUICK, write_suite

if TYPE_CHECKING:
    from collections.abc import Iterator

pytest_plugins = "pytester"

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md"))]
GENERATOR = runpy.run_path(str(DOCS / "generate.py"))


def text(page: Path) -> str:
    return page.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def fresh() -> dict[Path, str]:
    pages: dict[Path, str] = GENERATOR["pages"]()
    return pages


@pytest.mark.parametrize("page", [page for page in PAGES if page.parent == DOCS], ids=lambda page: page.name)
def test_the_page_is_not_stale(page: Path, fresh: dict[Path, str]) -> None:
    assert text(page) == fresh[page], "stale; `make docs` writes it anew"


def test_the_width_of_the_terminal_changes_no_page(monkeypatch: pytest.MonkeyPatch) -> None:
    before = GENERATOR["cli_page"]()
    monkeypatch.setenv("COLUMNS", "200")
    assert GENERATOR["cli_page"]() == before


def commands(command: click.Command, path: str) -> Iterator[tuple[str, click.Command]]:
    yield path, command
    for name, below in getattr(command, "commands", {}).items():
        yield from commands(below, f"{path} {name}")


@pytest.mark.parametrize(("path", "command"), [*commands(cli, "loracheck")])
def test_every_command_and_option_is_documented(path: str, command: click.Command) -> None:
    section = re.search(rf"^#+ {re.escape(path)}\n\n```text\n(.*?)```", text(DOCS / "cli.md"), re.DOTALL | re.MULTILINE)
    assert section
    for option in command.params:
        assert isinstance(option, click.Argument) or option.opts[0] in section[1]


def test_every_key_of_the_suite_file_has_a_meaning() -> None:
    # The page explains these two where it explains `suite`.
    assert set(Entry.model_fields) == {"name", "kind"}
    for model in GENERATOR["models_below"](suite_type()):
        assert set(GENERATOR["fields"](model)) <= set(GENERATOR["meanings"](model)), model


def test_every_kind_of_probe_has_a_section() -> None:
    for kind in KINDS:
        assert f"\n## {kind}\n" in text(DOCS / "suite.md")


def test_the_example_suite_loads() -> None:
    assert load_suite(DOCS / "example.yaml").entries[-1].name == "tools_intact"


def slugs(page: Path) -> set[str]:
    """The anchors that GitHub makes of the headings."""
    headings = re.findall(r"^#+ (.+)$", text(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def links(page: Path) -> list[str]:
    return [link for link in re.findall(r"\]\(([^)\s]+)\)", text(page)) if "://" not in link]


@pytest.mark.parametrize(
    ("page", "link"), [pytest.param(page, link, id=f"{page.name}-{link}") for page in PAGES for link in links(page)]
)
def test_the_link_leads_somewhere(page: Path, link: str) -> None:
    path, _, anchor = link.partition("#")
    target = page.parent / path if path else page
    assert target.exists()
    assert not anchor or anchor in slugs(target)


def test_the_index_links_to_every_page() -> None:
    assert {page.name for page in DOCS.glob("*.md")} - {"README.md"} == set(links(DOCS / "README.md"))


@pytest.mark.parametrize("page", [ROOT / "README.md", DOCS / "verdict.md"], ids=["README", "verdict"])
def test_what_a_page_shows_of_the_demo_is_in_the_recorded_run(page: Path) -> None:
    (shown,) = re.findall(r"```text\n(.*?)```", text(page), re.DOTALL)
    assert shown in text(DOCS / "demo.md")


def test_the_engine_on_the_page_about_ci_answers_instead_of_llama_cpp(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("loracheck.engine.child._Child", lambda *_, **__: pytest.fail("llama.cpp was started"))
    (conftest,) = re.findall(r"```py\n(.*?)```", text(DOCS / "ci.md"), re.DOTALL)
    write_suite(pytester.path)
    pytester.makeconftest(conftest)
    pytester.makepyfile(test_tools=MARKED)
    pytester.runpytest_inprocess(*QUICK).assert_outcomes(passed=5)


def messages() -> Iterator[str]:
    """Every text in the source, with … for what is put in."""
    for file in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(text(file))):
            if isinstance(node, ast.JoinedStr):
                yield "".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value


@pytest.fixture(scope="module")
def said() -> str:
    return "\n".join(messages())


QUOTED = re.findall(r"^- `([^`]+)`$", text(DOCS / "troubleshooting.md"), re.MULTILINE)


@pytest.mark.parametrize("message", QUOTED)
def test_the_message_is_still_said(message: str, said: str) -> None:
    assert message in said


def test_every_entry_of_troubleshooting_quotes_a_message() -> None:
    entries = re.findall(r"^- ", text(DOCS / "troubleshooting.md"), re.MULTILINE)
    assert len(entries) == len(QUOTED) == len(set(QUOTED)) > 0
