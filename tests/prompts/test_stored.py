from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from loracheck.errors import ModelError
from loracheck.models.model import ChatTemplate
from loracheck.prompts import stored
from loracheck.prompts.chat import Asked
from loracheck.prompts.stored import render_once
from loracheck.store import Store

TEMPLATE = ChatTemplate(
    "{{ messages[0].content }} {{ style }} {{ enable_thinking }} {{ tools }}", arguments={"style": "a"}
)
ASKED = [Asked([{"role": "user", "content": "Hello"}], [])]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "store.sqlite") as store:
        yield store


def no_rendering(*_: object, **__: object) -> None:
    raise AssertionError("the template was run again")


def test_a_template_is_run_once_for_the_same_cases(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    first = render_once(store, TEMPLATE, ASKED)
    monkeypatch.setattr(stored, "render_apart", no_rendering)
    assert render_once(store, TEMPLATE, ASKED) == first


@pytest.mark.parametrize(
    ("template", "asked", "no_thinking"),
    [
        (replace(TEMPLATE, source=f"{TEMPLATE.source}!"), ASKED, False),
        (replace(TEMPLATE, arguments={"style": "b"}), ASKED, False),
        (TEMPLATE, [Asked([{"role": "user", "content": "Hi"}], [])], False),
        (TEMPLATE, [Asked(ASKED[0].messages, [{"name": "search"}])], False),
        (TEMPLATE, ASKED, True),
    ],
)
def test_it_is_run_again_for_anything_that_changes_what_it_writes(
    store: Store, template: ChatTemplate, asked: list[Asked], no_thinking: bool
) -> None:
    first = render_once(store, TEMPLATE, ASKED)
    assert render_once(store, template, asked, no_thinking=no_thinking).prompts != first.prompts


def test_a_template_that_fails_fails_again(store: Store) -> None:
    for _ in range(2):
        with pytest.raises(ModelError, match="no such luck"):
            render_once(store, ChatTemplate("{{ raise_exception('no such luck') }}"), ASKED)


def test_without_a_store_it_is_run_every_time(monkeypatch: pytest.MonkeyPatch) -> None:
    render_once(Store(), TEMPLATE, ASKED)
    monkeypatch.setattr(stored, "render_apart", no_rendering)
    with pytest.raises(AssertionError, match="run again"):
        render_once(Store(), TEMPLATE, ASKED)
