"""Every worked example of the scoring contract comes out the same."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from loracheck.scoring import field_disagreement, matches_schema, parse_tool_call, score_recorded

FOLDER = Path(__file__).parent / "parity"


def vectors(name: str, at_least: int) -> Iterator[tuple[str, dict[str, Any]]]:
    lines = (FOLDER / name).read_text(encoding="utf-8").splitlines()
    assert len(lines) >= at_least, f"{name} lost lines"
    for number, line in enumerate(lines, start=1):
        yield f"{name}:{number}", json.loads(line)


def test_every_text_parses_to_its_call():
    for where, vector in vectors("parse.jsonl", 1500):
        assert parse_tool_call(vector["text"]) == vector["call"], where


def test_every_call_is_as_valid_as_recorded():
    for where, vector in vectors("schema.jsonl", 1500):
        assert matches_schema(vector["call"], vector["tool_spec"]) is vector["valid"], where


def test_every_pair_of_calls_disagrees_as_much_as_recorded():
    for where, vector in vectors("disagreement.jsonl", 1317):
        rate = field_disagreement(vector["base"], vector["ft"])
        assert rate == pytest.approx(vector["rate"], rel=0, abs=1e-9), where


def test_every_recorded_run_gets_its_verdict():
    for where, vector in vectors("verdict.jsonl", 750):
        expected = vector["expect"]
        result = score_recorded(vector)
        assert list(result) == list(expected), where
        for key, value in expected.items():
            if isinstance(value, float | list):
                assert result[key] == pytest.approx(value, rel=1e-9, abs=1e-9), (where, key)
            else:
                assert result[key] == value, (where, key)
