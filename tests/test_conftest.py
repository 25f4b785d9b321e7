"""A test that needs a model which is not on every machine says what it needs."""

from __future__ import annotations

from pathlib import Path

import pytest

import real

pytest_plugins = "pytester"

CONFTEST = Path(__file__).with_name("conftest.py").read_text(encoding="utf-8")
MARKED = """
import pytest

@pytest.mark.qwen
def test_marked(qwen_model):
    assert qwen_model.read_text() == "a model"

def test_other():
    pass
"""


@pytest.fixture
def tests_with_a_marked_one(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(MARKED)
    pytester.makeini("[pytest]\nmarkers = qwen: needs the model")
    return pytester


def test_where_the_qwen_model_is_its_tests_run(
    tests_with_a_marked_one: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    model = tmp_path / "model.gguf"
    model.write_text("a model")
    monkeypatch.setattr(real, "QWEN", model)
    tests_with_a_marked_one.runpytest_inprocess().assert_outcomes(passed=2)


def test_where_it_is_not_they_are_skipped_and_say_how_to_get_it(
    tests_with_a_marked_one: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(real, "QWEN", tmp_path / "no-model")
    result = tests_with_a_marked_one.runpytest_inprocess("-rs")
    result.assert_outcomes(passed=1, skipped=1)
    result.stdout.fnmatch_lines("*the Qwen model is not here: `make model-qwen` fetches it")
