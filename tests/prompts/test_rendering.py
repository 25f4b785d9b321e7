"""Chat templates that mean harm: each ends in bounded time and memory, with a plain error."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from loracheck.cases.suite import Defaults
from loracheck.checking import check
from loracheck.errors import ModelError
from loracheck.models.model import ChatTemplate
from loracheck.processes import serving
from loracheck.prompts import rendering
from loracheck.prompts.chat import Asked, render_chat
from loracheck.prompts.format import write_prompts
from loracheck.prompts.rendering import render_apart
from loracheck.report.json import render as to_json
from loracheck.store import Store
from suite_factory import CHAT_TEMPLATE, SEARCH, answering, make_case, make_suite, write_files

if TYPE_CHECKING:
    from pathlib import Path

ASKED = [Asked([{"role": "user", "content": "Find cats."}], [SEARCH])]
NEEDS_LIMITS = pytest.mark.skipif(sys.platform != "linux", reason="only Linux holds a process to its memory")

ENDLESS = [
    "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
    "{% macro m(n) %}{% if n %}{{ m(n - 1) }}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(60) }}",
    # A single step of Python that no signal handler and no thread could interrupt.
    "{{ 9 ** (9 ** 9) }}",
    "{{ ('a ' * 10**6) | wordwrap(1) }}",
]
GREEDY = [
    "{{ 'a' * 10**10 }}",
    "{{ [0] * 10**10 }}",
    "{{ '%1000000000d' % 1 }}",
    "{{ '%*d' | format(10**9, 1) }}",
    "{{ '{:>10000000000}'.format('x') }}",
    "{{ 'a' | center(10**9) }}",
    "{{ 'x'.zfill(10**9) }}",
    "{{ 'x'.ljust(10**11) }}",
    "{{ '\t'.expandtabs(2**31 - 1) }}",
    "{{ ('a' * 10**6).replace('a', 'b' * 10**6) }}",
    "{{ 'a\nb' | indent(10**9) }}",
    "{{ range(99999) | join('a' * 10**5) }}",
    "{% set n = namespace(s='a') %}{% for i in range(60) %}{% set n.s = n.s ~ n.s %}{% endfor %}",
    "{% macro m() %}{% for i in range(99999) %}{{ 'a' * 100000 }}{% endfor %}{% endmacro %}{{ m() }}",
]
BROKEN = [
    "{% macro m() %}{{ m() }}{{ m() }}{% endmacro %}{{ m() }}",
    "{% for x in [[[]]] recursive %}{{ loop([[x], [x]]) }}{% endfor %}",
    "{% set n = namespace() %}{% set n.n = {'n': n} %}{{ n.n | tojson }}",
    "{{ (10 ** 5000) | string }}",
    "{{ " + "[" * 20_000 + "]" * 20_000 + " }}",
    "{{ 1" + "+1" * 5_000 + " }}",
    "{% for a in [1] %}" * 50 + "{% endfor %}" * 50,
    "{{ ''.__class__.__mro__[1].__subclasses__() }}",
]


def refusal(source: str) -> str:
    with pytest.raises(ModelError) as refused:
        render_apart(ChatTemplate(source), ASKED)
    assert refused.value.exit_code == 2
    said = str(refused.value)
    assert said.endswith("; use --prompt raw to send the prompt text as it is")
    assert "Traceback" not in said
    return said


@pytest.mark.parametrize("source", ENDLESS)
def test_a_template_that_does_not_end_is_ended(source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rendering, "SECONDS", 0.6)
    assert refusal(source).startswith("the model's chat template took longer than 1 s")


@NEEDS_LIMITS
@pytest.mark.parametrize("source", GREEDY)
def test_a_template_that_wants_all_memory_does_not_get_it(source: str) -> None:
    assert refusal(source).startswith("the model's chat template needs more than 512 MB of memory")


@pytest.mark.parametrize("source", BROKEN)
def test_a_template_that_breaks_its_own_process_breaks_nothing_else(source: str) -> None:
    assert refusal(source).startswith("the model's chat template ")


def test_a_template_of_a_gigabyte_of_output_is_stopped_at_the_most_a_prompt_may_have() -> None:
    said = refusal("{% for i in range(99999) %}{{ '%05d' % i * 2000 }}{% endfor %}")
    assert "it writes more than 4,000,000 characters" in said


def test_all_prompts_together_have_a_limit_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def with_a_small_limit(*called: object) -> list[str]:
        *python, start = serving(*called)  # type: ignore[arg-type]
        return [*python, start.replace("rendering.serve", "rendering.MAX_LETTERS = 25; rendering.serve")]

    monkeypatch.setattr(rendering, "serving", with_a_small_limit)
    source = ChatTemplate("{{ tools | length }}123456789")
    assert render_apart(source, ASKED * 2).prompts == ["1123456789"] * 2
    with pytest.raises(ModelError, match="writes more than 25 characters"):
        render_apart(source, ASKED * 3)


def test_a_child_that_is_slow_to_start_gets_the_whole_of_a_request_that_no_pipe_holds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def slow(*called: object) -> list[str]:
        *python, start = serving(*called)  # type: ignore[arg-type]
        return [*python, f"import time; time.sleep(0.6); {start}"]

    monkeypatch.setattr(rendering, "serving", slow)
    long = [Asked([{"role": "user", "content": "x" * 50_000}], []) for _ in range(20)]
    prompts = render_apart(ChatTemplate("{{ messages[0].content }}"), long).prompts
    assert [len(prompt) for prompt in prompts] == [50_000] * 20


def test_the_child_that_renders_need_not_wait_for_what_cases_and_reports_are_made_with() -> None:
    code = "import sys, loracheck.prompts.rendering; print({'pydantic', 'numpy'} & set(sys.modules))"
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "set()\n"


def test_a_child_that_dies_is_an_error_that_quotes_its_last_words(monkeypatch: pytest.MonkeyPatch) -> None:
    unlucky = [sys.executable, "-c", "import sys; sys.exit('out of luck')"]
    monkeypatch.setattr(rendering, "serving", lambda *_: unlucky)
    assert refusal("hello").startswith("the model's chat template ended its process with code 1 (out of luck)")


@pytest.mark.skipif(os.name != "posix", reason="needs limits on processor time")
def test_a_template_does_not_go_on_for_ever_when_its_parent_is_gone() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "from loracheck.prompts import rendering; rendering.serve(0)"],
        input=pickle.dumps((ChatTemplate(ENDLESS[0]), ASKED, False)),
        check=False,
        timeout=60,
    )
    assert done.returncode < 0


@pytest.fixture
def children(monkeypatch: pytest.MonkeyPatch) -> list[subprocess.Popen[bytes]]:
    """The processes that a test starts."""
    started: list[subprocess.Popen[bytes]] = []

    class Recorded(subprocess.Popen):  # type: ignore[type-arg]
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            started.append(self)

    monkeypatch.setattr(subprocess, "Popen", Recorded)
    return started


def test_no_process_stays_behind(children: list[subprocess.Popen[bytes]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rendering, "SECONDS", 0.5)
    refusal(ENDLESS[0])
    assert [child.returncode is not None for child in children] == [True]


def test_a_check_starts_one_child_for_all_its_prompts_and_all_that_is_known_of_the_template(
    children: list[subprocess.Popen[bytes]], tmp_path: Path
) -> None:
    suite = make_suite(write_files(tmp_path, CHAT_TEMPLATE)).with_nulls(1)
    assert check(suite, engine=answering()).verdict == "pass"
    assert len(children) == 1


def test_prompts_are_the_same_as_without_a_child_letter_by_letter() -> None:
    template = ChatTemplate(CHAT_TEMPLATE, "<s>")
    words = ["Find cats.", "größe \U0001f600", "a\r\nb\x00c\u2028d\x1b", "\ud800 alone", '"quoted" \\ {{ 1 }}']
    asked = [
        Asked([{"role": "user", "content": word}], [{"name": word, "parameters": {"a": [None, 1.5]}}]) for word in words
    ]
    assert render_apart(template, asked).prompts == [render_chat(template, *each) for each in asked]


def test_nothing_is_imported_from_the_folder_we_are_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("jinja2.py", "json.py", "loracheck.py"):
        (tmp_path / name).write_text("raise SystemExit('imported')")
    monkeypatch.chdir(tmp_path)
    assert render_apart(ChatTemplate("{{ tools | length }}"), ASKED).prompts == ["1"]


def test_a_check_with_a_hostile_template_ends_with_exit_code_2(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rendering, "SECONDS", 0.5)
    suite = make_suite(write_files(tmp_path, ENDLESS[0]))
    engine = answering()
    with pytest.raises(ModelError, match=r"took longer than 1 s; use --prompt raw"):
        check(suite, engine=engine)
    assert engine.asked == []
    assert check(suite.with_defaults(prompt="raw"), engine=answering()).verdict == "pass"


def test_a_template_of_megabytes_is_not_even_looked_at(tmp_path: Path) -> None:
    template = ChatTemplate("a" * 1_000_001)
    with pytest.raises(ModelError, match=r"m\.gguf: the model's chat template is 1,000,001 characters long"):
        write_prompts(template, [], Defaults(), tmp_path / "m.gguf", Store())
    assert write_prompts(template, [], Defaults(prompt="raw"), tmp_path / "m.gguf", Store())[0].template is None


def test_cases_with_letters_that_no_file_can_hold_are_asked_and_reported(tmp_path: Path) -> None:
    odd = make_case(prompt="\x00 \x1b[2J \u202e", id="\x00", tool_spec={**SEARCH, "parameters": {"title": "\ud800"}})
    report = check(make_suite(write_files(tmp_path, CHAT_TEMPLATE)).with_cases([odd]), engine=answering())
    sent = report.probes[0].cases[0].sent
    assert "\ud800" in sent
    assert sent.endswith("<user>\x00 \x1b[2J \u202e<assistant>")
    to_json(report).encode("ascii")


def test_who_asks_a_child_to_render_needs_no_jinja() -> None:
    code = "import sys, loracheck.checking; sys.exit('jinja2' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 0
